/** The proposals of all nodes of an organisation. */

import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, param } from '../page-context.ts'
import { plural, When } from '../parts/dates.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { mayPropose } from '../parts/rights.ts'
import type { Urls } from '../urls.ts'
import { Pill, type State, StateTabs, stateOf } from './proposal-list.tsx'

type Org = AnswerOf<'getOrg'>
type Pull = AnswerOf<'listOrgPulls'>['pull_requests'][number]

/** Maximum proposals on a page. */
const pageSize = 50

export async function showOrgProposals(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const status = stateOf(query)
  const offset = pageOffset(query.get('from'))
  const told = await api.listOrgPulls({ path, query: { status, limit: pageSize, offset } })
  const org = await api.getOrg({ path })
  const base = urls.orgProposals(org.id)
  const { pull_requests: pulls, total } = told
  return {
    ...{ kind: 'page', place: { org, crumb: 'Proposals' }, facts: { org, told, status } },
    head: { title: `Proposals · ${org.name}`, noIndex: true },
    body: () => (
      <main id="main" class="wide">
        <nav class="path" aria-label="Path to this page">
          <a href={urls.org(org.id)}>{org.name}</a>
        </nav>
        <h1>Proposals (pull requests)</h1>
        <StateTabs base={base} status={status} />
        <section class="card">
          {total > 0 && (
            <header>
              <h2>{plural(total, status === 'all' ? 'proposal' : `${status} proposal`)}</h2>
              <span class="r">newest first</span>
            </header>
          )}
          {total === 0 && <Empty org={org} status={status} />}
          {total > 0 && pulls.length === 0 && <p class="empty">The list is shorter by now.</p>}
          <ul class="commits">
            {pulls.map((pull) => (
              <Item urls={urls} org={org} pull={pull} />
            ))}
          </ul>
        </section>
        <Pages
          base={status === 'open' ? base : `${base}?status=${status}`}
          offset={offset}
          size={pageSize}
          total={total}
        />
      </main>
    ),
  }
}

interface ItemProps {
  readonly urls: Urls
  readonly org: Org
  readonly pull: Pull
}

function Item({ urls, org, pull }: ItemProps) {
  return (
    <li>
      <a href={urls.proposal(org.id, pull.node_id, pull.number)}>
        <strong>{pull.title}</strong> <span class="why">#{pull.number}</span>
      </a>
      <Pill pull={pull} />
      <small>
        <a href={urls.node(org.id, pull.node_id)}>{pull.node_title}</a> · {pull.author}, <When time={pull.created_at} />
      </small>
    </li>
  )
}

/** Says what a proposal is, where a member sees none. */
function Empty({ org, status }: { readonly org: Org; readonly status: State }) {
  return (
    <div class="empty">
      <p>
        There are no {status === 'all' ? '' : `${status} `}proposals in {org.name}.
      </p>
      <p>
        A proposal is a change of one node that others can read before it takes effect. Members review it, and merge or
        close it.
      </p>
      {mayPropose(org.role) && <p>To make one, edit a node and choose “Propose changes”.</p>}
    </div>
  )
}
