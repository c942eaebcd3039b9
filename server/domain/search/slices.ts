/** Time slices in which the search thread reads rows. Other work has its turns in between. */

/** Milliseconds of reading rows in one transaction. */
export const sliceMs = 8

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
