/** BM25 over a corpus. Finds the best documents, and scores any document exactly as MiniSearch does. */
import {
  averageLength,
  type Corpus,
  type DocumentPlace,
  documentCount,
  documentFrequency,
  idAt,
  idfOf,
  placeOf,
  ranksOf,
  type SegmentView,
} from '../segments/corpus.ts'
import { liveLength, livePostings } from '../segments/live-index.ts'
import { countAt, MANY, postingOf } from '../segments/segment.ts'
import { sizeOf } from '../segments/string-table.ts'
import { FIELD } from '../segments/terms.ts'

/** MiniSearch's constants for BM25. */
const K = 1.2
const B = 0.75

/**
 * Computes BM25 in MiniSearch's order of operations (`calcBM25Score`), because products are rounded.
 *
 * @param length distinct terms of the document
 * @param average mean length of all documents
 */
export function bm25(idf: number, count: number, length: number, average: number): number {
  const norm = K * (1 - B + (B * length) / average)
  return idf * ((count * (K + 1)) / (count + norm))
}

export interface WeightedTerm {
  readonly term: string
  readonly weight: number
}

/** A set of admitted documents. */
export interface DocumentFilter {
  /** 1 for admitted documents, by segment and document number. */
  readonly masks: readonly Uint8Array[]
  /** Admitted documents of the live index, by MiniSearch's number. */
  readonly live: ReadonlySet<number>
}

/** A field to search, and its weight. */
export interface SearchedField {
  readonly field: number
  readonly boost: number
}

/** The fields to search. `title` is for queries of only stop words, which only titles keep. */
export type SearchedIn = 'all' | 'title'

const inTitle: SearchedField = { field: FIELD.title, boost: 0.3 }

export const SEARCHED: Readonly<Record<SearchedIn, readonly SearchedField[]>> = {
  all: [{ field: FIELD.all, boost: 1 }, inTitle],
  title: [inTitle],
}

/** The postings of one term in one field. */
interface List {
  /** The number of the term in the query. */
  readonly term: number
  readonly weight: number
  readonly idf: number
  readonly searched: SearchedField
  readonly average: number
  /** The rank of the term in each segment, negative if the segment lacks it. */
  readonly ranks: readonly number[]
  readonly live: ReadonlyMap<number, number> | undefined
}

/** A scored document. `terms` are the query's terms that occur in it. */
interface Hit {
  readonly score: number
  readonly terms: readonly string[]
}

export interface ScoredHit extends Hit {
  readonly id: string
}

/** The best hits, and the number of all hits. */
export interface HitsOfAll {
  readonly hits: readonly ScoredHit[]
  readonly total: number
}

/** A term's part of a score, in one field. */
export interface ScorePart {
  readonly term: string
  readonly field: number
  /** Occurrences in the document. */
  readonly count: number
  /** The document's distinct terms in the field, and the mean over all documents. */
  readonly length: number
  readonly averageLength: number
  readonly idf: number
  /** The term's weight in the query times the weight of the field. */
  readonly weight: number
  readonly score: number
}

export interface Scores {
  /** Returns the parts of a document's score in the order of terms. They add up to the score. */
  explain(id: string): readonly ScorePart[]
  /** Returns undefined if no term occurs in the document, or if it does not exist. */
  find(id: string): Hit | undefined
  at(place: DocumentPlace): Hit | undefined
  /** Returns the first `limit` by score, rounded to 6 digits, equal ones by id. */
  best(limit: number, admission?: DocumentFilter): readonly ScoredHit[]
  /** Returns the best hits, and counts all admitted documents with a term. */
  bestAndTotal(limit: number, admission?: DocumentFilter): HitsOfAll
}

/** Rounds to the 6 significant digits of a result. Scores that look equal are then equal. */
export function roundScore(score: number): number {
  return Number(score.toPrecision(6))
}

/**
 * Scores documents by distinct `terms`, in the given order. Equals MiniSearch's `search` with `combineWith: OR` and
 * exact averages, divided by the number of matching terms. MiniSearch always multiplies by it. Dividing again gains 1.4
 * to 6.1 points of nDCG@10. Valid until a corpus changes. Rarity and mean lengths are those of `counted`.
 */
export function scoreTerms(
  corpus: Corpus,
  searched: readonly SearchedField[],
  terms: readonly WeightedTerm[],
  counted = corpus,
): Scores {
  const lists = listsOf(corpus, searched, terms, counted)
  const ofFrozen = (part: SegmentView, i: number, document: number): CountedTerms => ({
    countOf: (list) => countIn(part, list, i, document),
    lengthOf: (field) => part.segment.lengths[field]?.[document] ?? 0,
  })
  const ofLive = (shortId: number): CountedTerms => ({
    countOf: (list) => list.live?.get(shortId) ?? 0,
    lengthOf: (field) => liveLength(corpus.live, shortId, field),
  })
  const countedAt = ({ i, number }: DocumentPlace) => {
    const part = corpus.frozen[i]
    return part === undefined ? ofLive(number) : ofFrozen(part, i, number)
  }
  const at = (place: DocumentPlace) => scoreOf(lists, terms, countedAt(place))
  const explain = (id: string): readonly ScorePart[] => {
    const place = placeOf(corpus, id)
    return place === undefined ? [] : partsOf(lists, terms, countedAt(place))
  }
  const known = new Map<string, Hit | undefined>()
  const find = (id: string): Hit | undefined => {
    if (known.has(id)) return known.get(id)
    const place = placeOf(corpus, id)
    const hit = place && at(place)
    known.set(id, hit)
    return hit
  }
  const bestAndTotal = (limit: number, admission?: DocumentFilter): HitsOfAll => {
    const hits: ScoredHit[] = []
    const { places, total } = candidates(corpus, lists, limit, admission)
    for (const place of places) {
      const hit = at(place)
      if (hit) hits.push({ ...hit, id: idAt(corpus, place) })
    }
    return { hits: bestFirst(hits).slice(0, limit), total }
  }
  const best = (limit: number, admission?: DocumentFilter) => bestAndTotal(limit, admission).hits
  return { explain, find, at, best, bestAndTotal }
}

/** Sorts by score, rounded to 6 digits, equal ones by id. */
export function bestFirst<T extends { readonly id: string; readonly score: number }>(hits: readonly T[]): T[] {
  const rounded = hits.map((hit) => ({ hit, score: roundScore(hit.score) }))
  rounded.sort((a, b) => b.score - a.score || (a.hit.id < b.hit.id ? -1 : 1))
  return rounded.map(({ hit }) => hit)
}

/** Returns lists by term, then by field, which is the order in which MiniSearch adds. */
function listsOf(
  corpus: Corpus,
  searched: readonly SearchedField[],
  terms: readonly WeightedTerm[],
  counted: Corpus,
): List[] {
  const count = documentCount(counted)
  const averages = searched.map(({ field }) => averageLength(counted, field))
  return terms.flatMap(({ term, weight }, n) => {
    const ranks = ranksOf(corpus, term)
    const live = livePostings(corpus.live, term)
    return searched.flatMap((one, i): List[] => {
      const matching = documentFrequency(counted, one.field, term, counted === corpus ? ranks : undefined)
      if (matching === 0) return []
      const of = { term: n, weight, idf: idfOf(count, matching), searched: one, average: averages[i] ?? 0 }
      return [{ ...of, ranks, live: live?.get(one.field) }]
    })
  })
}

function countIn({ segment }: SegmentView, { ranks, searched: { field } }: List, i: number, document: number): number {
  const rank = ranks[i] ?? -1
  const postings = segment.fields[field]
  if (rank < 0 || !postings) return 0
  const { documents, starts } = postings
  const at = postingOf(documents, starts[rank] ?? 0, starts[rank + 1] ?? 0, document)
  return at < 0 ? 0 : countAt(postings, at)
}

/** The term counts of one document. */
interface CountedTerms {
  readonly countOf: (list: List) => number
  /** Returns the number of distinct terms in the field. */
  readonly lengthOf: (field: number) => number
}

function partsOf(lists: readonly List[], terms: readonly WeightedTerm[], document: CountedTerms): ScorePart[] {
  return lists.flatMap((list): ScorePart[] => {
    const { searched, idf, average: averageLength } = list
    const { field, boost } = searched
    const [count, length] = [document.countOf(list), document.lengthOf(field)]
    if (count === 0) return []
    const of = { term: terms[list.term]?.term ?? '', field, count, length, averageLength, idf }
    return [{ ...of, weight: list.weight * boost, score: partOf(list, count, length) }]
  })
}

function partOf({ searched, weight, idf, average }: List, count: number, length: number): number {
  return weight * searched.boost * bm25(idf, count, length, average)
}

/**
 * Scores a document. The operations and their order are MiniSearch's (`calcBM25Score`, `termResults`,
 * `combineResults`), because sums are rounded.
 */
function scoreOf(lists: readonly List[], terms: readonly WeightedTerm[], document: CountedTerms): Hit | undefined {
  const found: string[] = []
  let score = 0
  let ofTerm = 0
  let last = -1
  for (const list of lists) {
    const count = document.countOf(list)
    if (count === 0) continue
    const part = partOf(list, count, document.lengthOf(list.searched.field))
    if (list.term === last) ofTerm += part
    else {
      if (last >= 0) score = found.length === 1 ? ofTerm : score + ofTerm
      found.push(terms[list.term]?.term ?? '')
      last = list.term
      ofTerm = part
    }
  }
  if (found.length === 0) return undefined
  score = found.length === 1 ? ofTerm : score + ofTerm
  return { score: (score * found.length) / found.length, terms: found }
}

/**
 * Two scores may round to the same 6 digits if their ratio is above this. Allows for sums in another order.
 */
const SAME = 1 - 1.1e-5

/**
 * Returns all documents that may be among the best, by sums in any order. Also counts the documents with a sum. The
 * caller then scores each one exactly. Reads every posting: bounds that skip some (MaxScore, WAND) skip almost nothing
 * for queries of 8 to 12 words.
 */
function candidates(
  corpus: Corpus,
  lists: readonly List[],
  limit: number,
  admission: DocumentFilter | undefined,
): { readonly places: DocumentPlace[]; readonly total: number } {
  const best = heapOfBest(limit)
  let total = 0
  const found: (DocumentPlace & { readonly score: number })[] = []
  for (const [shortId, score] of sumLive(corpus, lists)) {
    if (admission?.live.has(shortId) === false) continue
    total++
    best.add(score)
    found.push({ i: -1, number: shortId, score })
  }
  for (const [i, part] of corpus.frozen.entries()) {
    const { sums, touched, count } = sumFrozen(part, lists, i, admission?.masks[i])
    total += count
    for (let n = 0; n < count; n++) best.add(sums[touched[n] ?? 0] ?? 0)
    const bar = best.least() * SAME
    for (let n = 0; n < count; n++) {
      const number = touched[n] ?? 0
      const score = sums[number] ?? 0
      if (score >= bar) found.push({ i, number, score })
      sums[number] = 0
    }
  }
  const bar = best.least() * SAME
  return { places: found.filter(({ score }) => score >= bar), total }
}

function sumLive({ live }: Corpus, lists: readonly List[]): Map<number, number> {
  const sums = new Map<number, number>()
  for (const { live: counts, searched, weight, idf, average } of lists) {
    const bound = weight * searched.boost * idf * (K + 1)
    for (const [shortId, count] of counts ?? []) {
      const norm = K * (1 - B + (B * liveLength(live, shortId, searched.field)) / average)
      sums.set(shortId, (sums.get(shortId) ?? 0) + (bound * count) / (count + norm))
    }
  }
  return sums
}

/** Reused buffers for the sums of one segment, and for the documents that have one. Sums are all 0 between uses. */
let roomForSums = new Float64Array(0)
let roomForTouched = new Uint32Array(0)

function sumFrozen({ segment, dead }: SegmentView, lists: readonly List[], i: number, mask: Uint8Array | undefined) {
  const size = sizeOf(segment.ids)
  if (roomForSums.length < size) {
    roomForSums = new Float64Array(size)
    roomForTouched = new Uint32Array(size)
  }
  const sums = roomForSums
  const touched = roomForTouched
  let count = 0
  for (const { ranks, searched, weight, idf, average } of lists) {
    const rank = ranks[i] ?? -1
    const postings = segment.fields[searched.field]
    const lengths = segment.lengths[searched.field]
    if (rank < 0 || !postings || !lengths) continue
    const { documents, counts, starts, many } = postings
    const end = starts[rank + 1] ?? 0
    const bound = weight * searched.boost * idf * (K + 1)
    const least = K * (1 - B)
    const slope = (K * B) / average
    for (let at = starts[rank] ?? 0; at < end; at++) {
      const document = documents[at] ?? 0
      const sum = sums[document] ?? 0
      if (sum === 0) {
        if (dead[document] === 1 || (mask !== undefined && mask[document] === 0)) continue
        touched[count++] = document
      }
      const stored = counts[at] ?? 0
      const times = stored === MANY ? (many.get(at) ?? MANY) : stored
      sums[document] = sum + (bound * times) / (times + least + slope * (lengths[document] ?? 0))
    }
  }
  return { sums, touched, count }
}

/** Creates a heap that keeps the greatest added numbers. */
export function heapOfBest(limit: number) {
  const heap = new Float64Array(limit)
  let size = 0
  const rise = (from: number, value: number) => {
    let at = from
    for (let up = (at - 1) >> 1; at > 0 && (heap[up] ?? 0) > value; up = (at - 1) >> 1) {
      heap[at] = heap[up] ?? 0
      at = up
    }
    heap[at] = value
  }
  const sink = (value: number) => {
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && (heap[child + 1] ?? 0) < (heap[child] ?? 0)) child++
      if ((heap[child] ?? 0) >= value) break
      heap[at] = heap[child] ?? 0
      at = child
    }
    heap[at] = value
  }
  return {
    add(value: number): void {
      if (size < limit) rise(size++, value)
      else if (value > (heap[0] ?? 0)) sink(value)
    },
    /** Returns the least of the kept numbers, or 0 while there are fewer than `limit`. */
    least: (): number => (size < limit ? 0 : (heap[0] ?? 0)),
  }
}
