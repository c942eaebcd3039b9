/** The proposals of a node. */

import type { ComponentChildren } from 'preact'
import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { Line, Lines, signOf } from '../kit/lines.tsx'
import type { Page, PageContext } from '../page-context.ts'
import { countsIn } from '../parts/consent.tsx'
import { plural } from '../parts/dates.tsx'
import { Icon } from '../parts/icons.tsx'
import { NodePath, readAtNode } from '../parts/node-head.tsx'
import { mayEdit } from '../parts/rights.ts'
import { ViaName } from '../parts/via.tsx'
import type { Urls } from '../urls.ts'

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
        {told.pull_requests.length === 0 ? (
          <Empty
            example="proposals"
            begin={
              mayEdit(org.role, node.head) && (
                <a class="btn go" href={urls.edit(org.id, node.id)}>
                  Edit this page
                </a>
              )
            }
          >
            A proposal is a change of this page that others can read and review before it takes effect.
          </Empty>
        ) : (
          <section class="card">
            <Lines>
              {told.pull_requests.map((pull) => (
                <PullLine
                  urls={urls}
                  org={org.id}
                  pull={pull}
                  facts={
                    pull.change_set === undefined
                      ? plural(pull.commits_ahead, 'version')
                      : 'part of a proposal of several pages'
                  }
                />
              ))}
            </Lines>
          </section>
        )}
        {told.total > told.pull_requests.length && <p class="why">and {told.total - told.pull_requests.length} more</p>}
      </main>
    ),
  }
}

/** The fields that proposals of a page and of an organisation have. */
type Shared = Pick<Pull, keyof Pull & keyof AnswerOf<'listOrgPulls'>['pull_requests'][number]>

interface PullLineProps {
  readonly urls: Urls
  readonly org: string
  /** `change_set`: it is part of this proposal of several pages. `num_items`: it is one. */
  readonly pull: Shared & Pick<Pull, 'change_set'> & { readonly node_title?: string; readonly num_items?: number }
  readonly facts: ComponentChildren
}

/** A proposal in a list. The sign is its state. */
export function PullLine({ urls, org, pull, facts }: PullLineProps) {
  const { node_id, node_title, number, title, author, opened_via, created_at, change_set } = pull
  const set = pull.num_items === undefined ? change_set : number
  const href =
    set === undefined
      ? urls.proposal(org, node_id, number, node_title)
      : urls.changeSet(org, set, pull.num_items === undefined ? node_id : undefined)
  const word = stateWord(pull)
  const counts = countsIn(pull)
  const more = (
    <>
      {author}
      <ViaName via={opened_via} /> · {facts}
      {counts && ` · ${counts}`}
    </>
  )
  return (
    <Line
      who={author}
      sign={{ ...signOf(`pull_request.${word}`), label: capital(word) }}
      time={created_at}
      facts={more}
    >
      <a href={href}>
        <strong>{title}</strong> <span class="why">#{set ?? number}</span>
      </a>
    </Line>
  )
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
          {capital(one)}
        </a>
      ))}
    </nav>
  )
}

/** Shows the state of a proposal: open, draft, merged or closed. */
export function Pill({ pull }: { readonly pull: Pick<Pull, 'status' | 'is_draft'> }) {
  const word = stateWord(pull)
  return (
    <span class={`pill ${word}`}>
      <Icon name={signOf(`pull_request.${word}`).icon} size={14} />
      {capital(word)}
    </span>
  )
}

function stateWord({ status, is_draft }: Pick<Pull, 'status' | 'is_draft'>) {
  return status === 'open' && is_draft ? 'draft' : status
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
