/** The documents that may have the best scores: the postings of all terms, added up. */

import type { Corpus, DocumentPlace, Frozen } from '../segments/corpus.ts'
import { liveLength } from '../segments/live-index.ts'
import { MANY } from '../segments/segment.ts'
import { sizeOf } from '../segments/string-table.ts'
import { FIELD } from '../segments/terms.ts'
import { B, K } from './bm25.ts'
import { heapOfBest } from './heap.ts'

/** The documents that are admitted. */
export interface Admission {
  /** By segment and document: 1 for those that are admitted. */
  readonly masks: readonly Uint8Array[]
  /** Live ones, by MiniSearch's number. */
  readonly live: ReadonlySet<number>
}

/** A field that is searched, and its weight. */
export interface SearchedField {
  readonly field: number
  readonly boost: number
}

/** `title`: a question of stop words alone, which only titles keep. */
export type SearchedIn = 'all' | 'title'

const inTitle: SearchedField = { field: FIELD.title, boost: 0.3 }

export const SEARCHED: Readonly<Record<SearchedIn, readonly SearchedField[]>> = {
  all: [{ field: FIELD.all, boost: 1 }, inTitle],
  title: [inTitle],
}

/** The postings of one term in one field. */
export interface List {
  /** The number of the term in the question. */
  readonly term: number
  readonly weight: number
  readonly idf: number
  readonly searched: SearchedField
  readonly average: number
  /** By segment: the rank of the term, negative where it lacks the term. */
  readonly ranks: readonly number[]
  readonly live: ReadonlyMap<number, number> | undefined
}

/** What rounds to equal scores of 6 digits differs by less than this share, with what sums in another order differ by. */
const SAME = 1 - 1.1e-5

/**
 * All documents that may be among the best: sums in any order find them, and each is scored exactly then. Every posting is
 * looked at: bounds that leave out some (MaxScore, WAND) skip next to nothing for questions of 8 to 12 words.
 */
export function candidates(
  corpus: Corpus,
  lists: readonly List[],
  limit: number,
  admission: Admission | undefined,
): DocumentPlace[] {
  const best = heapOfBest(limit)
  const found: (DocumentPlace & { readonly score: number })[] = []
  for (const [shortId, score] of sumLive(corpus, lists)) {
    if (admission?.live.has(shortId) === false) continue
    best.add(score)
    found.push({ i: -1, number: shortId, score })
  }
  for (const [i, part] of corpus.frozen.entries()) {
    const { sums, touched, count } = sumFrozen(part, lists, i, admission?.masks[i])
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
  return found.filter(({ score }) => score >= bar)
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

/** Room for the sums of one segment, and for the documents that have one; all zero between two uses. */
let roomForSums = new Float64Array(0)
let roomForTouched = new Uint32Array(0)

function sumFrozen({ segment, dead }: Frozen, lists: readonly List[], i: number, mask: Uint8Array | undefined) {
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
