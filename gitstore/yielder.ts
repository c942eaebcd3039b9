/** Splits work over many entries into pieces with turns of the event loop in between. */

import { setImmediate as nextTurn } from 'node:timers/promises'

/** Entries between two turns of the event loop: about 5 ms of work. */
export const entriesPerTurn = 5_000

/** The number of entries above which a reader is large. It then holds some 10 MB. */
const largeEntries = 20_000

export interface Yielder {
  /** Counts entries. True when it is time to yield. */
  shouldYield(entries: number): boolean
  /** Yields the event loop. @throws any error of `acquire`, if the reader has one */
  yieldToEventLoop(): Promise<void>
}

/** Has no limit on readers: for changes, and for work under a lock. */
export function createYielder(): Yielder {
  let sinceTurn = 0
  return {
    shouldYield: (entries) => {
      sinceTurn += entries
      return sinceTurn >= entriesPerTurn
    },
    yieldToEventLoop: () => {
      sinceTurn = 0
      return nextTurn()
    },
  }
}

/**
 * Runs `work`. Once the work is large, waits for `acquire`, and calls the function that it returns at the end.
 *
 * @throws any error of `work` and `acquire`
 */
export async function runLarge<T>(work: (pace: Yielder) => Promise<T>, acquire: () => Promise<() => void>): Promise<T> {
  const pace = createYielder()
  let seen = 0
  let release: (() => void) | undefined
  try {
    return await work({
      shouldYield: (entries) => {
        seen += entries
        return pace.shouldYield(entries)
      },
      yieldToEventLoop: async () => {
        if (seen >= largeEntries) release ??= await acquire()
        await pace.yieldToEventLoop()
      },
    })
  } finally {
    release?.()
  }
}
