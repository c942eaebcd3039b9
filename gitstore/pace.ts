/** Work over many entries: in pieces, between which others have their turn, and a few of the large ones at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from './errors.ts'

/** Entries between two turns of the event loop: about 5 ms of work. */
export const entriesPerTurn = 5_000

/** Entries after which work is large: it holds some 10 MB. */
const largeEntries = 20_000
/** Large readers at a time, and how many more may wait. */
const maxLargeReaders = 2
const maxWaiting = 32
/** Milliseconds that one of them waits. */
const slotTimeoutMs = 30_000

export interface Pace {
  /** Counts entries; true once it is time for `turn`. */
  isDue(entries: number): boolean
  /** Lets others have their turn. @throws GitError busy: too many large readers wait already, or this one for too long */
  turn(): Promise<void>
}

/** Any number of these may go on at a time: for work under a lock. */
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
 * Runs `work`, of which only a few go on at a time once they are large.
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

/** The place goes to who has waited longest, or is free. */
function releaseSlot(): void {
  const next = waiting.shift()
  if (next) next()
  else runningReaders--
}
