/**
 * Limits how many turns run at once and how many wait. Picks the next turn.
 *
 * Callers of a process share a semaphore. A loop that bounds its own work, within one function, uses `p-limit`. A
 * caller that never waits needs only a quota (`quota.ts`), which also counts amounts such as bytes. Work that excludes
 * other work on the same keys, and must not pass earlier work, uses a `keyed-mutex.ts`. Each turn here takes one unit.
 * Turns of several units could wait forever behind small ones, and no caller needs them.
 */
import type { Quota } from './quota.ts'

export interface Turn {
  /** Absent if the work is wanted even if its caller leaves. */
  readonly signal?: AbortSignal | undefined
  /** Called with the milliseconds of waiting, if the turn had to wait. */
  readonly waited?: ((ms: number) => void) | undefined
}

/** Turns of different keys alternate. Within a key, turns of different groups alternate. */
interface Lane {
  readonly key: unknown
  readonly group?: unknown
}

export interface SemaphoreOptions<T extends Turn> {
  /** The limit of turns that run at once, in total or by shares. Only this semaphore may use the quota. */
  readonly running: number | Quota<T>
  /** Default: any number of turns waits, for any time. */
  readonly waiting?: WaitLimits<T>
  /**
   * Decides which turns alternate. Turns of one lane have the same shares. Default: all that fit run in the order of
   * arrival.
   */
  laneOf?(turn: T): Lane
}

interface WaitLimits<T> {
  /** The limit of turns that wait at once. Several semaphores may share it. Default: no limit. */
  readonly quota?: Quota<T>
  /** Default: no limit, for work that always ends soon. */
  readonly timeoutMs?: number
  /** The error for a turn that cannot wait, or has waited too long. */
  refusal(): Error
}

export interface Semaphore<T extends Turn> {
  /** Runs `work` when its turn comes. @throws the errors of acquire, and any error of `work` */
  run<R>(turn: T, work: () => Promise<R>): Promise<R>
  /**
   * Waits for the turn. The caller calls the returned function at the end of its work. Later calls of it do nothing.
   *
   * @throws the refusal, or the signal's reason
   */
  acquire(turn: T): Promise<() => void>
  /** The number of turns that wait now. */
  waiting(): number
}

interface Waiter<T> {
  readonly turn: T
  readonly lane: Lane
  admit(): void
}

export function createSemaphore<T extends Turn = Turn>(options: SemaphoreOptions<T>): Semaphore<T> {
  const { waiting: { quota: waiting, timeoutMs, refusal } = noWaitLimits } = options
  const running = typeof options.running === 'number' ? createTotal(options.running) : options.running
  const laneOf = options.laneOf ?? (typeof options.running === 'number' ? () => oneForAll : ownLane)
  const queue = createFairQueue<Waiter<T>>()

  const admitWaiting = () => {
    const fits = ({ turn }: Waiter<T>) => running.has(turn)
    for (let next = queue.take(fits); next; next = queue.take(fits)) {
      running.acquire(next.turn)
      next.admit()
    }
  }

  const wait = (turn: T): Promise<void> => {
    if (waiting?.has(turn) === false) throw refusal()
    const { signal, waited } = turn
    const since = waited && performance.now()
    return new Promise((resolve, reject) => {
      const end = () => {
        waiting?.release(turn)
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const leave = (reason: unknown) => {
        queue.remove(waiter)
        end()
        reject(reason)
      }
      const admit = () => {
        end()
        if (since !== undefined) waited?.(performance.now() - since)
        resolve()
      }
      const onAbort = () => leave(signal?.reason)
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => leave(refusal()), timeoutMs)
      const waiter: Waiter<T> = { turn, lane: laneOf(turn), admit }
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting?.acquire(turn)
      queue.add(waiter)
    })
  }

  const acquire = async (turn: T): Promise<() => void> => {
    turn.signal?.throwIfAborted()
    if (running.has(turn)) running.acquire(turn)
    else await wait(turn)
    return once(() => {
      running.release(turn)
      admitWaiting()
    })
  }
  return { run: (turn, work) => releasedAfter(acquire(turn), work), acquire, waiting: queue.size }
}

async function releasedAfter<R>(acquired: Promise<() => void>, work: () => Promise<R>): Promise<R> {
  const release = await acquired
  try {
    return await work()
  } finally {
    release()
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

const noWaitLimits: WaitLimits<Turn> = { refusal: () => new Error('Too many wait') }

const oneForAll: Lane = { key: 'all' }

/** Lanes are served in the order of arrival, so turns are also. */
const ownLane = (): Lane => ({ key: Symbol('own lane') })

function createTotal(most: number): Quota<unknown> {
  let held = 0
  return {
    has: () => held < most,
    acquire: () => {
      held++
    },
    release: () => {
      held--
    },
  }
}

/**
 * A queue whose items take turns by lane. Many items of one key wait behind each other, not before those of other keys.
 */
function createFairQueue<T extends { readonly lane: Lane }>() {
  // The keys of both maps, and the items of a set, are in the order of their turns.
  const lanes = new Map<unknown, Map<unknown, Set<T>>>()
  let size = 0

  const remove = (item: T): void => {
    const { key, group } = item.lane
    const groups = lanes.get(key)
    const items = groups?.get(group)
    if (!groups || !items?.delete(item)) return
    size--
    if (items.size === 0) groups.delete(group)
    if (groups.size === 0) lanes.delete(key)
  }
  return {
    size: () => size,
    add: (item: T): void => {
      const { key, group } = item.lane
      const groups = lanes.get(key) ?? new Map<unknown, Set<T>>()
      const items = groups.get(group) ?? new Set<T>()
      lanes.set(key, groups.set(group, items.add(item)))
      size++
    },
    remove,
    /** Removes and returns the next item that `fits`. The result of `fits` may depend only on the lane. */
    take: (fits: (item: T) => boolean): T | undefined => {
      for (const [key, groups] of lanes) {
        for (const [group, items] of groups) {
          const [item] = items
          if (item === undefined || !fits(item)) continue
          remove(item)
          // The next turn of this lane comes after those of all other lanes that wait now.
          if (groups.size > 1 && groups.delete(group)) groups.set(group, items)
          if (lanes.size > 1 && lanes.delete(key)) lanes.set(key, groups)
          return item
        }
      }
      return undefined
    },
  }
}
