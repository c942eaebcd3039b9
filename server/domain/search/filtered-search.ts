/** Searches with filters by property. They are in the scope, or among the words of the query. */

import {
  type BoxParts,
  mayHaveConditions,
  type ReadCondition,
  readConditions,
} from '../../../index/properties/box-conditions.ts'
import { conditionsOf, type Filter } from '../../../index/properties/filter.ts'
import { columnSubjects } from '../../../index/properties/masks.ts'
import { toMatched } from '../../../index/properties/query.ts'
import { documentsOf, knowDocuments } from '../../../index/properties/search-filter.ts'
import type { PropertyTable } from '../../../index/properties/table.ts'
import { type UnknownName, unknownNames } from '../../../index/properties/unknown-names.ts'
import { type PreparedView, viewOf } from '../../../index/search/ranking/view.ts'
import { type Retrieved, retrieve, type SearchQuestion } from '../../../index/search/retrieve.ts'
import type { OrgIndex } from '../../../index/search/segments/org-index.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import type { LanguageOf } from '../../../index/search/text/languages.ts'
import type { OpenIndexes } from './open-indexes.ts'
import type { OpenTables } from './open-tables.ts'

export interface FilteredQuestion extends SearchQuestion {
  /** Nodes outside of it are neither matches nor reached from them. */
  readonly where?: Filter
  /** The day that `today` stands for, as `2026-12-01`. */
  readonly today: string
}

export interface FilteredAnswer extends Retrieved {
  /** The conditions that were found in the query. */
  readonly conditions: readonly ReadCondition[]
  /** The names in `where` that no node has. */
  readonly unknown: readonly UnknownName[]
}

export interface Searching {
  readonly indexes: OpenIndexes
  readonly tables: OpenTables
  readonly languageOf: LanguageOf
}

type Asked = readonly [orgId: string, question: FilteredQuestion, view: PreparedView | undefined]

/**
 * Searches main or a view. Returns 'moved' if nodes have changed since the view was read. Returns undefined if the
 * organisation does not exist. A query without a condition reads no table.
 */
export async function searchFiltered(searching: Searching, ...asked: Asked) {
  const [orgId, question, view] = asked
  const { indexes, tables, languageOf } = searching
  const { where, today } = question
  if (where === undefined && !mayHaveConditions(question.query, today))
    return indexes.ask(orgId, (index, rows) => {
      const searched = view === undefined ? { index, rows } : viewOf(index, rows, orgId, view)
      if (searched === undefined) return 'moved'
      const found = retrieve(searched.index, searched.rows, languageOf, orgId, question)
      return { ...found, conditions: [], unknown: [] }
    })
  const shown = new Set(view?.view.nodes.flatMap((node) => Object.keys(toMatched(node).properties)))
  const box = await tables.ask(orgId, [], (table) =>
    readConditions(question.query, today, (name) => shown.has(name) || table.hasName(name)),
  )
  if (box === undefined) return undefined
  const subjects = [where, box.filter].flatMap((filter) => (filter === undefined ? [] : columnSubjects(filter)))
  for (;;) {
    if ((await tables.ask(orgId, subjects, () => true)) === undefined) return undefined
    const found = await indexes.ask(
      orgId,
      (index, rows) =>
        tables.within(orgId, subjects, rows, (table) => searchWithTable(languageOf, table, index, rows, box, asked)) ??
        'behind',
    )
    if (found !== 'behind') return found
  }
}

function searchWithTable(
  languageOf: LanguageOf,
  table: PropertyTable,
  index: OrgIndex,
  rows: SearchRows,
  box: BoxParts,
  [orgId, question, prepared]: Asked,
): FilteredAnswer | 'moved' {
  const answer = (searched: { index: OrgIndex; rows: SearchRows }): FilteredAnswer => {
    const documents = (filter: Filter | undefined) =>
      filter && documentsOf(table, searched.rows, orgId, searched.index.texts, filter)
    const filters = { words: box.words, scope: documents(question.where), matches: documents(box.filter) }
    return {
      ...retrieve(searched.index, searched.rows, languageOf, orgId, question, filters),
      conditions: box.conditions,
      unknown: question.where === undefined ? [] : unknownNames(table, conditionsOf(question.where)),
    }
  }
  if (prepared === undefined) return answer({ index, rows })
  const searched = viewOf(index, rows, orgId, prepared)
  if (searched === undefined) return 'moved'
  knowDocuments(table, index.texts)
  const { nodes, gone } = prepared.view
  return table.within({ nodes: nodes.map(toMatched), gone }, () => answer(searched))
}
