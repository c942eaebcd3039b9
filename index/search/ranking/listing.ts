/** What a question finds that demands something and has no words to rank by: `tag:port`, `-title:draft`. */

import { type Corpus, type DocumentPlace, idAt } from '../segments/corpus.ts'
import { shortIdOf } from '../segments/live-index.ts'
import type { Admission } from './candidates.ts'
import { heapOfBest } from './heap.ts'
import { admitsAt } from './scope.ts'
import type { ScoredHit } from './scores.ts'

/** Of each hit: nothing says that one fits better than another. */
const SCORE = 1

/** The nodes that changed last, in that order, equals by id. Linear in the number of documents. */
export function newestHits(corpus: Corpus, admission: Admission, limit: number): ScoredHit[] {
  const best = heapOfBest(limit)
  let count = 0
  for (const { time } of admitted(corpus, admission)) {
    best.add(time)
    count++
  }
  const bar = count < limit ? Number.NEGATIVE_INFINITY : best.least()
  const found: { id: string; time: number }[] = []
  for (const { place, time } of admitted(corpus, admission))
    if (time >= bar) found.push({ id: idAt(corpus, place), time })
  found.sort((a, b) => b.time - a.time || (a.id < b.id ? -1 : 1))
  return found.slice(0, limit).map(({ id }) => ({ id, score: SCORE, terms: [] }))
}

function* admitted(corpus: Corpus, admission: Admission): Generator<{ place: DocumentPlace; time: number }> {
  for (const { id, time } of corpus.live.documents.values()) {
    const place = { i: -1, number: shortIdOf(corpus.live, id) }
    if (admitsAt(admission, place)) yield { place, time }
  }
  for (const [i, { segment, dead }] of corpus.frozen.entries())
    for (const [number, time] of segment.times.entries())
      if (dead[number] === 0 && admitsAt(admission, { i, number })) yield { place: { i, number }, time }
}
