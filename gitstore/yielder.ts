/** Splits work over many entries into pieces with turns of the event loop in between. */

import { setImmediate as nextTurn } from 'node:timers/promises'

/** Entries between two turns of the event loop: about 5 ms of work. */
export const entriesPerTurn = 5_000

/** Entries from which on a reader is large: it holds some 10 MB. */
const largeEntries = 20_000

export interface Yielder {
  /** Counts entries; true once it is time for `turn`. */
  shouldYield(entries: number): boolean
  /** Yields the event loop. @throws what `acquire` of a paced reader throws */
  yieldToEventLoop(): Promise<void>
}

/** Without a limit on readers: for changes, and for work under a lock. */
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
 * Runs `work`. Once it is large, it calls `acquire`, continues when that resolves, and calls the returned function at its end.
 *
 * @throws what `work` and `acquire` throw
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
