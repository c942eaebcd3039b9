/** The proposals and drafts that wait for the user, on the home page. */

import type { AnswerOf } from '../../http/in-process.ts'
import { Line, Lines, type Sign, signOf } from '../kit/lines.tsx'
import type { PageContext } from '../page-context.ts'
import { plural } from './dates.tsx'
import { unlessBusy } from './degraded.ts'
import { countOpen } from './org-tabs.tsx'
import { mayMerge } from './rights.ts'

type Waiting = Pick<AnswerOf<'listWaiting'>, 'waiting' | 'total' | 'elsewhere'>
type Reason = Waiting['waiting'][number]['reasons'][number]

type Org = AnswerOf<'listOrgs'>['orgs'][number]

/** Organisations whose open proposals are counted, at most. */
const mostCounted = 20

/** Open proposals of an organisation, which the user may merge. */
interface Mergeable {
  readonly id: string
  readonly name: string
  readonly open: number
}

/** Maximum proposals of the list. */
const mostWaiting = 20

/** Maximum drafts of the list. */
const mostDrafts = 5

const words: Readonly<Record<Reason, string>> = {
  review_requested: 'asks for your review',
  mentioned: 'mentions you',
  answered: 'has an answer for you',
  changes_requested: 'needs changes',
  open_threads: 'has open threads',
  ready_to_merge: 'is ready to merge',
}

const proposals = signOf('pull_request.opened')
const signs: Readonly<Record<Reason, Sign>> = {
  review_requested: signOf('review.requested'),
  mentioned: signOf('comment.created'),
  answered: signOf('comment.created'),
  changes_requested: signOf('suggestion.applied'),
  open_threads: signOf('thread.reopened'),
  ready_to_merge: signOf('pull_request.merged'),
}

/** Reasons that only the author's own proposals have. */
const own: readonly Reason[] = ['changes_requested', 'open_threads', 'ready_to_merge']
const list = new Intl.ListFormat('en-GB')

/** Says in one phrase why a proposal waits. */
function wordsOf(reasons: readonly Reason[]): string {
  const [mine, others] = [reasons.filter((one) => own.includes(one)), reasons.filter((one) => !own.includes(one))]
  const said = (some: readonly Reason[]) => some.map((reason) => words[reason])
  return list.format([...said(others), ...(mine.length > 0 ? ['is yours'] : []), ...said(mine)])
}

/** Mentions and answers lead to the conversation, which marks them as read. */
function linkTo(proposal: string, reasons: readonly Reason[]): string {
  const isTalk = reasons.some((reason) => reason === 'mentioned' || reason === 'answered')
  return isTalk ? `${proposal}?tab=conversation` : proposal
}

interface Told extends Waiting {
  readonly mergeable: readonly Mergeable[]
  readonly drafts: Pick<AnswerOf<'listDrafts'>, 'drafts' | 'total'>
}

/** Reads what waits for the user. Counts the open proposals of organisations where they may merge. */
export async function readWaiting(visit: PageContext, orgs: readonly Org[]): Promise<Told> {
  const told = await visit.api.listWaiting({ query: { limit: mostWaiting } })
  const { drafts, total } = await visit.api.listDrafts({ query: { limit: mostDrafts } })
  const count = async (org: Org) => ({
    ...{ id: org.id, name: org.name },
    open: (await unlessBusy<number | undefined>(countOpen(visit, org), 0, ['org_not_found', 'forbidden'])) ?? 0,
  })
  const counted = await Promise.all(orgs.filter(mayMerge).slice(0, mostCounted).map(count))
  const listed = ({ id }: Mergeable) => told.waiting.filter(({ org_id }) => org_id === id).length
  return { ...told, mergeable: counted.filter((org) => org.open > listed(org)), drafts: { drafts, total } }
}

/** Shows nothing if nothing waits. */
export function WaitingForYou({ visit: { urls }, told }: { readonly visit: PageContext; readonly told: Told }) {
  const { waiting, total, elsewhere, mergeable, drafts } = told
  const others = Object.entries(elsewhere)
  if (total + others.length + mergeable.length + drafts.total === 0) return undefined
  return (
    <section class="card" aria-labelledby="waiting">
      <header>
        <h2 id="waiting">Waiting for you</h2>
        {total > 0 && <span class="r">{total}</span>}
      </header>
      {total + mergeable.length + drafts.total === 0 && <p class="empty">Nothing waits for you here.</p>}
      <Lines>
        {waiting.map(
          ({ org_id, org_name, node_id, node_title, num_items, number, title, author, reasons, last_activity_at }) => (
            <Line
              who={author}
              sign={reasons[0] === undefined ? proposals : signs[reasons[0]]}
              time={last_activity_at}
              facts={`${author} · ${num_items === undefined ? node_title : plural(num_items, 'page')} in ${org_name}`}
            >
              <a href={linkTo(urls.proposal(org_id, node_id, number, node_title), reasons)}>
                <strong>{title}</strong> <span class="why">#{number}</span>
              </a>{' '}
              {wordsOf(reasons)}
            </Line>
          ),
        )}
        {mergeable.map(({ id, name, open }) => (
          <Line sign={proposals}>
            <a href={urls.orgProposals(id)}>
              <strong>{plural(open, 'open proposal')}</strong> in {name}
            </a>
          </Line>
        ))}
        {drafts.drafts.map((draft) => (
          <Line
            sign={signOf('node')}
            time={draft.saved_at}
            facts={`${draft.is_new ? 'new page' : 'changes'} in ${draft.org_name}`}
          >
            Your draft of{' '}
            <a href={urls.draft(draft.org_id, draft)}>
              <strong>{draft.title.trim() || 'a page without a title'}</strong>
            </a>
          </Line>
        ))}
        {drafts.total > drafts.drafts.length && (
          <Line sign={signOf('node')}>
            <a href={urls.me('drafts')}>All {plural(drafts.total, 'draft')}</a>
          </Line>
        )}
      </Lines>
      {total > waiting.length && <p class="why">and {total - waiting.length} more</p>}
      {others.length > 0 && (
        <p class="why">
          Other organisations, which are not counted here:{' '}
          {others.map(([id, name], at) => (
            <>
              {at > 0 && ', '}
              <a href={urls.orgProposals(id)}>{name}</a>
            </>
          ))}
        </p>
      )}
    </section>
  )
}
