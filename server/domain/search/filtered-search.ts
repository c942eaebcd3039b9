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
import { parseQuestion } from '../../../index/search/ranking/filters.ts'
import { type PreparedView, viewOf } from '../../../index/search/ranking/view.ts'
import { type Filters, type Retrieved, retrieve, type SearchQuestion } from '../../../index/search/retrieve.ts'
import type { OrgIndex } from '../../../index/search/segments/org-index.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import type { LanguageOf } from '../../../index/search/text/languages.ts'
import type { VectorRows } from '../../../index/vectors/read-rows.ts'
import type { OpenIndexes } from './open-indexes.ts'
import type { OpenTables } from './open-tables.ts'
import type { OpenVectors } from './open-vectors.ts'
import {
  type AskedMeaning,
  type Doubt,
  doubtOf,
  type MeaningHere,
  meaningHere,
  vectorsOfView,
} from './question-meaning.ts'
import { inSlices, type Patient, patientFor, said, type Unindexed } from './slices.ts'

export interface FilteredQuestion extends SearchQuestion, Patient {
  /** Nodes outside of it are neither matches nor reached from them. */
  readonly where?: Filter
  /** The day that `today` stands for, as `2026-12-01`. */
  readonly today: string
  /** Absent: the answer is by words only. */
  readonly meaning?: AskedMeaning
}

export interface FilteredAnswer extends Omit<Retrieved, 'unsure'>, Unindexed {
  /** The share of the nodes of main whose texts were embedded, 0 to 1. Only if the question may use meaning. */
  readonly covered?: number
  /** Present if the question may use meaning, and its words failed. */
  readonly doubt?: Doubt
  /** The conditions that were found in the query. */
  readonly conditions: readonly ReadCondition[]
  /** The names in `where` that no node has. */
  readonly unknown: readonly UnknownName[]
}

export interface Searching {
  readonly indexes: OpenIndexes
  readonly tables: OpenTables
  readonly vectors: OpenVectors
  readonly storedVectors: VectorRows
  readonly languageOf: LanguageOf
}

type Asked = readonly [
  orgId: string,
  question: FilteredQuestion,
  view: PreparedView | undefined,
  /** Undefined: the answer is by words only. */
  meaning: FindMeaning | undefined,
]

/** Finds the meaning of the question within a snapshot. */
type FindMeaning = (index: OrgIndex, rows: SearchRows) => MeaningHere

/** Searches by words, and by meaning if the question may use it. Otherwise the same as `searchHeld`. */
export async function searchFiltered(
  searching: Searching,
  orgId: string,
  question: FilteredQuestion,
  view: PreparedView | undefined,
) {
  const { meaning } = question
  if (meaning === undefined) return searchHeld(searching, orgId, question, view, undefined)
  const { vectors, storedVectors } = searching
  return vectors.during(orgId, meaning.model, async (held) => {
    const changed = view && held && (await inSlices(vectorsOfView(storedVectors, orgId, meaning, held, view)))
    const inView = view && changed && { changed, gone: view.view.gone }
    return searchHeld(searching, orgId, question, view, (index, rows) =>
      meaningHere(storedVectors, orgId, meaning, held, { index, rows }, inView),
    )
  })
}

/**
 * Searches main or a view. Returns 'moved' if nodes have changed since the view was read. Returns undefined if the
 * organisation does not exist. A query without a condition reads no table.
 */
async function searchHeld(searching: Searching, ...asked: Asked) {
  const [orgId, question, view, findMeaning] = asked
  const { indexes, tables, languageOf } = searching
  const { where, today, query, syntax } = question
  const isPatient = patientFor(question)
  const isPlain = syntax === 'plain'
  if (where === undefined && (isPlain || !mayHaveConditions(query, today)))
    return indexes.ask(
      orgId,
      (index, rows, unindexed) => {
        const searched = view === undefined ? { index, rows } : viewOf(index, rows, orgId, view)
        if (searched === undefined) return 'moved'
        const found = retrieveMeant(languageOf, searched, orgId, question, {}, findMeaning)
        return { ...partly(found, unindexed), conditions: [], unknown: [] }
      },
      isPatient,
    )
  const shown = new Set(view?.view.nodes.flatMap((node) => Object.keys(toMatched(node).properties)))
  const box = await tables.ask(orgId, [], (table) =>
    isPlain
      ? { words: query, conditions: [] }
      : readConditions(query, today, (name) => shown.has(name) || table.hasName(name)),
  )
  if (box === undefined) return undefined
  const subjects = [where, box.filter].flatMap((filter) => (filter === undefined ? [] : columnSubjects(filter)))
  for (;;) {
    if ((await tables.ask(orgId, subjects, () => true)) === undefined) return undefined
    const found = await indexes.ask(
      orgId,
      (index, rows, unindexed) => {
        const answer = (table: PropertyTable) => searchWithTable(languageOf, table, index, rows, box, asked)
        const answered = tables.within(orgId, subjects, rows, answer) ?? 'behind'
        return typeof answered === 'string' ? answered : partly(answered, unindexed)
      },
      isPatient,
    )
    if (found !== 'behind') return found
  }
}

/** Adds to an answer how many nodes are not indexed yet. It then has no hint, because they could match. */
function partly<A extends { readonly hint?: unknown }>(found: A, unindexed: number) {
  if (unindexed === 0) return found
  const { hint, ...answer } = found
  return { ...answer, total_is_exact: false, ...said(unindexed) }
}

function searchWithTable(
  languageOf: LanguageOf,
  table: PropertyTable,
  index: OrgIndex,
  rows: SearchRows,
  box: BoxParts,
  [orgId, question, prepared, findMeaning]: Asked,
): FilteredAnswer | 'moved' {
  const answer = (searched: { index: OrgIndex; rows: SearchRows }): FilteredAnswer => {
    const documents = (filter: Filter | undefined) =>
      filter && documentsOf(table, searched.rows, orgId, searched.index.texts, filter)
    const filters = { words: box.words, scope: documents(question.where), matches: documents(box.filter) }
    return {
      ...retrieveMeant(languageOf, searched, orgId, question, filters, findMeaning),
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

function retrieveMeant(
  languageOf: LanguageOf,
  { index, rows }: { readonly index: OrgIndex; readonly rows: SearchRows },
  orgId: string,
  question: FilteredQuestion,
  filters: Filters,
  findMeaning: FindMeaning | undefined,
) {
  const { covered, given } = findMeaning?.(index, rows) ?? {}
  const { query, syntax } = question
  const { unsure = false, ...found } = retrieve(index, rows, languageOf, orgId, question, filters, given)
  return {
    ...found,
    ...(covered !== undefined && { covered }),
    ...(unsure &&
      question.meaning && {
        doubt: doubtOf(languageOf, question.meaning, parseQuestion(filters.words ?? query, syntax), given),
      }),
  }
}
