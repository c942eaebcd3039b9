/** Turns of the event loop that others get while something works: that it yields is seen without a clock. */

export async function countTurns<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  try {
    const result = await work()
    return { result, turns }
  } finally {
    clearImmediate(next)
  }
}
