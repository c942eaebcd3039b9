/** Applies a filter by property to the documents of a search. */

import type { DocumentFilter } from '../search/ranking/scores.ts'
import type { Corpus } from '../search/segments/corpus.ts'
import { shortIdOf } from '../search/segments/live-index.ts'
import type { SearchRows } from '../search/segments/rows.ts'
import type { Segment } from '../search/segments/segment.ts'
import { sizeOf, stringAt } from '../search/segments/string-table.ts'
import type { Filter } from './filter.ts'
import { maskOf } from './masks.ts'
import { edgesOf } from './query.ts'
import type { PropertyTable } from './table.ts'

/**
 * The rows of each segment's documents in a table, -1 without one. A node keeps its row as long as its document is
 * live.
 */
const rowsBySegment = new WeakMap<PropertyTable, WeakMap<Segment, Int32Array>>()

/** Reads the rows of all documents. Call it before `PropertyTable.within`, which moves nodes to other rows for a time. */
export function knowDocuments(table: PropertyTable, corpus: Corpus): void {
  for (const { segment } of corpus.frozen) rowsOf(table, segment)
}

/** Returns the documents whose nodes match. All arguments are of the same snapshot. */
export function documentsOf(
  table: PropertyTable,
  rows: SearchRows,
  orgId: string,
  corpus: Corpus,
  filter: Filter,
): DocumentFilter {
  const marks = maskOf(table, filter, edgesOf(table, rows, orgId))
  const live = new Set<number>()
  for (const id of corpus.live.documents.keys())
    if (marks[table.rowOf(id) ?? -1] === 1) live.add(shortIdOf(corpus.live, id))
  return { masks: corpus.frozen.map((view) => documentMarks(table, marks, view)), live }
}

function documentMarks(table: PropertyTable, marks: Uint8Array, { segment, dead }: Corpus['frozen'][number]) {
  const rows = rowsOf(table, segment)
  const mask = new Uint8Array(rows.length)
  for (let document = 0; document < rows.length; document++)
    if (marks[rows[document] ?? -1] === 1 && dead[document] !== 1) mask[document] = 1
  return mask
}

function rowsOf(table: PropertyTable, segment: Segment): Int32Array {
  const bySegment = rowsBySegment.get(table) ?? new WeakMap<Segment, Int32Array>()
  rowsBySegment.set(table, bySegment)
  const known = bySegment.get(segment)
  if (known !== undefined) return known
  const rows = new Int32Array(sizeOf(segment.ids)).fill(-1)
  for (let document = 0; document < rows.length; document++)
    rows[document] = table.rowOf(stringAt(segment.ids, document)) ?? -1
  bySegment.set(segment, rows)
  return rows
}
