/** Limits concurrent gits, waiting requests and the memory they hold, with a share per caller. */

import { availableParallelism } from 'node:os'
import { Refusal } from '../errors.ts'

/** Gits of this process. They are niced, so that REST goes before them. */
const running = Math.max(4, 2 * availableParallelism())
/** Requests that are read and wait for a git. */
const waiting = 256
/** Bytes held by unanswered requests, without the packs of pushes. */
const heldBytes = 32 * 2 ** 20
const waitTimeoutMs = 300_000

export interface Caller {
  /** A person, or the address of an anonymous caller. */
  readonly key: string
  readonly isAnonymous: boolean
  /** Whether they read what is public: all of these together leave half to members. */
  readonly isPublic: boolean
  readonly repository: string
}

interface Ration {
  fits(caller: Caller, amount?: number): boolean
  take(caller: Caller, amount?: number): void
  give(caller: Caller, amount?: number): void
}

/** Shares of `total`: a person and the public at most half, an anonymous address a quarter, a repository all but one. */
function newRation(total: number): Ration {
  const taken = new Map<string, number>()
  const part = (by: number) => Math.max(1, Math.floor(total / by))
  const sharesOf = ({ key, isAnonymous, isPublic, repository }: Caller): [string, number][] => [
    ['all', total],
    [`caller ${key}`, part(isAnonymous ? 4 : 2)],
    [`repository ${repository}`, total - 1],
    ...(isPublic ? ([['public', part(2)]] as [string, number][]) : []),
  ]
  const add = (caller: Caller, amount: number) => {
    for (const [name] of sharesOf(caller)) {
      const now = (taken.get(name) ?? 0) + amount
      if (now > 0) taken.set(name, now)
      else taken.delete(name)
    }
  }
  return {
    fits: (caller, amount = 1) => sharesOf(caller).every(([name, most]) => (taken.get(name) ?? 0) + amount <= most),
    take: (caller, amount = 1) => add(caller, amount),
    give: (caller, amount = 1) => add(caller, -amount),
  }
}

const slots = newRation(running)
const queueRation = newRation(waiting)
const bytes = newRation(heldBytes)

interface Waiter {
  readonly caller: Caller
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
export async function takeSlot(caller: Caller, signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted()
  if (slots.fits(caller)) slots.take(caller)
  else await turn(caller, signal)
  return once(() => {
    slots.give(caller)
    for (const waiter of queue) {
      if (!slots.fits(waiter.caller)) continue
      slots.take(waiter.caller)
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

function turn(caller: Caller, signal: AbortSignal): Promise<void> {
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
    const waiter: Waiter = { caller, admit: () => settle(resolve) }
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
