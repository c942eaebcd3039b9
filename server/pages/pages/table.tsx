/** The pages of an organisation as a table, with a filter. The address is the view. */

import { ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type Page, type PageContext, param } from '../page-context.ts'
import { longestShown } from '../parts/chips.tsx'
import { plural } from '../parts/dates.tsx'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { mayWrite } from '../parts/rights.ts'
import { Facets, facetsOf } from '../parts/table-facets.tsx'
import { Conditions, type FilterTrouble, HiddenFields, TableFilter, UnknownNames } from '../parts/table-filter.tsx'
import { TableRows, titleOf } from '../parts/table-rows.tsx'
import { columnsText, longestFilter, type TableView, viewIn, viewUrl } from '../parts/table-view.ts'
import { brokenField } from '../text/broken-rules.ts'
import { columnText, type TableColumn } from '../text/property-names.ts'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Queried = AnswerOf<'queryNodes'>
type PropertyNames = AnswerOf<'listProperties'>['properties']

/** `rows`: on a page. `usual`: properties without a choice. `choices`: properties to choose from. */
const most = { rows: 50, usual: 4, choices: 100 } as const

interface Facts {
  readonly org: Org
  readonly open: number | undefined
  readonly view: TableView
  readonly properties: PropertyNames
  readonly total: number
  /** The API's answer, or why it refused the view. */
  readonly found: Queried | FilterTrouble
  readonly facets: NonNullable<Queried['facets']>
}

export async function showTable(visit: PageContext): Promise<Page> {
  const { api, urls, query } = visit
  const path = { org_id: param(visit, 'org') }
  const view = viewIn(query)
  const org = await api.getOrg({ path })
  const [{ properties }, open, { total }] = await Promise.all([
    api.listProperties({ path, query: { limit: 200 } }),
    countOpen(visit, org),
    api.listNodes({ path, query: { limit: 1 } }),
  ])
  const asked = await queryPages(visit, view, properties)
  const facts: Facts = { org, open, view, properties, total, ...asked }
  return {
    ...{ kind: 'page', place: { org, crumb: 'Pages' }, facts, ...('says' in facts.found && { status: 422 }) },
    head: { title: `${view.where === '' ? 'Pages' : view.where.slice(0, longestShown)} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="table" />
        <main id="main" class="wide table-page" data-cards>
          <h1>Pages</h1>
          {total === 0 ? <Nothing urls={urls} org={org} /> : <Table urls={urls} facts={facts} />}
        </main>
      </>
    ),
  }
}

/** Asks for a page of the table, and for the facets. */
async function queryPages(
  { api, params }: PageContext,
  { where, sort, page }: TableView,
  properties: PropertyNames,
): Promise<Pick<Facts, 'found' | 'facets'>> {
  const path = { org_id: params.org ?? '' }
  const isLong = where.length > longestFilter
  if (isLong)
    return { found: { field: 'where', says: `A filter has at most ${longestFilter} characters.` }, facets: [] }
  const filter = where === '' ? {} : { where }
  const [first = [], second] = facetsOf(properties)
  const body = {
    ...filter,
    ...(sort !== '' && { sort }),
    limit: most.rows,
    offset: (page - 1) * most.rows,
    facets: first,
  }
  try {
    const [found, others] = await Promise.all([
      api.queryNodes({ path, body }),
      second && api.queryNodes({ path, body: { ...filter, limit: 1, facets: second } }),
    ])
    return { found, facets: [...(found.facets ?? []), ...(others?.facets ?? [])] }
  } catch (error) {
    return { found: troubleOf(error), facets: [] }
  }
}

/** Returns what the user can correct. @throws other errors */
function troubleOf(error: unknown): FilterTrouble {
  if (!(error instanceof ValidationError)) throw error
  const [first] = error.problems
  const field = first?.loc[1]
  if (field !== 'where' && field !== 'sort') throw error
  const at = first?.ctx?.at
  return { field, says: brokenField(error.problems).says, ...(typeof at === 'number' && { at }) }
}

function Nothing({ urls, org }: { readonly urls: Urls; readonly org: Org }) {
  return (
    <p class="why said">
      There are no pages yet. {mayWrite(org.role) && <a href={urls.newNode(org.id)}>Write the first one</a>}
    </p>
  )
}

interface TableProps {
  readonly urls: Urls
  readonly facts: Facts
}

function Table({ urls, facts }: TableProps) {
  const { org, view, found, properties, facets } = facts
  if ('says' in found) return <TableFilter {...{ urls, view }} org={org.id} trouble={found} />
  const columns = view.columns ?? usualColumns(properties)
  const { conditions = [], unknown = {}, nodes, total } = found
  return (
    <>
      <TableFilter {...{ urls, view }} org={org.id} />
      <Conditions {...{ urls, view, conditions }} org={org.id} />
      <UnknownNames {...{ urls, view, unknown }} org={org.id} />
      <div class="table-bar">
        <p class="why said" role="status">
          {saidOf(found, view)}
          {total === 0 && (
            <>
              {' '}
              <a href={viewUrl(urls, org.id, { ...view, where: '', page: 1 })}>Show all pages</a>
            </>
          )}
        </p>
        {total > 0 && (
          <a class="btn small" href={urls.csv(org.id, csvQuery(view, columns))}>
            Download as CSV
          </a>
        )}
        {org.published && view.where !== '' && (
          <a class="btn small" href={urls.feed(org.id, view.where)}>
            Feed
          </a>
        )}
        <ColumnsForm {...{ urls, view, columns, properties }} org={org.id} />
      </div>
      <div class="table-grid">
        <div>
          {nodes.length > 0 && <TableRows {...{ urls, view, columns, nodes }} org={org.id} />}
          <Turns {...{ urls, view, total }} org={org.id} />
        </div>
        <Facets {...{ urls, view, facets, conditions, total }} org={org.id} />
      </div>
    </>
  )
}

function usualColumns(properties: PropertyNames): TableColumn[] {
  const names = properties.filter(
    ({ name }) => name !== '' && name.length <= 40 && !['description', 'source_path', 'source_files'].includes(name),
  )
  const usual = names.slice(0, most.usual).map(({ name }) => ({ property: [name] }))
  return [...usual, { field: 'tags' }, { field: 'updated_at' }]
}

function csvQuery({ where, sort }: TableView, columns: readonly TableColumn[]): Record<string, string> {
  return { ...(where !== '' && { where }), ...(sort !== '' && { sort }), columns: columnsText(columns) }
}

function saidOf({ nodes, total, offset }: Queried, { where }: TableView): string {
  if (total === 0) return 'No page matches this filter.'
  const count = `${plural(total, 'page')}${where === '' ? '' : total === 1 ? ' matches' : ' match'}`
  if (nodes.length === 0) return `There are only ${plural(total, 'page')}. Go back to the first ones.`
  if (total === nodes.length) return count
  return `${(offset + 1).toLocaleString('en')} to ${(offset + nodes.length).toLocaleString('en')} of ${count}`
}

interface ViewProps {
  readonly urls: Urls
  readonly org: string
  readonly view: TableView
}

interface ColumnsFormProps extends ViewProps {
  readonly columns: readonly TableColumn[]
  readonly properties: PropertyNames
}

/** The columns to show. The title always is one of them. */
function ColumnsForm({ urls, org, view, columns, properties }: ColumnsFormProps) {
  const chosen = new Set(columns.map(columnText))
  const fields = (['tags', 'created_at', 'updated_at', 'id'] as const).map((field): TableColumn => ({ field }))
  const names = properties
    .filter(({ name }) => name !== '')
    .slice(0, most.choices)
    .map(({ name }): TableColumn => ({ property: [name] }))
  const all = new Map([...columns, ...fields, ...names].map((column) => [columnText(column), column]))
  return (
    <details class="menu columns-menu">
      <summary class="btn small">Columns</summary>
      <form class="menu-items" action={urls.table(org)}>
        <HiddenFields view={view} without="columns" />
        <input type="hidden" name="columns" value="title" />
        <fieldset>
          <legend class="vh">Columns</legend>
          {[...all].map(([text, column]) => (
            <label class="check">
              <input type="checkbox" name="columns" value={text} checked={chosen.has(text)} />
              <bdi>{titleOf(column)}</bdi>
            </label>
          ))}
        </fieldset>
        <button class="btn small go" type="submit">
          Show
        </button>
      </form>
    </details>
  )
}

function Turns({ urls, org, view, total }: ViewProps & { readonly total: number }) {
  const last = Math.max(1, Math.ceil(total / most.rows))
  if (last === 1 && view.page === 1) return null
  const link = (page: number, text: string, rel: 'prev' | 'next') => (
    <a class="btn" rel={rel} href={viewUrl(urls, org, { ...view, page })}>
      {text}
    </a>
  )
  return (
    <nav class="acts" aria-label="Pages of the table">
      {view.page > 1 && link(Math.min(view.page - 1, last), 'Previous', 'prev')}
      {view.page < last && link(view.page + 1, 'Next', 'next')}
    </nav>
  )
}
