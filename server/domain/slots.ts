/** Slots for expensive work: limits how much runs at once, how many requests wait, and for how long. */
import { Refusal } from '../errors.ts'

export interface SlotLimits {
  readonly running: number
  /** Per key, such as a person. */
  readonly runningForOne: number
  readonly waiting: number
  readonly waitingForOne: number
  readonly waitTimeoutMs: number
  /** The message of a refusal. */
  readonly refusal: string
}

interface Waiter {
  readonly key: string
  admit(): void
}

/** Runs work once a slot is free. */
export type InSlot = <T>(key: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

/** The returned function @throws Refusal busy; the signal's reason */
export function openSlots(limits: SlotLimits): InSlot {
  const counts = new Map<string, number>()
  const queue = new Set<Waiter>()
  let total = 0

  const isFree = (key: string) => total < limits.running && (counts.get(key) ?? 0) < limits.runningForOne
  const take = (key: string) => {
    total++
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const giveBack = (key: string) => {
    total--
    const left = (counts.get(key) ?? 1) - 1
    if (left > 0) counts.set(key, left)
    else counts.delete(key)
    for (const waiter of queue) {
      if (!isFree(waiter.key)) continue
      queue.delete(waiter)
      take(waiter.key)
      waiter.admit()
    }
  }
  const turn = (key: string, signal: AbortSignal): Promise<void> => {
    const mine = [...queue].filter((waiter) => waiter.key === key).length
    if (queue.size >= limits.waiting || mine >= limits.waitingForOne) throw new Refusal('busy', limits.refusal)
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        if (!queue.delete(waiter)) return
        done()
        reject(reason)
      }
      const onAbort = () => leave(signal.reason)
      const timer = setTimeout(() => leave(new Refusal('busy', limits.refusal)), limits.waitTimeoutMs)
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter = {
        key,
        admit: () => {
          done()
          resolve()
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      queue.add(waiter)
    })
  }

  return async (key, signal, work) => {
    signal.throwIfAborted()
    if (isFree(key)) take(key)
    else await turn(key, signal)
    try {
      return await work()
    } finally {
      giveBack(key)
    }
  }
}
