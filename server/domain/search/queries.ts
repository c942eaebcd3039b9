/** Lists of nodes by their properties. */

import type { ReadCondition } from '../../../index/properties/box-conditions.ts'
import type { Filter, Subject } from '../../../index/properties/filter.ts'
import type { PropertyAnswer, PropertyQuestion } from '../../../index/properties/query.ts'
import { parseSort } from '../../../index/properties/text-sort.ts'
import { invalid, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { authorizeOrg, type OrgAccess } from '../access.ts'
import { toListed } from '../nodes/nodes.ts'
import { type Page, pageOf } from '../pagination.ts'
import type { RequestCtx, Services } from '../services.ts'
import type { Body, OrgAt, Path, Query } from '../targets.ts'
import { filterIn, located, nearestNames } from './filter-input.ts'
import { askInView, snapshotOf } from './in-view.ts'
import { searchInTurn } from './queue.ts'

/** A facet that is asked for: exactly one of `property` and `field`. */
interface AskedFacet {
  readonly property?: string | readonly string[]
  readonly field?: 'type' | 'tag'
  readonly limit?: number
}

export interface NodeQuery extends Page {
  /** The JSON form, or the text form. Absent: every node. */
  readonly where?: unknown
  /** The text form, such as `-due,title`. Absent: the oldest first. */
  readonly sort?: string
  readonly facets?: readonly AskedFacet[]
  readonly branch?: string
  readonly at?: string
}

/** The part of the request that has the query. */
type Part = 'body' | 'query'

/** The number of values of a facet, if the request does not say. */
const usualValues = 20

/**
 * Lists nodes by their properties, on main, on another branch, or at a time.
 *
 * @throws AppError as authorizeOrg, searchInTurn and askInView
 * @throws ValidationError filter_syntax, filter_too_large; as readView
 */
export async function queryNodes(ctx: RequestCtx, { path, body }: Path<OrgAt> & Body<NodeQuery>, part: Part = 'body') {
  const { org_id: orgId } = path
  const access = await authorizeOrg(ctx, path, 'public')
  const { conditions, ...question } = questionOf(ctx, body, part)
  const elsewhere = snapshotOf(body, [part])
  const { nodes, total, facets, unknown } = await (elsewhere === undefined
    ? searchInTurn(ctx, access, () => ctx.search.query(orgId, question))
    : askInView(ctx, access, elsewhere, (view) => ctx.search.queryIn(view, orgId, question)))
  return {
    nodes: await toListed(nodes),
    ...pageOf(body, total),
    ...(unknown.length > 0 && { unknown: nearestNames(unknown) }),
    ...(body.facets !== undefined && { facets: describedFacets(body.facets, facets) }),
    // A list has one array, and clients read it.
    ...(conditions !== undefined && part === 'body' && { conditions }),
  }
}

/** The query of a list that also has other filters. */
export interface ListedQuery extends Page {
  readonly where?: string
  readonly sort?: string
  readonly order?: string
  readonly tag?: string
  readonly parent_id?: string
  readonly after?: string
}

/** Lists nodes by their properties, for a list that also has other filters. @throws errors of queryNodes */
export function listMatching(ctx: RequestCtx, { path, query }: Path<OrgAt> & Query<ListedQuery>) {
  refuseOtherFilters(query, '`where` and `sort`')
  return queryNodes(ctx, { path: path, body: query }, 'query')
}

/** Lists the ids of all nodes of main that match. @throws errors of searchInTurn */
export async function listMatchingIds(ctx: RequestCtx, access: OrgAccess, where: Filter): Promise<ReadonlySet<string>> {
  return new Set(await searchInTurn(ctx, access, () => ctx.search.matching(access.org.id, where)))
}

/** Refuses filters that the columns do not have. @throws ValidationError value_error */
export function refuseOtherFilters(query: Omit<ListedQuery, keyof Page>, beside: string): void {
  const other = (['order', 'tag', 'parent_id', 'after'] as const).find((name) => query[name] !== undefined)
  if (other === undefined) return
  const instead = {
    ...{ order: '`sort`', tag: 'a condition `tag:…`', parent_id: 'a condition `parent:…`' },
    after: '`offset`',
  }[other]
  throw invalid(['query', other], `\`${other}\` cannot be combined with ${beside}; use ${instead}`, query[other])
}

/** Lists the names of properties with the kinds of their values, the most used first. */
export async function listProperties(ctx: RequestCtx, { path, query }: Path<OrgAt> & Query<Page>) {
  const access = await authorizeOrg(ctx, path, 'public')
  const all = await searchInTurn(ctx, access, () => ctx.search.listProperties(path.org_id))
  const properties = all.slice(query.offset, query.offset + query.limit).map(({ name, nodes, ...kinds }) => ({
    name,
    num_nodes: nodes,
    kinds: Object.fromEntries(Object.entries(kinds).filter(([, count]) => count > 0)),
  }))
  return { properties, ...pageOf(query, all.length) }
}

function questionOf(
  deps: Pick<Services, 'now'>,
  query: NodeQuery,
  part: Part,
): PropertyQuestion & { readonly conditions?: readonly ReadCondition[] } {
  const { where, sort, facets = [], limit, offset } = query
  return {
    ...(where !== undefined && filterIn(deps, where, [part, 'where'])),
    sort: sort === undefined ? [] : located([part, 'sort'], () => parseSort(sort)),
    facets: facets.map((facet, n) => ({ subject: subjectOf(facet, n), limit: facet.limit ?? usualValues })),
    ...{ limit, offset, propertiesBytes: limits.listedPropertiesBytes },
  }
}

function subjectOf({ property, field }: AskedFacet, n: number): Subject {
  if (property !== undefined && field === undefined) return { property }
  if (field !== undefined && property === undefined) return { field }
  const msg = 'A facet has exactly one of `property` and `field`'
  throw new ValidationError([{ loc: ['body', 'facets', n], msg, type: 'value_error' }])
}

function describedFacets(asked: readonly AskedFacet[], facets: PropertyAnswer['facets']) {
  return facets.map((facet, n) => {
    const { property, field } = asked[n] ?? {}
    return { ...(property !== undefined && { property }), ...(field !== undefined && { field }), ...facet }
  })
}
