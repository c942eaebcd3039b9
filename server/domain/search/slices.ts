/** Time slices in which the search thread reads rows. Other work has its turns in between. */

import { setImmediate as nextTurn } from 'node:timers/promises'

/** Milliseconds of reading rows in one transaction. */
export const sliceMs = 8

/** Milliseconds for which a search waits for its index. Then it is answered from what is indexed. */
const longestWaitMs = 1_000

/** A question that may not wait until its index is built. */
export interface Patient {
  /** Milliseconds. Absent: it waits. */
  readonly patienceMs?: number
}

/** Returns a function that says how long a question may still wait, wherever it does. */
export function patience({
  searchWaitMs = longestWaitMs,
}: {
  readonly searchWaitMs?: number
}): () => Required<Patient> {
  const endsAt = performance.now() + searchWaitMs
  return () => ({ patienceMs: Math.max(0, endsAt - performance.now()) })
}

/** Returns a function that is false once the question has waited. */
export function patientFor({ patienceMs = Number.POSITIVE_INFINITY }: Patient): () => boolean {
  const endsAt = performance.now() + patienceMs
  return () => performance.now() < endsAt
}

/** A query waits for the rows, or they are read before one does. */
export type Occasion = 'query' | 'ahead'

/** The rows read so far. */
export type RowCounts = Readonly<Record<Occasion, number>>

/** Counts the rows of slices by their occasion. */
export function createSlices() {
  const counts = { query: 0, ahead: 0 }
  return {
    counts: (): RowCounts => ({ ...counts }),
    /** Begins a slice. Call the result after each row. It returns true when the slice is over. */
    begin: (occasion: Occasion): (() => boolean) => {
      const endsAt = performance.now() + sliceMs
      return () => {
        counts[occasion]++
        return performance.now() > endsAt
      }
    },
  }
}

export function addCounts(one: RowCounts, other: RowCounts): RowCounts {
  return { query: one.query + other.query, ahead: one.ahead + other.ahead }
}

/** Runs the work with turns of the event loop in between. Returns undefined once it is no longer wanted. */
export async function inSlices<T>(
  work: Generator<undefined, T, undefined>,
  isWanted: () => boolean = () => true,
): Promise<T | undefined> {
  let step = work.next()
  for (let since = performance.now(); !step.done; step = work.next()) {
    if (performance.now() - since < sliceMs) continue
    await nextTurn()
    if (!isWanted()) return undefined
    since = performance.now()
  }
  return step.value
}

/** Nodes that have changed since they were indexed, in an answer. Absent without any. */
export interface Unindexed {
  readonly unindexed_nodes?: number
}

export function said(unindexed: number): Unindexed {
  return unindexed > 0 ? { unindexed_nodes: unindexed } : {}
}
