/** Tables of all nodes that match, for clients that read them as they are made. */

import * as indexLimits from '../../../index/limits.ts'
import { type Column, parseColumns } from '../../../index/properties/text-columns.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../access.ts'
import { callerOf } from '../actor.ts'
import { createCallerSemaphore } from '../caller-semaphore.ts'
import { slugOf } from '../format/slug.ts'
import { getNode } from '../nodes/nodes.ts'
import type { RequestCtx } from '../services.ts'
import type { OrgAt, Path, Query } from '../targets.ts'
import { located } from './filter-input.ts'
import { type ListedQuery, listMatching, refuseOtherFilters } from './queries.ts'
import { searchInTurn } from './queue.ts'

/** Limits simultaneous tables of this process. A slow client occupies its slot. */
const semaphore = createCallerSemaphore({
  all: { running: 3, waiting: 32 },
  person: { running: 1, waiting: 4 },
  anonymous: { running: 2, waiting: 16 },
  waitTimeoutMs: 30_000,
  refusal: 'Too many tables are being downloaded; try again in a moment',
})

/** Nodes of a page. Their properties have up to 13 MB. */
const pageNodes = 200

/** The values of a node in the order of the columns, as JSON has them. Undefined: the node has none. */
export type Row = readonly unknown[]

export interface NodeTable {
  /** The name of the organisation, as a readable slug. */
  readonly name: string
  /** The names of the columns. */
  readonly columns: readonly string[]
  /**
   * Streams the rows in pages. `by` has the caller's IP address, and the signal that ends the table.
   *
   * @throws AppError busy, before `write` is called; the errors of `write`, including those of listMatching
   */
  send(
    write: (pages: AsyncGenerator<readonly Row[]>) => Promise<void>,
    by: { readonly signal: AbortSignal; readonly from: string },
  ): Promise<void>
}

/**
 * Opens a table of the nodes that match. Each page is read when its turn comes, with the rights of then.
 *
 * @throws AppError as authorizeOrg and searchInTurn
 * @throws ValidationError filter_syntax and filter_too_large of `columns`; value_error as listMatching
 */
export async function openNodeTable(
  ctx: RequestCtx,
  { path, query }: Path<OrgAt> & Query<Omit<ListedQuery, 'limit' | 'offset'> & { columns?: string }>,
): Promise<NodeTable> {
  const access = await authorizeOrg(ctx, path, 'public')
  refuseOtherFilters(query, 'CSV')
  const { columns: text, ...filter } = query
  const columns =
    text === undefined
      ? usualColumns(await searchInTurn(ctx, access, () => ctx.search.listProperties(path.org_id)))
      : located(['query', 'columns'], () => parseColumns(text))
  return {
    name: slugOf(access.org.name),
    columns: namesOf(columns),
    send: (write, { signal }) =>
      semaphore.run({ caller: callerOf(ctx), signal }, () => write(pagesOf(ctx, path, { columns, filter }))),
  }
}

/** The fields, and as many of the most used properties as a table may have. */
function usualColumns(properties: readonly { readonly name: string }[]): Column[] {
  const fields = (['id', 'title', 'tag', 'created_at', 'updated_at'] as const).map((field) => ({ field }))
  const names = properties.slice(0, indexLimits.columns - fields.length).map(({ name }) => ({ property: [name] }))
  return [...fields, ...names]
}

/** The names of the columns. A property with the name of another column has its text form, such as `.title`. */
function namesOf(columns: readonly Column[]): string[] {
  const fields = new Set(columns.flatMap((column) => ('field' in column ? [fieldName(column)] : [])))
  const paths = new Set(columns.flatMap((column) => (isPath(column) ? [column.property.join('.')] : [])))
  return columns.map((column) => {
    if ('field' in column) return fieldName(column)
    const name = column.property.join('.')
    if (isPath(column)) return name
    return fields.has(name) ? `.${name}` : paths.has(name) ? `"${name.replaceAll('"', '""')}"` : name
  })
}

function fieldName({ field }: Extract<Column, { field: unknown }>): string {
  return field === 'tag' ? 'tags' : field
}

function isPath(column: Column): column is Extract<Column, { property: unknown }> {
  return 'property' in column && column.property.length > 1
}

async function* pagesOf(
  ctx: RequestCtx,
  at: OrgAt,
  { columns, filter }: { readonly columns: readonly Column[]; readonly filter: { where?: string; sort?: string } },
): AsyncGenerator<readonly Row[]> {
  for (let offset = 0, total = 1; offset < total; offset += pageNodes) {
    const page = await listMatching(ctx, { path: at, query: { ...filter, limit: pageNodes, offset } })
    total = page.total
    const rows: Row[] = []
    for (const listed of page.nodes) {
      const node = 'properties_omitted' in listed ? await wholeNode(ctx, at, listed.id) : listed
      if (node !== undefined) rows.push(columns.map((column) => cellOf(column, node)))
    }
    yield rows
  }
}

/** Reads a node whose properties are too long for a page. Undefined: it has been deleted since. */
async function wholeNode(ctx: RequestCtx, { org_id: orgId }: OrgAt, nodeId: string) {
  try {
    return await getNode(ctx, { path: { org_id: orgId, node_id: nodeId } })
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_not_found') return undefined
    throw error
  }
}

interface TabledNode {
  readonly id: string
  readonly title: string
  readonly tags: readonly string[]
  readonly properties: object
  readonly created_at: string
  readonly updated_at: string
}

function cellOf(column: Column, node: TabledNode): unknown {
  if ('field' in column) return column.field === 'tag' ? node.tags : node[column.field]
  let value: unknown = node.properties
  for (const name of column.property) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}
