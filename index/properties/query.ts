/** Answers questions about the nodes of an organisation by their properties. */

import { isMoved, type View } from '../search/ranking/view.ts'
import type { SearchRows } from '../search/segments/rows.ts'
import { type Facet, type FacetQuestion, facetOf } from './facets.ts'
import { conditionsOf, type Filter, type Subject } from './filter.ts'
import { columnSubjects, countOf, type EdgeRows, maskOf } from './masks.ts'
import type { MatchedNode } from './matching.ts'
import type { ListedRow, PropertyRow } from './property-rows.ts'
import { type SortKey, sortedRows } from './sorting.ts'
import type { PropertyTable } from './table.ts'
import { type UnknownName, unknownNames } from './unknown-names.ts'

export interface PropertyQuestion {
  /** Absent: every node. */
  readonly where?: Filter | undefined
  readonly sort: readonly SortKey[]
  readonly offset: number
  readonly limit: number
  readonly facets: readonly FacetQuestion[]
  /** The most bytes of a node's properties in the page. */
  readonly propertiesBytes: number
}

export interface PropertyAnswer {
  readonly nodes: readonly ListedRow[]
  readonly total: number
  readonly facets: readonly Facet[]
  readonly unknown: readonly UnknownName[]
}

/** Lists the subjects of a question that need columns. */
export function subjectsOf({ where, sort, facets }: PropertyQuestion): Subject[] {
  return [
    ...(where === undefined ? [] : columnSubjects(where)),
    ...sort.map(({ subject }) => subject),
    ...facets.map(({ subject }) => subject),
  ]
}

/** Answers within one snapshot. The table and the question's columns are up to date with it. */
export function answerQuery(
  table: PropertyTable,
  rows: SearchRows,
  orgId: string,
  question: PropertyQuestion,
): PropertyAnswer {
  const { where, sort, offset, limit, facets, propertiesBytes } = question
  const mask = where === undefined ? table.live() : maskOf(table, where, edgesOf(table, rows, orgId))
  const total = countOf(mask)
  const page = sortedRows(table, mask, sort, { from: offset, to: offset + limit })
  const ids = page.map((row) => table.ids[row] ?? '')
  return {
    nodes: ids.flatMap((id) => rows.listedNode(id, propertiesBytes) ?? []),
    total,
    facets: facets.map((facet) => facetOf(table, mask, facet)),
    unknown: unknownNames(table, namedSubjects(question)),
  }
}

/** Lists the ids of all nodes that match, in no order. Otherwise the same as answerQuery. */
export function matchingIds(table: PropertyTable, rows: SearchRows, orgId: string, where: Filter): string[] {
  const mask = maskOf(table, where, edgesOf(table, rows, orgId))
  return table.ids.filter((id, row) => id !== undefined && mask[row] === 1) as string[] // TypeScript keeps undefined
}

/**
 * Answers while some nodes are as in a view. Edges are those of main. Undefined if nodes have changed since the view was
 * read and their state in it is unknown.
 */
export function answerInView(
  table: PropertyTable,
  rows: SearchRows,
  orgId: string,
  question: PropertyQuestion,
  view: View,
): PropertyAnswer | undefined {
  if (isMoved(rows, orgId, view)) return undefined
  const nodes = new Map(view.nodes.map((node) => [node.id, node]))
  const listedNode: SearchRows['listedNode'] = (id, bytes) => {
    const node = nodes.get(id)
    if (node === undefined) return rows.listedNode(id, bytes)
    const { text: _, properties, ...row } = node
    return { ...row, org_id: orgId, properties: Buffer.byteLength(properties) > bytes ? null : properties }
  }
  return table.within({ nodes: view.nodes.map(toMatched), gone: view.gone }, () =>
    answerQuery(table, { ...rows, listedNode }, orgId, question),
  )
}

/** Returns a row's fields as filters read them. */
export function toMatched(row: Omit<PropertyRow, 'changed'>): MatchedNode {
  const { id, title, tags, properties, created_at, updated_at } = row
  // index-node.ts has written both.
  const parsed = { tags: JSON.parse(tags) as string[], properties: JSON.parse(properties) as Record<string, unknown> }
  return { id, title, created_at, updated_at, ...parsed }
}

/** Reads the edges of an organisation, for the filters of a table. */
export function edgesOf(table: PropertyTable, rows: SearchRows, orgId: string): EdgeRows {
  return {
    childrenOf: rows.childrenOf,
    under: rows.descendantsOf,
    connected: (type, target) =>
      target === undefined
        ? table.connectedBy(type, rows.graphVersion(orgId), () => rows.connected(orgId, type))
        : rows.connectedTo(type, target),
  }
}

function namedSubjects({ where, sort, facets }: PropertyQuestion): Subject[] {
  return [...(where === undefined ? [] : conditionsOf(where)), ...[...sort, ...facets].map(({ subject }) => subject)]
}
