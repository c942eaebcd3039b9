/** The proposals that wait for the user, above the organisations of the home page. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { PageContext } from '../page-context.ts'
import { When } from './dates.tsx'

type Waiting = Pick<AnswerOf<'listWaiting'>, 'waiting' | 'total' | 'elsewhere'>
type Reason = Waiting['waiting'][number]['reasons'][number]

/** Maximum proposals of the list. */
const mostWaiting = 20

const words: Readonly<Record<Reason, string>> = {
  review_requested: 'asks for your review',
  mentioned: 'mentions you',
  answered: 'has an answer for you',
  changes_requested: 'is yours, and changes are asked for',
  open_threads: 'is yours, and has open threads',
  ready_to_merge: 'is yours, and ready to merge',
}

/** Mentions and answers lead to the conversation, which marks them as read. */
function linkTo(proposal: string, reasons: readonly Reason[]): string {
  const isTalk = reasons.some((reason) => reason === 'mentioned' || reason === 'answered')
  return isTalk ? `${proposal}?tab=conversation` : proposal
}

export function readWaiting({ api }: PageContext): Promise<Waiting> {
  return api.listWaiting({ query: { limit: mostWaiting } })
}

/** Shows nothing if nothing waits. */
export function WaitingForYou({ visit: { urls }, told }: { readonly visit: PageContext; readonly told: Waiting }) {
  const { waiting, total, elsewhere } = told
  const others = Object.entries(elsewhere)
  if (total === 0 && others.length === 0) return undefined
  return (
    <section class="card waiting" aria-labelledby="waiting">
      <header>
        <h2 id="waiting">Waiting for you</h2>
        <span class="r">{total}</span>
      </header>
      {total === 0 && <p class="empty">Nothing waits for you here.</p>}
      <ul class="commits">
        {waiting.map(({ org_id, org_name, node_id, node_title, number, title, author, reasons, last_activity_at }) => (
          <li>
            <a href={linkTo(urls.proposal(org_id, node_id, number, node_title), reasons)}>
              <strong>{title}</strong> <span class="why">#{number}</span>
            </a>
            <span class="reasons">{reasons.map((reason) => words[reason]).join(', ')}</span>
            <small>
              {node_title} in {org_name} · {author} · <When time={last_activity_at} />
            </small>
          </li>
        ))}
      </ul>
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
