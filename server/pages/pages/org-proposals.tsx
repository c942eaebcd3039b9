/** The proposals of all nodes of an organisation. */

import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { Lines } from '../kit/lines.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { plural } from '../parts/dates.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { Pages, pageOffset } from '../parts/paging.tsx'
import { mayPropose } from '../parts/rights.ts'
import { brokenField } from '../text/broken-rules.ts'
import type { Urls } from '../urls.ts'
import { PullLine, type State, StateTabs, stateOf } from './proposal-list.tsx'

type Org = AnswerOf<'getOrg'>

/** Maximum proposals on a page. */
const pageSize = 50

export async function showOrgProposals(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const status = stateOf(query)
  const offset = pageOffset(query.get('from'))
  const filter = filterOf(query)
  const [found, org, under] = await Promise.all([
    listPulls(visit, { status, ...filter, group: 'change_set', limit: pageSize, offset }),
    api.getOrg({ path }),
    filter.under === undefined ? undefined : titleOf(visit, filter.under),
  ])
  const open = await countOpen(visit, org)
  const { told, trouble } = found
  const base = urls.orgProposals(org.id)
  const here = (changes: Filter & { readonly status?: State }) => listLink(base, { status, ...filter, ...changes })
  const { pull_requests: pulls, total } = told
  return {
    ...{ kind: 'page', place: { org, crumb: 'Proposals' }, facts: { org, open, told, status, under, trouble } },
    head: { title: `Proposals · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="proposals" />
        <main id="main" class="wide">
          <h1>Proposals</h1>
          <StateTabs hrefOf={(one) => here({ status: one })} status={status} />
          <Filters visit={visit} base={base} status={status} filter={filter} under={under} trouble={trouble} />
          {total === 0 ? (
            <NoProposals {...{ urls, org, status }} isFiltered={Object.keys(filter).length > 0} />
          ) : (
            <section class="card">
              <header>
                <h2>{plural(total, status === 'all' ? 'proposal' : `${status} proposal`)}</h2>
                <span class="r">newest first</span>
              </header>
              {pulls.length === 0 && <p class="empty">The list is shorter by now.</p>}
              <Lines>
                {pulls.map((pull) => {
                  const { node_id, node_title, num_items } = pull
                  const facts =
                    num_items === undefined ? (
                      <a href={urls.node(org.id, node_id, node_title)}>{node_title}</a>
                    ) : (
                      plural(num_items, 'page')
                    )
                  return <PullLine urls={urls} org={org.id} pull={pull} facts={facts} />
                })}
              </Lines>
            </section>
          )}
          <Pages base={here({})} offset={offset} size={pageSize} total={total} />
        </main>
      </>
    ),
  }
}

type Filter = Readonly<Partial<Record<'author' | 'reviewer' | 'under', string>>> & { readonly via?: 'agent' | 'person' }

/** Reads the filters of the list. */
function filterOf(query: URLSearchParams): Filter {
  const names = ['author', 'reviewer', 'under'] as const
  const via = query.get('via')
  return {
    ...Object.fromEntries(names.flatMap((name) => (query.get(name)?.trim() ? [[name, query.get(name)?.trim()]] : []))),
    ...((via === 'agent' || via === 'person') && { via }),
  }
}

interface Linked extends Omit<Filter, 'via'> {
  readonly status?: State
  readonly via?: 'agent' | 'person' | ''
}

/** Returns the URL of the list with these filters. */
function listLink(base: string, { status = 'open', ...filter }: Linked): string {
  const kept = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams([...(status === 'open' ? [] : [['status', status]]), ...kept])
  return query.size === 0 ? base : `${base}?${query}`
}

type Asked = Filter & {
  readonly status: State
  readonly group: 'change_set'
  readonly limit: number
  readonly offset: number
}

/** Lists proposals. A filter that is not valid finds none, and the page says why. */
async function listPulls({ api, params }: PageContext, query: Asked) {
  const none = { pull_requests: [], total: 0 }
  try {
    return { told: await api.listOrgPulls({ path: { org_id: params.org ?? '' }, query }), trouble: undefined }
  } catch (error) {
    if (error instanceof ValidationError && error.problems.every(({ loc }) => loc[0] === 'query'))
      return { told: none, trouble: troubleOf(error) }
    if (!(error instanceof AppError) || error.code !== 'node_not_found') throw error
    return { told: none, trouble: 'The page of this filter was not found.' }
  }
}

function troubleOf({ problems }: ValidationError): string {
  const { field, says } = brokenField(problems)
  return field === 'author' || field === 'reviewer' ? `Enter the e-mail address of the ${field}, or “me”.` : says
}

/** Returns the title of a node; its id if it cannot be read. */
async function titleOf({ api, params }: PageContext, node: string): Promise<string> {
  try {
    return (await api.getNode({ path: { org_id: params.org ?? '', node_id: node } })).title
  } catch (error) {
    if (error instanceof AppError || error instanceof ValidationError) return node
    throw error
  }
}

interface NoneProps {
  readonly urls: Urls
  readonly org: Org
  readonly status: State
  readonly isFiltered: boolean
}

interface FiltersProps {
  readonly visit: PageContext
  readonly base: string
  readonly status: State
  readonly filter: Filter
  /** The title of the node of the filter. */
  readonly under: string | undefined
  readonly trouble: string | undefined
}

/** Filters as links and a form, so that they work without script. */
function Filters({ visit: { person }, base, status, filter, under, trouble }: FiltersProps) {
  const { author = '', reviewer = '' } = filter
  const toggle = (name: 'author' | 'reviewer', text: string) => (
    <a
      class="btn small"
      href={listLink(base, { status, ...filter, [name]: filter[name] === 'me' ? '' : 'me' })}
      aria-current={filter[name] === 'me' ? 'true' : undefined}
    >
      {text}
    </a>
  )
  return (
    <div class="filters">
      {person && toggle('reviewer', 'Asks me for a review')}
      {person && toggle('author', 'Opened by me')}
      <a
        class="btn small"
        href={listLink(base, { status, ...filter, via: filter.via === 'agent' ? '' : 'agent' })}
        aria-current={filter.via === 'agent' ? 'true' : undefined}
      >
        By a program
      </a>
      <form action={base}>
        {status !== 'open' && <input type="hidden" name="status" value={status} />}
        {filter.via !== undefined && <input type="hidden" name="via" value={filter.via} />}
        {filter.under !== undefined && <input type="hidden" name="under" value={filter.under} />}
        <label>
          Author <input name="author" value={author} placeholder="E-mail address" maxLength={limits.email} />
        </label>
        <label>
          Reviewer <input name="reviewer" value={reviewer} placeholder="E-mail address" maxLength={limits.email} />
        </label>
        <button class="btn small" type="submit">
          Filter
        </button>
      </form>
      {under !== undefined && (
        <a class="btn small" href={listLink(base, { status, ...filter, under: '' })} aria-current="true">
          Under {under}
          <span class="vh">: remove this filter</span>
        </a>
      )}
      {trouble !== undefined && (
        <p class="problem" role="alert">
          {trouble}
        </p>
      )}
    </div>
  )
}

/** Says why the list is empty, and what a proposal is. */
function NoProposals({ urls, org, status, isFiltered }: NoneProps) {
  if (isFiltered) return <p class="empty">No proposal matches these filters.</p>
  if (status === 'merged' || status === 'closed') return <p class="empty">No proposal was {status} yet.</p>
  const begin = mayPropose(org.role) && org.usage?.nodes !== 0 && (
    <a class="btn go" href={urls.table(org.id)}>
      Choose a page to change
    </a>
  )
  return (
    <Empty example="proposals" begin={begin}>
      A proposal is a change of one page that others can read and review before it takes effect.
    </Empty>
  )
}
