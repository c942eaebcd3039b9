/** Slots for expensive work: limits how much runs at once, how many requests wait, and for how long; callers take turns. */
import { Refusal } from '../base/errors.ts'
import type { Caller } from './actor.ts'
import { newFairQueue } from './fair-queue.ts'

/** What runs, and what waits beside that. */
interface Share {
  readonly running: number
  readonly waiting: number
}

export interface SlotLimits {
  readonly all: Share
  /** Each person. */
  readonly person: Share
  /** Each address of anonymous callers. Default: as a person. */
  readonly address?: Share
  /** All anonymous callers together. Default: no share of their own. */
  readonly anonymous?: Share
  /** Of one organisation, if callers name it. Default: no limit. */
  readonly runningInOrg?: number
  readonly waitTimeoutMs: number
  /** The message of a refusal. */
  readonly refusal: string
}

interface Turn {
  readonly caller: Caller
  /** The organisation that the work is for: a caller's work takes turns by it. */
  readonly orgId?: string
  /** Absent: the work is wanted whether or not its caller stays. */
  readonly signal?: AbortSignal
}

interface Waiter {
  readonly caller: string
  readonly group: string
  readonly turn: Turn
  admit(): void
}

/** Runs work once a slot is free. */
export type InSlot = <T>(turn: Turn, work: () => Promise<T>) => Promise<T>

/** Takes a slot once one is free. The caller then calls the returned function, once, to leave the slot. */
export type Gate = (turn: Turn) => Promise<() => void>

/** The returned function @throws Refusal busy; the signal's reason */
export function openSlots(limits: SlotLimits): InSlot {
  const enter = newGate(limits)
  return async (turn, work) => {
    const leave = await enter(turn)
    try {
      return await work()
    } finally {
      leave()
    }
  }
}

/** For work that needs its slot from a later point on. The returned function @throws as that of openSlots */
export function newGate(limits: SlotLimits): Gate {
  const running = newTally(limits, 'running')
  const waiting = newTally(limits, 'waiting')
  const queue = newFairQueue<Waiter>()

  const admitWaiting = () => {
    const fits = ({ turn }: Waiter) => running.fits(turn)
    for (let next = queue.take(fits); next; next = queue.take(fits)) {
      waiting.add(next.turn, -1)
      running.add(next.turn, 1)
      next.admit()
    }
  }
  const waitForSlot = (turn: Turn): Promise<void> => {
    const { caller, orgId = '', signal } = turn
    if (!waiting.fits(turn)) throw new Refusal('busy', limits.refusal)
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        if (!queue.remove(waiter)) return
        waiting.add(turn, -1)
        done()
        reject(reason)
      }
      const onAbort = () => leave(signal?.reason)
      const timer = setTimeout(() => leave(new Refusal('busy', limits.refusal)), limits.waitTimeoutMs)
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const admit = () => {
        done()
        resolve()
      }
      const waiter: Waiter = { caller: caller.key, group: orgId, turn, admit }
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting.add(turn, 1)
      queue.add(waiter)
    })
  }

  return async (turn) => {
    turn.signal?.throwIfAborted()
    if (running.fits(turn)) running.add(turn, 1)
    else await waitForSlot(turn)
    return () => {
      running.add(turn, -1)
      admitWaiting()
    }
  }
}

/** Counts by all shares that a turn belongs to. */
function newTally(limits: SlotLimits, kind: keyof Share) {
  const counts = new Map<string, number>()
  const { all, person, address = person, anonymous = all, runningInOrg = Number.POSITIVE_INFINITY } = limits
  const sharesOf = ({ caller: { key, isAnonymous }, orgId }: Turn): (readonly [string, number])[] => [
    ['all', all[kind]],
    [`caller ${key}`, (isAnonymous ? address : person)[kind]],
    ...(isAnonymous ? [['anonymous', anonymous[kind]] as const] : []),
    ...(orgId !== undefined && kind === 'running' ? [[`org ${orgId}`, runningInOrg] as const] : []),
  ]
  return {
    fits: (turn: Turn) => sharesOf(turn).every(([name, most]) => (counts.get(name) ?? 0) < most),
    add: (turn: Turn, by: 1 | -1) => {
      for (const [name] of sharesOf(turn)) {
        const now = (counts.get(name) ?? 0) + by
        if (now > 0) counts.set(name, now)
        else counts.delete(name)
      }
    },
  }
}
