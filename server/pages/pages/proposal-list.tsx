/** The proposals of a node. */

import type { AnswerOf } from '../../http/in-process.ts'
import type { Page, PageContext } from '../page-context.ts'
import { TalkCounts } from '../parts/consent.tsx'
import { plural, When } from '../parts/dates.tsx'
import { Icon } from '../parts/icons.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { ViaName } from '../parts/via.tsx'

type Pull = AnswerOf<'listPulls'>['pull_requests'][number]

const states = ['open', 'merged', 'closed', 'all'] as const
export type State = (typeof states)[number]

/** Maximum proposals on the page. */
const pageSize = 100

export async function showProposals(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const at = await readAtNode(visit)
  const status = stateOf(query)
  const told = await api.listPulls({ path: at.path, query: { status, limit: pageSize } })
  const { org, node } = at
  const base = urls.proposals(org.id, node.id)
  return {
    ...{ kind: 'page', place: { org, crumb: node.title }, facts: { at, told, status } },
    head: { title: `Proposals for ${node.title} · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide">
        <NodePath visit={visit} at={at} />
        <h1>Proposals</h1>
        <p class="why">
          <a href={urls.orgProposals(org.id)}>All proposals of {org.name}</a>
          {' · '}
          <a href={`${urls.orgProposals(org.id)}?under=${node.id}`}>Here and below</a>
        </p>
        <StateTabs hrefOf={(one) => (one === 'open' ? base : `${base}?status=${one}`)} status={status} />
        <section class="card">
          {told.pull_requests.length === 0 && <p class="empty">There are no proposals here.</p>}
          <ul class="commits">
            {told.pull_requests.map((pull) => (
              <li>
                <a href={urls.proposal(org.id, node.id, pull.number)}>
                  <strong>{pull.title}</strong> <span class="why">#{pull.number}</span>
                </a>
                <Pill pull={pull} />
                <small>
                  {pull.author}
                  <ViaName via={pull.opened_via} />, <When time={pull.created_at} /> ·{' '}
                  {plural(pull.commits_ahead, 'version')} <TalkCounts pull={pull} />
                </small>
              </li>
            ))}
          </ul>
        </section>
        {told.total > told.pull_requests.length && <p class="why">and {told.total - told.pull_requests.length} more</p>}
      </main>
    ),
  }
}

/** Reads the state of a list; `open` if it is not valid. */
export function stateOf(query: URLSearchParams): State {
  return states.find((one) => one === query.get('status')) ?? 'open'
}

interface StateTabsProps {
  readonly hrefOf: (status: State) => string
  readonly status: State
}

/** Links to the lists by state. */
export function StateTabs({ hrefOf, status }: StateTabsProps) {
  return (
    <nav class="tabs" aria-label="Filter proposals">
      {states.map((one) => (
        <a href={hrefOf(one)} aria-current={one === status ? 'page' : undefined}>
          {one.charAt(0).toUpperCase() + one.slice(1)}
        </a>
      ))}
    </nav>
  )
}

/** Shows the state of a proposal: open, draft, merged or closed. */
export function Pill({ pull: { status, is_draft } }: { readonly pull: Pick<Pull, 'status' | 'is_draft'> }) {
  const word = status === 'open' && is_draft ? 'draft' : status
  return (
    <span class={`pill ${word}`}>
      <Icon name={status === 'merged' ? 'check' : status === 'closed' ? 'cross' : 'branch'} size={14} />
      {word.charAt(0).toUpperCase() + word.slice(1)}
    </span>
  )
}
