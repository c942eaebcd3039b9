/** The box with the verdicts on a proposal and the requested reviewers. */

import type { ComponentChildren } from 'preact'
import { mergersOf } from '../../base/consent-words.ts'
import { asSentence } from '../text/broken-rules.ts'
import { Hidden, TextArea } from './comment-form.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { rightsOn } from './rights.ts'
import { type Conversing, isMaintainer, isOwn, nameOf, type Pull, type Review, type Talk, viewLink } from './talk.ts'
import { Name } from './thread.tsx'

type Verdict = Pull['consent']['verdicts'][number]

/** Users whom a rule names that are listed. */
const mostNamed = 10

export function ConsentBox({ talk }: { readonly talk: Talk }) {
  const { visit, at, pr } = talk
  const { verdicts } = pr.consent
  const given = new Set(verdicts.map(({ author_id }) => author_id))
  const asked = pr.reviewers.filter(({ user_id }) => !given.has(user_id))
  const wanted = wantedBy(pr).filter((id) => !given.has(id) && asked.every(({ user_id }) => user_id !== id))
  const mayAsk = pr.status === 'open' && rightsOn(pr, at.org, visit.person).change
  return (
    <section class="box" id="consent">
      <h2>Review</h2>
      <Approvals pr={pr} />
      {verdicts.length + asked.length === 0 && <p class="why">Nobody has reviewed this proposal yet.</p>}
      <ul class="consent">
        {verdicts.map((verdict) => (
          <VerdictItem talk={talk} verdict={verdict} />
        ))}
        {asked.map(({ name }) => (
          <Waiting name={name} />
        ))}
        {wanted.slice(0, mostNamed).map((id) => (
          <Waiting name={nameOf(talk, id)} because="a rule asks" />
        ))}
      </ul>
      {pr.consent.objections_elsewhere?.map(({ number, author }) => (
        <p class="why">
          <Name>{author}</Name> asks for changes of the same change in{' '}
          <a href={visit.urls.proposal(at.org.id, pr.node_id, number, at.node.title)}>#{number}</a>
        </p>
      ))}
      {wanted.length > mostNamed && <p class="why">and {plural(wanted.length - mostNamed, 'more member')}</p>}
      {pr.open_threads > 0 && (
        <p class="why">
          <a href="?tab=conversation">{plural(pr.open_threads, 'open thread')}</a>
          {pr.consent.threads_must_be_resolved && ', which must be resolved'}
        </p>
      )}
      {pr.status === 'open' && <p class="why">{asSentence(`Can be merged by ${mergersOf(pr.consent.merge_role)}`)}</p>}
      {mayAsk && !mayAskFirst(talk) && <AskForReview talk={talk} />}
    </section>
  )
}

/** `1 of 2 approvals`. Shows nothing if no rule demands approvals. */
function Approvals({ pr: { consent } }: { readonly pr: Pull }) {
  const { approvals, required } = consent
  if (required === 0) return null
  return (
    <p class="approvals">
      {/* Each of several rules counts its own approvals. */}
      {approvals <= required
        ? `${approvals} of ${plural(required, 'approval')}`
        : `${plural(approvals, 'approval')}, of which ${required} are required`}
    </p>
  )
}

/** The users whom a rule names while it lacks approvals. */
function wantedBy({ consent: { missing } }: Pull): string[] {
  return [...new Set(missing.flatMap(({ of }) => of.people ?? []))]
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

export function Waiting({ name, because }: { readonly name: string; readonly because?: string }) {
  return (
    <li>
      <span class="mark" aria-hidden="true">
        ○
      </span>
      <div>
        Waiting for <Name>{name}</Name>
        {because && `, because ${because}`}
      </div>
    </li>
  )
}

function VerdictItem({ talk, verdict }: { readonly talk: Talk; readonly verdict: Verdict }) {
  const { author, state, head_commit, counts, why } = verdict
  const isApproval = verdict.verdict === 'approve'
  const isOff = state === 'withdrawn' || state === 'dismissed'
  const kind = isOff || state === 'stale' || !counts ? 'faint' : isApproval ? 'yes' : 'no'
  const mark = isOff ? '–' : state === 'stale' ? '~' : <Icon name={isApproval ? 'check' : 'cross'} size={15} />
  return (
    <Item mark={mark} name={author} kind={kind}>
      {isApproval ? 'approved' : isOff ? 'asked for changes' : 'asks for changes'}
      {isOff && `, ${state}`}
      {state === 'current' && !counts && `, which does not count${reasonOf(why)}`}
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

/** Why a current verdict does not count. */
function reasonOf(why: Verdict['why']): string {
  switch (why) {
    case 'not_a_member':
      return ', because they left'
    case 'own_pull_request':
      return ' on an own proposal'
    case 'own_commit':
      return ', because they wrote or pushed one of its commits'
    case 'another_commit':
      return ' for later commits'
    case 'not_asked':
      return ', because the rules ask others'
    default:
      return ''
  }
}

/** Buttons to withdraw an own verdict, or to dismiss another's. */
export function VerdictActs({
  talk,
  verdict: { entry, author, author_id },
}: {
  readonly talk: Conversing
  readonly verdict: Pick<Review, 'entry' | 'author' | 'author_id'>
}) {
  const action = viewLink(talk.visit.query)
  if (isOwn(talk, author_id === undefined ? {} : { author_id }))
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

/** True if the visitor proposes this, and nobody was asked or has reviewed it. Asking is then what comes next. */
export function mayAskFirst({ visit: { person }, pr, members }: Talk): boolean {
  const { status, is_draft, author_id, merge_reasons, reviewers, consent } = pr
  if (status !== 'open' || is_draft || merge_reasons.includes('diverged')) return false
  if (author_id !== person?.id) return false
  return reviewers.length + consent.verdicts.length === 0 && members.some(({ user_id }) => user_id !== author_id)
}

interface AskProps {
  readonly talk: Pick<Talk, 'visit' | 'members'> & { readonly pr: Pick<Pull, 'reviewers' | 'author_id'> }
  /** True if it is what comes next. */
  readonly isMain?: boolean
}

/** Chooses the members who are asked for a review. */
export function AskForReview({ talk: { pr, members, visit }, isMain = false }: AskProps) {
  const asked = new Set(pr.reviewers.map(({ user_id }) => user_id))
  const others = members.filter(({ user_id }) => user_id !== pr.author_id)
  const listed = new Set(others.map(({ user_id }) => user_id))
  const hidden = pr.reviewers.filter(({ user_id }) => !listed.has(user_id))
  const isChosen = (id: string) => asked.has(id) || (isMain && others.length === 1)
  if (others.length === 0) return null
  return (
    <details>
      <summary class={isMain ? 'btn go' : undefined}>Ask for a review</summary>
      <form method="post" action={viewLink(visit.query)}>
        {hidden.map(({ user_id }) => (
          <input type="hidden" name="reviewer" value={user_id} />
        ))}
        <fieldset class="choices members">
          <legend class="vh">Reviewers</legend>
          {others.map(({ user_id, name }) => (
            <label>
              <input type="checkbox" name="reviewer" value={user_id} checked={isChosen(user_id)} /> <Name>{name}</Name>
            </label>
          ))}
        </fieldset>
        <button class={isMain ? 'btn go small' : 'btn small'} type="submit" name="act" value="ask">
          {isMain ? 'Ask' : 'Save'}
        </button>
      </form>
    </details>
  )
}

interface CountsProps {
  readonly pull: Pick<Pull, 'comments' | 'open_threads'> & { readonly consent?: Pull['consent'] }
}

/** Counts verdicts, comments and open threads in words. */
export function countsIn({ comments, open_threads, consent }: CountsProps['pull']): string {
  const words = [
    consent && consent.approvals > 0 && plural(consent.approvals, 'approval'),
    consent && consent.changes_requested > 0 && `${plural(consent.changes_requested, 'request')} for changes`,
    comments > 0 && plural(comments, 'comment'),
    open_threads > 0 && plural(open_threads, 'open thread'),
  ].filter((one) => one !== false && one !== undefined)
  return words.join(' · ')
}
