/** Splits work over many entries into pieces with turns of the event loop in between, and limits how many large readers run. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from './errors.ts'

/** Entries between two turns of the event loop: about 5 ms of work. */
export const entriesPerTurn = 5_000

/** Entries from which on a reader is large: it holds some 10 MB. */
const largeEntries = 20_000
/** Large readers that run at a time, and how many more may wait. */
const maxLargeReaders = 2
const maxWaiting = 32
/** The longest wait for a slot. */
const slotTimeoutMs = 30_000

export interface Pace {
  /** Counts entries; true once it is time for `turn`. */
  isDue(entries: number): boolean
  /** Yields the event loop. @throws GitError busy: too many large readers wait, or this one has waited too long */
  turn(): Promise<void>
}

/** Without a limit on readers, for work under a lock. */
export function newPace(): Pace {
  let sinceTurn = 0
  return {
    isDue: (entries) => {
      sinceTurn += entries
      return sinceTurn >= entriesPerTurn
    },
    turn: () => {
      sinceTurn = 0
      return nextTurn()
    },
  }
}

let runningReaders = 0
const waiting: (() => void)[] = []

/**
 * Runs `work`. Once it is large, only a few of its kind run at a time.
 *
 * @throws GitError busy (facts.readers: true)
 */
export async function paced<T>(work: (pace: Pace) => Promise<T>): Promise<T> {
  const pace = newPace()
  let seen = 0
  let isLarge = false
  try {
    return await work({
      isDue: (entries) => {
        seen += entries
        return pace.isDue(entries)
      },
      turn: async () => {
        if (!isLarge && seen >= largeEntries) {
          await claimSlot()
          isLarge = true
        }
        await pace.turn()
      },
    })
  } finally {
    if (isLarge) releaseSlot()
  }
}

async function claimSlot(): Promise<void> {
  if (runningReaders < maxLargeReaders) {
    runningReaders++
    return
  }
  const busy = () => new GitError('busy', 'Too many large trees are read at once', { readers: true })
  if (waiting.length >= maxWaiting) throw busy()
  await new Promise<void>((resolve, reject) => {
    const go = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(go), 1)
      reject(busy())
    }, slotTimeoutMs)
    waiting.push(go)
  })
}

/** Gives the slot to the reader that has waited longest, if one waits. */
function releaseSlot(): void {
  const next = waiting.shift()
  if (next) next()
  else runningReaders--
}
