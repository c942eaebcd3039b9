/** Limits concurrent gits, waiting requests and the memory they hold, with a share per caller. */

import { availableParallelism } from 'node:os'
import { Refusal } from '../../base/errors.ts'
import { type Caller, newRation } from '../connection/rations.ts'

/** Gits of this process. They are niced, so that REST goes before them. */
const running = Math.max(4, 2 * availableParallelism())
/** Requests that are read and wait for a git. */
const waiting = 256
/** Bytes held by unanswered requests, without the packs of pushes. */
const heldBytes = 32 * 2 ** 20
const waitTimeoutMs = 300_000

/** Lists of refs take a moment, so they never wait for packs; they have as many slots of their own. */
const slots = { list: newRation(running), pack: newRation(running) } as const
const queueRation = newRation(waiting)
const bytes = newRation(heldBytes)

/** What a git is for: a list of refs and capabilities, or a pack. */
export type GitWork = keyof typeof slots

interface Waiter {
  readonly caller: Caller
  readonly work: GitWork
  admit(): void
}

const queue = new Set<Waiter>()

export function waitingForGit(): number {
  return queue.size
}

/**
 * Waits for a slot; returns the function that releases it.
 *
 * @throws Refusal busy: too many wait, or it took five minutes; the reason of `signal`
 */
export async function takeSlot(work: GitWork, caller: Caller, signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted()
  const ration = slots[work]
  if (ration.fits(caller)) ration.take(caller)
  else await turn(work, caller, signal)
  return once(() => {
    ration.give(caller)
    for (const waiter of queue) {
      if (waiter.work !== work || !ration.fits(waiter.caller)) continue
      ration.take(waiter.caller)
      waiter.admit()
    }
  })
}

/** Counts the bytes that a request holds, until `release`. */
export function newHold(caller: Caller): { readonly hold: (amount: number) => void; readonly release: () => void } {
  let held = 0
  return {
    hold: (amount) => {
      if (!bytes.fits(caller, amount)) throw tooManyGits()
      bytes.take(caller, amount)
      held += amount
    },
    release: once(() => bytes.give(caller, held)),
  }
}

function turn(work: GitWork, caller: Caller, signal: AbortSignal): Promise<void> {
  if (!queueRation.fits(caller)) throw tooManyGits()
  queueRation.take(caller)
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      if (!queue.delete(waiter)) return
      queueRation.give(caller)
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      outcome()
    }
    const leave = () => settle(() => reject(signal.reason))
    const timer = setTimeout(() => settle(() => reject(tooManyGits())), waitTimeoutMs)
    const waiter: Waiter = { caller, work, admit: () => settle(resolve) }
    signal.addEventListener('abort', leave, { once: true })
    queue.add(waiter)
  })
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}

function tooManyGits(): Refusal {
  return new Refusal('busy', 'Too many clones and pushes at this moment; try again')
}
