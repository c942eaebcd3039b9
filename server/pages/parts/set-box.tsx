/** The box of a proposal of several pages: its state and its actions. */

import { mergersOf } from '../../base/consent-words.ts'
import { AskForReview, Waiting } from './consent.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { ActForm } from './merge-box.tsx'
import { Overridden, OverrideForm } from './override.tsx'
import { mayChangeSet, reaches } from './rights.ts'
import { type ChangeSet, type Item, needsOfSet, type SetTalk } from './set-needs.ts'

/** Pages that are named behind what holds them up. */
const mostNamed = 5

/** Counts the pages that a merge takes. */
function openPages({ items }: ChangeSet): number {
  return items.filter(({ status }) => status === 'open').length
}

interface BoxProps {
  readonly talk: SetTalk
  /** Why an act was refused. */
  readonly problem: string | undefined
}

export function SetBox({ talk, problem }: BoxProps) {
  const { visit, org, set } = talk
  const { title, says, act } = stateOf(set)
  const isGood = set.can_merge || set.status === 'merged'
  const mayChange = mayChangeSet(set, org, visit.person)
  const may = act === 'merge' ? org.role !== undefined && reaches(org.role, set.merge_role) : mayChange
  const fields = { version: set.version }
  return (
    <section class={isGood ? 'merge' : 'merge not'} id="merge">
      <h2>
        <Icon name={isGood ? 'check' : 'branch'} size={18} />
        {title}
      </h2>
      <p>{says}</p>
      <Needs talk={talk} />
      {set.overridden && <Overridden overridden={set.overridden} />}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {act && may && (
        <ActForm {...{ visit, act, fields }} isMain>
          {act === 'merge' ? `Merge ${plural(openPages(set), 'page')}` : 'Submit for review'}
        </ActForm>
      )}
      {set.merge_reasons.includes('diverged') && mayChange && (
        <ActForm {...{ visit }} act="update-all">
          Update all pages
        </ActForm>
      )}
      {set.status === 'merged' && org.role !== undefined && reaches(org.role, 'editor') && (
        <>
          <ActForm {...{ visit }} act="undo">
            Undo
          </ActForm>
          <p>This opens a proposal that takes these changes back. Later changes stay.</p>
        </>
      )}
      {act === 'merge' && !may && <p>You need the {set.merge_role} role to merge this.</p>}
      {set.may_override && <OverrideForm {...{ visit, fields }} reasons={set.merge_reasons} />}
      {set.status === 'open' && mayChange && (
        <ActForm {...{ visit }} act="close">
          Close
        </ActForm>
      )}
      {set.status === 'closed' && mayChange && (
        <ActForm {...{ visit }} act="reopen">
          Reopen
        </ActForm>
      )}
    </section>
  )
}

/** Lists what holds pages up, each with the pages. */
function Needs({ talk }: { readonly talk: SetTalk }) {
  const { visit, org, set } = talk
  const needs = needsOfSet(talk)
  const open = openPages(set)
  if (set.status !== 'open' || needs.size === 0) return null
  return (
    <ul class="needs">
      {[...needs].map(([need, items]) => (
        <li>
          <bdi>{need}</bdi>
          <small>
            {items.length === open && open > 1
              ? `All ${open} pages`
              : items.slice(0, mostNamed).map(({ node_id, title }, at) => (
                  <>
                    {at > 0 && ', '}
                    <a href={`${visit.urls.changeSet(org.id, set.number, node_id)}#page-${node_id}`}>
                      <bdi>{title || 'A deleted page'}</bdi>
                    </a>
                  </>
                ))}
            {items.length !== open && items.length > mostNamed && ` and ${items.length - mostNamed} more`}
          </small>
        </li>
      ))}
    </ul>
  )
}

interface State {
  readonly title: string
  readonly says: string
  readonly act?: 'merge' | 'ready'
}

function stateOf({ merge_reason, merged_by, closed_by, open_threads }: ChangeSet): State {
  const by = (name: string | undefined) => (name === undefined ? '' : ` by ${name}`)
  switch (merge_reason) {
    case 'mergeable': {
      const threads = open_threads > 0 ? ` It has ${plural(open_threads, 'open thread')}.` : ''
      return { title: 'Ready to merge', says: `No conflicts. All pages merge together.${threads}`, act: 'merge' }
    }
    case 'draft':
      return { title: 'Draft', says: 'It is not ready for review yet, so it cannot be merged.', act: 'ready' }
    case 'already_merged':
      return { title: 'Merged', says: `All pages were merged together${by(merged_by)}.` }
    case 'closed':
      return { title: 'Closed', says: `Closed${by(closed_by)} without merging.` }
    case 'empty':
      return { title: 'Nothing to merge', says: 'None of its pages is left to merge.' }
    case 'approvals_missing':
      return { title: 'Needs approval', says: 'All pages merge together, once each of them can:' }
    case 'changes_requested':
      return { title: 'Changes requested', says: 'All pages merge together, once each of them can:' }
    default:
      return { title: 'Held up', says: 'All pages merge together, once each of them can:' }
  }
}

/** The pages that the visitor may review, and has not. Their own changes are not among them. */
function unreviewed({ items, author_id: opener }: ChangeSet, person: string | undefined): readonly Item[] {
  if (opener === person) return []
  return items.filter((one) => one.status === 'open' && one.own_verdict === undefined && one.author_id !== person)
}

/** The members who were asked for a review, and what is left for the visitor. */
export function SetReviewers({ talk }: { readonly talk: SetTalk }) {
  const { visit, org, set, members } = talk
  const mayAsk = set.status === 'open' && !set.is_draft && mayChangeSet(set, org, visit.person)
  const mergers = mergersOf(set.merge_role)
  const left = unreviewed(set, visit.person?.id)
  const [next] = left
  if (set.status !== 'open') return null
  return (
    <section class="box" id="consent">
      <h2>Review</h2>
      {set.reviewers.length === 0 && <p class="why">Nobody was asked for a review yet.</p>}
      <ul class="consent">
        {set.reviewers.map(({ name }) => (
          <Waiting name={name} />
        ))}
      </ul>
      <p class="why">An approval is one of each page. {`Merged by ${mergers}.`}</p>
      {next && (
        <>
          <p class="set-left">
            You have reviewed {openPages(set) - left.length} of {plural(openPages(set), 'page')}.{' '}
            <a href={`${visit.urls.changeSet(org.id, set.number, next.node_id)}#page-${next.node_id}`}>Next page</a>
          </p>
          <ActForm
            {...{ visit }}
            act="approve"
            fields={{ version: set.version, items: left.map(({ node_id }) => node_id).join(' ') }}
          >
            {left.length === openPages(set) ? 'Approve' : 'Approve the other'} {plural(left.length, 'page')}
          </ActForm>
        </>
      )}
      {mayAsk && <AskForReview talk={{ visit, members, pr: set }} />}
    </section>
  )
}
