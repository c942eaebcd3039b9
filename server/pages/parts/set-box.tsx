/** The box of a proposal of several pages: its state and its actions. */

import { approversOf, mergersOf } from '../../base/consent-words.ts'
import { AskForReview, Waiting } from './consent.tsx'
import { plural } from './dates.tsx'
import { Icon } from './icons.tsx'
import { ActForm } from './merge-box.tsx'
import { Overridden, OverrideForm } from './override.tsx'
import { mayChangeSet, reaches } from './rights.ts'
import { type ChangeSet, type Item, isToReview, needsOfSet, type SetTalk } from './set-needs.ts'
import { nameOf } from './talk.ts'

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
  const { set } = talk
  const needs = needsOfSet(talk)
  const open = openPages(set)
  if (set.status !== 'open' || needs.size === 0) return null
  return (
    <ul class="needs">
      {[...needs].map(([need, items]) => (
        <li>
          <bdi>{need}</bdi>
          <small>{items.length === open && open > 1 ? `All ${open} pages` : <Links {...{ talk, items }} />}</small>
        </li>
      ))}
    </ul>
  )
}

/** Links to the first of these pages. */
function Links({ talk, items }: { readonly talk: SetTalk; readonly items: readonly Item[] }) {
  return (
    <>
      {items.slice(0, mostNamed).map((item, at) => (
        <>
          {at > 0 && ', '}
          <a href={hrefOf(talk, item)}>
            <bdi>{item.title || 'A deleted page'}</bdi>
          </a>
        </>
      ))}
      {items.length > mostNamed && ` and ${items.length - mostNamed} more`}
    </>
  )
}

function hrefOf({ visit, org, set }: SetTalk, { node_id }: Item): string {
  return `${visit.urls.changeSet(org.id, set.number, node_id)}#page-${node_id}`
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

/** True if a rule of the page lacks approvals, and counts the visitor's. */
function waitsFor({ visit, org: { role } }: SetTalk, { missing }: Item): boolean {
  return missing.some(
    ({ of }) =>
      of.people?.includes(visit.person?.id ?? '') || (of.role && role !== undefined && reaches(role, of.role)),
  )
}

interface ReviewProps {
  readonly talk: SetTalk
  /** The node of the only page that is shown, and so read. */
  readonly only: string | undefined
}

/** The members who were asked for a review, and what is left for the visitor. */
export function SetReviewers({ talk, only }: ReviewProps) {
  const { visit, org, set, members } = talk
  const mayAsk = set.status === 'open' && !set.is_draft && mayChangeSet(set, org, visit.person)
  const mergers = mergersOf(set.merge_role)
  const missing = set.items.flatMap((item) => item.missing)
  const wanted = new Set(missing.map((one) => approversOf(one, (id) => nameOf(talk, id))))
  if (set.status !== 'open') return null
  return (
    <section class="box" id="consent">
      <h2>Review</h2>
      {set.reviewers.length + wanted.size === 0 && <p class="why">Nobody was asked for a review yet.</p>}
      <ul class="consent">
        {set.reviewers.map(({ name }) => (
          <Waiting name={name} />
        ))}
        {[...wanted].map((names) => (
          <Waiting name={names} because="a rule asks" />
        ))}
      </ul>
      <p class="why">An approval is one of each page. {`Merged by ${mergers}.`}</p>
      <Left {...{ talk, only }} />
      {mayAsk && <AskForReview talk={{ visit, members, pr: set }} />}
    </section>
  )
}

/** The pages to read and to approve next. First come pages that wait for the visitor. */
function Left({ talk, only }: ReviewProps) {
  const { visit, set } = talk
  const all = set.items.filter((item) => isToReview(set, item, visit.person?.id))
  const left = all.filter(({ own_verdict }) => own_verdict === undefined)
  const waiting = left.filter((item) => waitsFor(talk, item))
  const isPart = waiting.length > 0 && waiting.length < left.length
  const named = isPart ? waiting : left
  const unread = [...named, ...all].filter(({ node_id, read }) => read !== 'read' && node_id !== only)
  const [next] = unread
  if (left.length === 0) return null
  return (
    <>
      <p class="why" id="read">
        {all.length - new Set(unread).size} of {plural(all.length, 'page')} read.{' '}
        {next && <a href={hrefOf(talk, next)}>Next unread</a>}
      </p>
      {isPart && (
        <p class="why">
          {plural(waiting.length, 'page waits', 'pages wait')} for you: <Links {...{ talk }} items={waiting} />
        </p>
      )}
      <ActForm
        {...{ visit }}
        act="approve"
        fields={{ version: set.version, items: named.map(({ node_id }) => node_id).join(' ') }}
      >
        {approveWords(named.length, isPart ? 'these' : left.length === all.length ? 'all' : 'the other')}
      </ActForm>
    </>
  )
}

function approveWords(count: number, which: 'all' | 'these' | 'the other'): string {
  if (which === 'all') return `Approve ${plural(count, 'page')}`
  if (count > 1) return `Approve ${which} ${count} pages`
  return `Approve ${which === 'these' ? 'this' : which} page`
}
