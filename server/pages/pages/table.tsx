/** The pages of an organisation as a table, with a filter. The address is the view. */

import type { ComponentChildren } from 'preact'
import { ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { Empty } from '../kit/empty.tsx'
import { type Page, type PageContext, param } from '../page-context.ts'
import { longestShown } from '../parts/chips.tsx'
import { plural } from '../parts/dates.tsx'
import { unlessBusy } from '../parts/degraded.ts'
import { countOpen, OrgTabs } from '../parts/org-tabs.tsx'
import { mayPropose } from '../parts/rights.ts'
import { type Connections, readConnections } from '../parts/table-connections.ts'
import { Facets, facetsOf } from '../parts/table-facets.tsx'
import {
  Conditions,
  type FilterTrouble,
  HiddenFields,
  TableFilter,
  UnknownNames,
  WrongTargets,
} from '../parts/table-filter.tsx'
import { TableRows, titleOf } from '../parts/table-rows.tsx'
import { choiceNames, choicesOfType, columnsOfType, typedFilter } from '../parts/table-type.ts'
import { columnsText, type TableView, viewIn, viewUrl } from '../parts/table-view.ts'
import { TypeLinks } from '../parts/type-links.tsx'
import { brokenField } from '../text/broken-rules.ts'
import { columnText, type TableColumn } from '../text/property-names.ts'
import { labelOfColumn } from '../text/type-labels.ts'
import type { Urls } from '../urls.ts'

type Org = AnswerOf<'getOrg'>
type Queried = AnswerOf<'queryNodes'>
type PropertyNames = AnswerOf<'listProperties'>['properties']
type NodeType = AnswerOf<'getType'>

/** `rows`: on a page. `usual`: properties without a choice. `choices`: properties to choose from. */
const most = { rows: 50, usual: 4, choices: 100 } as const

interface Facts {
  readonly org: Org
  readonly open: number | undefined
  readonly view: TableView
  /** The type of all pages of the table. */
  readonly type: NodeType | undefined
  readonly properties: PropertyNames
  readonly columns: readonly TableColumn[]
  readonly total: number
  /** The API's answer, or why it refused the view. */
  readonly found: Queried | FilterTrouble
  readonly facets: NonNullable<Queried['facets']>
  readonly connections: Connections
}

export async function showTable(visit: PageContext): Promise<Page> {
  const org = await visit.api.getOrg({ path: { org_id: param(visit, 'org') } })
  const { types } = await unlessBusy<Pick<AnswerOf<'listTypes'>, 'types'>>(
    visit.api.listTypes({ path: { org_id: org.id }, query: { limit: limits.types } }),
    { types: [] },
  )
  return tablePage(visit, {
    org,
    title: 'Pages',
    facts: types,
    above: <TypeLinks {...{ types, org }} urls={visit.urls} />,
  })
}

/** The parts of the page that differ between all pages and those of a type. */
export interface TableOf {
  readonly org: Org
  readonly title: string
  /** The type of all pages of the table. */
  readonly type?: NodeType
  /** The data of `above`, for the ETag. */
  readonly facts: unknown
  /** Shown below the title. */
  readonly above: ComponentChildren
}

export async function tablePage(visit: PageContext, { org, title, type, facts: more, above }: TableOf): Promise<Page> {
  const { api, urls } = visit
  const path = { org_id: org.id }
  const view = viewIn(visit.query, type?.name)
  const [{ properties }, open, total] = await Promise.all([
    api.listProperties({ path, query: { limit: 200 } }),
    countOpen(visit, org),
    type?.num_nodes ?? api.listNodes({ path, query: { limit: 1 } }).then((found) => found.total),
  ])
  const columns = view.columns ?? (type === undefined ? usualColumns(properties) : columnsOfType(type))
  const asked = await queryPages(visit, { view, type, properties })
  const connections = 'says' in asked.found ? new Map() : await readConnections(api, asked.found.nodes, columns)
  const facts: Facts = { org, open, view, type, properties, columns, total, connections, ...asked }
  return {
    ...{ kind: 'page', place: { org, crumb: title }, ...('says' in facts.found && { status: 422 }) },
    facts: { ...facts, connections: [...connections], more },
    head: { title: `${view.where === '' ? title : view.where.slice(0, longestShown)} · ${org.name}`, noIndex: true },
    body: () => (
      <>
        <OrgTabs {...{ urls, org, open }} here="table" />
        <main id="main" class="wide table-page" data-cards>
          <h1>{title}</h1>
          {above}
          {total === 0 ? <Nothing {...{ urls, org, type }} /> : <Table urls={urls} facts={facts} />}
        </main>
      </>
    ),
  }
}

/** Asks for a page of the table, and for the facets. */
async function queryPages(
  { api, params }: PageContext,
  { view: { where, sort, page }, type, properties }: Pick<Facts, 'view' | 'type' | 'properties'>,
): Promise<Pick<Facts, 'found' | 'facets'>> {
  const path = { org_id: params.org ?? '' }
  const { text, from, longest } = typedFilter(where, type)
  if (where.length > longest)
    return { found: { field: 'where', says: `A filter has at most ${longest} characters.` }, facets: [] }
  const filter = text === '' ? {} : { where: text }
  const [first = [], second] = facetsOf(properties, type && choiceNames(type))
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
    return { found: troubleOf(error, from), facets: [] }
  }
}

/** Returns what the user can correct. @param from the position of the user's filter in the one that was sent */
function troubleOf(error: unknown, from: number): FilterTrouble {
  if (!(error instanceof ValidationError)) throw error
  const [first] = error.problems
  const field = first?.loc[1]
  if (field !== 'where' && field !== 'sort') throw error
  const at = first?.ctx?.at
  const place = typeof at === 'number' && { at: field === 'where' ? Math.max(0, at - from) : at }
  return { field, says: brokenField(error.problems).says, ...place }
}

interface NothingProps {
  readonly urls: Urls
  readonly org: Org
  readonly type: NodeType | undefined
}

function Nothing({ urls, org, type }: NothingProps) {
  if (type !== undefined) return <p class="why said">No page has this type yet.</p>
  return (
    <Empty
      example="pages"
      begin={
        mayPropose(org.role) && (
          <a class="btn go" href={urls.newNode(org.id)}>
            Write the first page
          </a>
        )
      }
    >
      This table has all pages, with their tags and properties. It can be sorted and filtered.
    </Empty>
  )
}

interface TableProps {
  readonly urls: Urls
  readonly facts: Facts
}

function Table({ urls, facts }: TableProps) {
  const { org, view, type, found, properties, columns, facets, connections } = facts
  const { text, longest, own } = typedFilter(view.where, type)
  if ('says' in found) return <TableFilter {...{ urls, view, type, longest }} org={org.id} trouble={found} />
  const labelOf = (column: TableColumn) => type && labelOfColumn(type.definition, column)
  const { nodes, total } = found
  const conditions = own(found.conditions ?? [])
  // Fields of the type exist, also if no page has them yet.
  const unknown = Object.fromEntries(
    Object.entries(found.unknown ?? {}).filter(([name]) => labelOf({ property: [name] }) === undefined),
  )
  return (
    <>
      <TableFilter {...{ urls, view, type, longest }} org={org.id} />
      <Conditions {...{ urls, view, conditions }} org={org.id} />
      <UnknownNames {...{ urls, view, unknown }} org={org.id} />
      <WrongTargets where={view.where} />
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
          <a class="btn small" href={urls.csv(org.id, csvQuery(view, text, columns))}>
            Download as CSV
          </a>
        )}
        {org.published && text !== '' && (
          <a class="btn small" href={urls.feed(org.id, text)}>
            Feed
          </a>
        )}
        <ColumnsForm {...{ urls, view, type, columns, properties, labelOf }} org={org.id} />
      </div>
      <div class="table-grid">
        <div>
          {nodes.length > 0 && <TableRows {...{ urls, view, columns, nodes, labelOf, connections }} org={org.id} />}
          <Turns {...{ urls, view, total }} org={org.id} />
        </div>
        <Facets {...{ urls, view, facets, conditions, total, labelOf }} isChosen={type !== undefined} org={org.id} />
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

/** Leaves out connections, which a CSV does not have. */
function csvQuery({ sort }: TableView, where: string, columns: readonly TableColumn[]): Record<string, string> {
  const shown = columns.filter((column) => !('connection' in column))
  return { ...(where !== '' && { where }), ...(sort !== '' && { sort }), columns: columnsText(shown) }
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
  readonly type: NodeType | undefined
  readonly labelOf: (column: TableColumn) => string | undefined
  readonly columns: readonly TableColumn[]
  readonly properties: PropertyNames
}

/** The columns to show. The title always is one of them. */
function ColumnsForm({ urls, org, view, type, columns, properties, labelOf }: ColumnsFormProps) {
  const chosen = new Set(columns.map(columnText))
  const fields = (['tags', 'created_at', 'updated_at', 'id'] as const).map((field): TableColumn => ({ field }))
  const names = properties
    .filter(({ name }) => name !== '')
    .slice(0, most.choices)
    .map(({ name }): TableColumn => ({ property: [name] }))
  const ofType = type === undefined ? [] : choicesOfType(type)
  const all = new Map([...columns, ...ofType, ...fields, ...names].map((column) => [columnText(column), column]))
  return (
    <details class="menu columns-menu">
      <summary class="btn small">Columns</summary>
      <form class="menu-items" action={urls.table(org, {}, view.type)}>
        <HiddenFields view={view} without="columns" />
        <input type="hidden" name="columns" value="title" />
        <fieldset>
          <legend class="vh">Columns</legend>
          {[...all].map(([text, column]) => (
            <label class="check">
              <input type="checkbox" name="columns" value={text} checked={chosen.has(text)} />
              <bdi>{titleOf(column, labelOf)}</bdi>
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
