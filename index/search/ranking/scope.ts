/** Filters for the nodes that a query admits. */

import { type Corpus, type DocumentPlace, placeOf, ranksOf } from '../segments/corpus.ts'
import { type CorpusDocument, shortIdOf } from '../segments/live-index.ts'
import type { SearchRows } from '../segments/rows.ts'
import { sizeOf } from '../segments/string-table.ts'
import { FIELD } from '../segments/terms.ts'
import type { DocumentFilter } from './scores.ts'

/** Conditions that must all hold. An empty list of nodes admits no node, an empty list of tags admits all. */
export interface Scope {
  node_ids?: string[]
  /** This node and its descendants. */
  under?: string
  tags?: string[]
  /** ISO times, both exclusive. */
  updated_after?: string
  updated_before?: string
  /** The types of connections that `deep` follows. Does not filter nodes. */
  connection_types?: string[]
}

/** Returns the filter of a scope. Undefined if every node is admitted. */
export function createFilter(corpus: Corpus, rows: SearchRows, scope: Scope): DocumentFilter | undefined {
  const conditions = [
    ...(scope.node_ids === undefined ? [] : [listed(corpus, scope.node_ids)]),
    ...(scope.under === undefined ? [] : [listed(corpus, rows.descendantsOf(scope.under))]),
    ...(scope.tags ?? []).map((tag) => withTerms(corpus, FIELD.tags, new Set([tag]))),
    ...(scope.updated_after === undefined && scope.updated_before === undefined ? [] : [changedWithin(corpus, scope)]),
  ]
  return allOf(conditions)
}

/** Returns the filter of documents that all filters admit. Undefined if every node is admitted. */
export function allOf(filters: readonly (DocumentFilter | undefined)[]): DocumentFilter | undefined {
  const [first, ...others] = filters.filter((filter) => filter !== undefined)
  return first && others.reduce(both, first)
}

export function passesFilter(admission: DocumentFilter | undefined, { i, number }: DocumentPlace): boolean {
  if (admission === undefined) return true
  return i < 0 ? admission.live.has(number) : admission.masks[i]?.[number] === 1
}

/** True if the filter admits no document. Its masks may also have marks of dead ones. */
export function admitsNone({ frozen }: Corpus, admission: DocumentFilter | undefined): boolean {
  const admitsAny = (mask: Uint8Array, i: number) =>
    mask.some((mark, number) => mark === 1 && frozen[i]?.dead[number] === 0)
  return admission?.live.size === 0 && !admission.masks.some(admitsAny)
}

function both(one: DocumentFilter, other: DocumentFilter): DocumentFilter {
  const masks = one.masks.map((mask, i) => mask.map((mark, number) => mark & (other.masks[i]?.[number] ?? 0)))
  return { masks, live: new Set([...one.live].filter((number) => other.live.has(number))) }
}

function listed(corpus: Corpus, ids: readonly string[]): DocumentFilter {
  const masks = corpus.frozen.map(({ segment }) => new Uint8Array(sizeOf(segment.ids)))
  const live = new Set<number>()
  for (const id of ids) {
    const place = placeOf(corpus, id)
    if (place === undefined) continue
    const mask = masks[place.i]
    if (mask) mask[place.number] = 1
    else live.add(place.number)
  }
  return { masks, live }
}

/** Filters documents with one of the terms in the field. */
export function withTerms(corpus: Corpus, field: number, wanted: ReadonlySet<string>): DocumentFilter {
  const masks = corpus.frozen.map(({ segment }) => new Uint8Array(sizeOf(segment.ids)))
  for (const term of wanted) {
    for (const [i, rank] of ranksOf(corpus, term).entries()) {
      const { starts, documents } = corpus.frozen[i]?.segment.fields[field] ?? {}
      const mask = masks[i]
      if (rank < 0 || !mask || !starts || !documents) continue
      for (const document of documents.subarray(starts[rank], starts[rank + 1])) mask[document] = 1
    }
  }
  return { masks, live: liveOf(corpus, ({ terms }) => terms[field]?.some((term) => wanted.has(term)) === true) }
}

function changedWithin(corpus: Corpus, { updated_after, updated_before }: Scope): DocumentFilter {
  const after = updated_after === undefined ? -Infinity : Date.parse(updated_after)
  const before = updated_before === undefined ? Infinity : Date.parse(updated_before)
  const isWithin = (time: number) => time > after && time < before
  const masks = corpus.frozen.map(({ segment: { times } }) =>
    Uint8Array.from(times, (time) => (isWithin(time) ? 1 : 0)),
  )
  return { masks, live: liveOf(corpus, ({ time }) => isWithin(time)) }
}

export function liveOf({ live }: Corpus, admits: (document: CorpusDocument) => boolean): Set<number> {
  const admitted = [...live.documents.values()].filter(admits)
  return new Set(admitted.map(({ id }) => shortIdOf(live, id)))
}
