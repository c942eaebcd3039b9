/** An inverted index in parts. Segments are immutable, and a small MiniSearch index holds the latest changes. */
import {
  addLive,
  type CorpusDocument,
  createLive,
  liveIdOf,
  livePostings,
  type MemTable,
  removeLive,
  shortIdOf,
  unsortedOf,
} from './live-index.ts'
import { bytesOf, flattenIndex, merge, numberIn, postingOf, type Segment } from './segment.ts'
import { bytesAt, rankOf, sizeOf, stringAt } from './string-table.ts'

/** A segment with marks for the documents that were changed or removed since. Such documents are dead. */
export interface SegmentView {
  readonly segment: Segment
  /** Indexed by document number, 1 for dead documents. */
  readonly dead: Uint8Array
  readonly deadList: number[]
  /** Sums of document lengths, by field: of all documents, and of dead ones. */
  readonly totalLengths: readonly number[]
  readonly deadLengths: number[]
  /** Counts by term and field. `count` of the first `seen` dead documents have the term. */
  readonly deadCounts: Map<number, { readonly seen: number; readonly count: number }>
}

export interface Corpus {
  readonly fieldCount: number
  frozen: readonly SegmentView[]
  live: MemTable
}

/** Estimated heap bytes of one term of a live document, with its posting. */
const LIVE_TERM_BYTES = 60

/** The capacity of `deadCounts`, which is cleared when it is full. */
const MOST_DEAD_COUNTS = 10_000

export function createCorpus(fieldCount: number, segments: readonly Segment[] = []): Corpus {
  const corpus: Corpus = { fieldCount, frozen: [], live: createLive(fieldCount) }
  for (const segment of segments) addSegment(corpus, segment)
  return corpus
}

/** Adds a segment that is newer than the others. Marks its documents as dead in them. */
export function addSegment(corpus: Corpus, segment: Segment): void {
  for (const frozen of corpus.frozen) markAllDeleted(frozen, segment)
  corpus.frozen = [...corpus.frozen, frozenOf(segment)]
}

function frozenOf(segment: Segment): SegmentView {
  const totalLengths = segment.lengths.map((column) => column.reduce((sum, length) => sum + length, 0))
  const deadLengths = totalLengths.map(() => 0)
  return {
    segment,
    dead: new Uint8Array(sizeOf(segment.ids)),
    deadList: [],
    totalLengths,
    deadLengths,
    deadCounts: new Map(),
  }
}

function markAllDeleted(frozen: SegmentView, { ids }: Segment): void {
  for (let n = 0; n < sizeOf(ids); n++) {
    const document = rankOf(frozen.segment.ids, bytesAt(ids, n))
    if (document >= 0) markDeleted(frozen, document)
  }
}

function markDeleted({ segment, dead, deadList, deadLengths }: SegmentView, document: number): void {
  if (dead[document] === 1) return
  dead[document] = 1
  deadList.push(document)
  for (const [field, column] of segment.lengths.entries())
    deadLengths[field] = (deadLengths[field] ?? 0) + (column[document] ?? 0)
}

/** Adds or replaces a document. */
export function setDocument(corpus: Corpus, document: CorpusDocument): void {
  removeDocument(corpus, document.id)
  addLive(corpus.live, document)
}

export function removeDocument({ frozen, live }: Corpus, id: string): void {
  for (const part of frozen) {
    const document = numberIn(part.segment, id)
    if (document >= 0) markDeleted(part, document)
  }
  removeLive(live, id)
}

/** Converts the live index to a segment. */
export function flattenLive({ live, fieldCount }: Corpus): Segment {
  return flattenIndex(unsortedOf(live), fieldCount)
}

/** Replaces the live index with a new segment. */
export function flush(corpus: Corpus): Segment {
  const segment = flattenLive(corpus)
  corpus.live = createLive(corpus.fieldCount)
  // The documents are already dead in the other segments.
  corpus.frozen = [...corpus.frozen, frozenOf(segment)]
  return segment
}

/**
 * Merges the segments in [from, to). At each `yield` other code may run, change documents and flush.
 */
export function* mergeFrom(
  corpus: Corpus,
  from: number,
  to = corpus.frozen.length,
): Generator<undefined, Segment, undefined> {
  const parts = corpus.frozen.slice(from, to)
  const before = parts.map(({ deadList }) => deadList.length)
  const segment = yield* merge(
    parts.map((part, i) => ({ segment: part.segment, dead: tombstonesOf(part, before[i] ?? 0) })),
  )
  const merged = frozenOf(segment)
  // Documents that died during the merge.
  for (const [
    i,
    {
      segment: { ids },
      deadList,
    },
  ] of parts.entries()) {
    for (const document of deadList.slice(before[i])) {
      const number = rankOf(segment.ids, bytesAt(ids, document))
      if (number >= 0) markDeleted(merged, number)
    }
  }
  corpus.frozen = [...corpus.frozen.slice(0, from), merged, ...corpus.frozen.slice(from + parts.length)]
  return segment
}

/** Copies the marks, because more documents may die during the merge. Undefined if no document is dead. */
function tombstonesOf({ dead }: SegmentView, count: number): Uint8Array | undefined {
  return count === 0 ? undefined : dead.slice()
}

export function liveCountOf({ segment, deadList }: SegmentView): number {
  return sizeOf(segment.ids) - deadList.length
}

/** The location of a document. `number` is its number in segment `i`, or in the live index if `i` is -1. */
export interface DocumentPlace {
  readonly i: number
  readonly number: number
}

/** Finds a document. */
export function placeOf({ frozen, live }: Corpus, id: string): DocumentPlace | undefined {
  const shortId = shortIdOf(live, id)
  if (shortId >= 0) return { i: -1, number: shortId }
  // A document is alive in at most one part, usually in the first, which is the largest.
  for (const [i, { segment, dead }] of frozen.entries()) {
    const number = numberIn(segment, id)
    if (number >= 0 && dead[number] === 0) return { i, number }
  }
  return undefined
}

export function idAt({ frozen, live }: Corpus, { i, number }: DocumentPlace): string {
  const part = frozen[i]
  return part === undefined ? liveIdOf(live, number) : stringAt(part.segment.ids, number)
}

export function documentCount({ frozen, live }: Corpus): number {
  return frozen.reduce((sum, part) => sum + liveCountOf(part), live.documents.size)
}

/**
 * Returns the mean number of distinct terms in the field. It is a quotient of integers, so it is the same for any
 * parts.
 */
export function averageLength(corpus: Corpus, field: number): number {
  const count = documentCount(corpus)
  const lengthOf = ({ totalLengths, deadLengths }: SegmentView) =>
    (totalLengths[field] ?? 0) - (deadLengths[field] ?? 0)
  const total = corpus.frozen.reduce((sum, part) => sum + lengthOf(part), corpus.live.totalLengths[field] ?? 0)
  return count === 0 ? 0 : total / count
}

/** Counts the documents with the term in the field. @param ranks the term's rank in each segment, if known */
export function documentFrequency(corpus: Corpus, field: number, term: string, ranks = ranksOf(corpus, term)): number {
  const live = livePostings(corpus.live, term)?.get(field)?.size ?? 0
  return corpus.frozen.reduce((sum, part, i) => sum + frequencyIn(part, field, ranks[i] ?? -1), live)
}

/** Returns the rank of the term in each segment, negative if a segment lacks it. */
export function ranksOf({ frozen }: Corpus, term: string): readonly number[] {
  const bytes = Buffer.from(term)
  return frozen.map(({ segment }) => rankOf(segment.terms, bytes))
}

/** Counts the segment's documents with the term of this rank in the field. Leaves out dead ones. */
function frequencyIn(part: SegmentView, field: number, rank: number): number {
  const postings = part.segment.fields[field]
  if (rank < 0 || !postings) return 0
  const from = postings.starts[rank] ?? 0
  const to = postings.starts[rank + 1] ?? 0
  if (part.deadList.length === 0 || from === to) return to - from
  return to - from - countDeletedAmong(part, postings.documents, from, to, rank * part.segment.fields.length + field)
}

/**
 * Counts dead documents with a term. Checks those that died since the last call, or all postings if these are fewer.
 */
function countDeletedAmong(part: SegmentView, documents: Uint32Array, from: number, to: number, key: number): number {
  const { dead, deadList, deadCounts } = part
  const known = deadCounts.get(key) ?? { seen: 0, count: 0 }
  if (known.seen === deadList.length) return known.count
  let count = known.count
  if ((deadList.length - known.seen) * 17 < to - from) {
    for (const document of deadList.slice(known.seen)) if (postingOf(documents, from, to, document) >= 0) count++
  } else {
    count = 0
    for (let at = from; at < to; at++) count += dead[documents[at] ?? 0] ?? 0
  }
  if (deadCounts.size >= MOST_DEAD_COUNTS) deadCounts.clear()
  deadCounts.set(key, { seen: deadList.length, count })
  return count
}

/** Returns the inverse document frequency as in MiniSearch's BM25. It is 0 for a term in no document. */
export function idf(corpus: Corpus, field: number, term: string): number {
  return idfOf(documentCount(corpus), documentFrequency(corpus, field, term))
}

export function idfOf(count: number, matching: number): number {
  return matching === 0 ? 0 : Math.log(1 + (count - matching + 0.5) / (matching + 0.5))
}

/** Returns the inverse document frequency that a term in no document would have. No other term has a greater one. */
export function greatestIdf(corpus: Corpus): number {
  return Math.log(1 + (documentCount(corpus) + 0.5) / 0.5)
}

/** Estimates the memory of a corpus in bytes. */
export function memoryOf({ frozen, live }: Corpus): number {
  // The dead marks and the scorer's accumulator take 9 bytes a document.
  const of = ({ segment }: SegmentView) => bytesOf(segment) + 9 * sizeOf(segment.ids)
  return frozen.reduce((sum, part) => sum + of(part), LIVE_TERM_BYTES * live.size + 1_000 * live.documents.size)
}
