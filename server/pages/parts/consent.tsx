/** The box with the verdicts on a proposal and the requested reviewers. */

import type { ComponentChildren } from 'preact'
import { Hidden, TextArea } from './comment-form.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { rightsOn } from './rights.ts'
import { isMaintainer, isOwn, type Pull, type Talk, viewLink } from './talk.ts'
import { Name } from './thread.tsx'

type Verdict = Pull['consent']['verdicts'][number]

export function ConsentBox({ talk }: { readonly talk: Talk }) {
  const { visit, at, pr } = talk
  const { verdicts } = pr.consent
  const given = new Set(verdicts.map(({ author_id }) => author_id))
  const asked = pr.reviewers.filter(({ user_id }) => !given.has(user_id))
  const mayAsk = pr.status === 'open' && rightsOn(pr, at.org, visit.person).change
  return (
    <section class="box" id="consent">
      <h2>Consent</h2>
      {verdicts.length + asked.length === 0 && <p class="why">Nobody has reviewed this proposal yet.</p>}
      <ul class="consent">
        {verdicts.map((verdict) => (
          <VerdictItem talk={talk} verdict={verdict} />
        ))}
        {asked.map(({ name }) => (
          <Item mark="○" name={name}>
            asked for a review
          </Item>
        ))}
      </ul>
      <p class="why">
        {pr.open_threads === 0 ? (
          'No open threads'
        ) : (
          <a href="?tab=conversation">{plural(pr.open_threads, 'open thread')}</a>
        )}
      </p>
      {mayAsk && <AskForReview talk={talk} />}
    </section>
  )
}

interface ItemProps {
  readonly mark: ComponentChildren
  readonly name: string
  readonly kind?: string
  readonly children: ComponentChildren
}

function Item({ mark, name, kind = '', children }: ItemProps) {
  return (
    <li class={kind}>
      <span class="mark" aria-hidden="true">
        {mark}
      </span>
      <div>
        <Name>{name}</Name> {children}
      </div>
    </li>
  )
}

function VerdictItem({ talk, verdict }: { readonly talk: Talk; readonly verdict: Verdict }) {
  const { author, state, head_commit, counts } = verdict
  const isApproval = verdict.verdict === 'approve'
  const isOff = state === 'withdrawn' || state === 'dismissed'
  const kind = isOff || state === 'stale' || !counts ? 'faint' : isApproval ? 'yes' : 'no'
  const mark = isOff ? '–' : state === 'stale' ? '~' : <Icon name={isApproval ? 'check' : 'cross'} size={15} />
  return (
    <Item mark={mark} name={author} kind={kind}>
      {isApproval ? 'approved' : isOff ? 'asked for changes' : 'asks for changes'}
      {isOff && `, ${state}`}
      {state === 'current' && !counts && ', which does not count'}
      {state === 'stale' && ' before the last change'}
      {!isOff && head_commit !== talk.pr.source_commit && (
        <>
          . <a href={`?since=${head_commit}`}>What changed since</a>
        </>
      )}
      {talk.pr.status === 'open' && !isOff && <VerdictActs talk={talk} verdict={verdict} />}
    </Item>
  )
}

function VerdictActs({
  talk,
  verdict: { entry, author, author_id },
}: {
  readonly talk: Talk
  readonly verdict: Verdict
}) {
  const action = viewLink(talk.visit.query)
  if (isOwn(talk, { author_id }))
    return (
      <form method="post" action={action}>
        <Hidden fields={{ entry }} />
        <button class="btn small" type="submit" name="act" value="withdraw">
          Withdraw
        </button>
      </form>
    )
  if (!isMaintainer(talk)) return null
  return (
    <details>
      <summary>Dismiss</summary>
      <form method="post" action={action} data-talk={`dismiss ${entry}`}>
        <Hidden fields={{ entry }} />
        <TextArea label={`Why the review of ${author} is dismissed`} rows={2} isRequired />
        <button class="btn stop small" type="submit" name="act" value="dismiss">
          Dismiss
        </button>
      </form>
    </details>
  )
}

/** Chooses the members who are asked for a review. */
function AskForReview({ talk }: { readonly talk: Talk }) {
  const { pr, members, visit } = talk
  const asked = new Set(pr.reviewers.map(({ user_id }) => user_id))
  const others = members.filter(({ user_id }) => user_id !== pr.author_id)
  const listed = new Set(others.map(({ user_id }) => user_id))
  const hidden = pr.reviewers.filter(({ user_id }) => !listed.has(user_id))
  if (others.length === 0) return null
  return (
    <details>
      <summary>Ask for a review</summary>
      <form method="post" action={viewLink(visit.query)}>
        {hidden.map(({ user_id }) => (
          <input type="hidden" name="reviewer" value={user_id} />
        ))}
        <fieldset class="choices members">
          <legend class="vh">Reviewers</legend>
          {others.map(({ user_id, name }) => (
            <label>
              <input type="checkbox" name="reviewer" value={user_id} checked={asked.has(user_id)} /> <Name>{name}</Name>
            </label>
          ))}
        </fieldset>
        <button class="btn small" type="submit" name="act" value="ask">
          Save
        </button>
      </form>
    </details>
  )
}

interface CountsProps {
  readonly pull: Pick<Pull, 'comments' | 'open_threads'> & { readonly consent?: Pull['consent'] }
}

/** Shows the counts, or nothing if all are zero. */
export function TalkCounts({ pull }: CountsProps) {
  const words = countsIn(pull)
  return words === '' ? null : <span class="counts">{words}</span>
}

/** Counts verdicts, comments and open threads in words. */
export function countsIn({ comments, open_threads, consent }: CountsProps['pull']): string {
  const words = [
    consent && consent.approvals > 0 && plural(consent.approvals, 'approval'),
    consent &&
      consent.changes_requested > 0 &&
      `${consent.changes_requested} ask${consent.changes_requested === 1 ? 's' : ''} for changes`,
    comments > 0 && plural(comments, 'comment'),
    open_threads > 0 && plural(open_threads, 'open thread'),
  ].filter((one) => one !== false && one !== undefined)
  return words.join(' · ')
}
