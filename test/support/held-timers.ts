/** Timers that wait for a test to turn their clock. */

import { promisify } from 'node:util'

export interface HeldTimers {
  /** Moves the clock, and runs what is due, the earliest first. */
  tick(ms: number): void
  /** Drops what is left. An owner can still refresh its timer, which is then the real clock's. */
  release(): void
}

interface Due {
  readonly at: number
  readonly run: () => void
  readonly drop: () => void
}

/**
 * Holds each `setTimeout` until it is released. Sleeps of `node:timers/promises` are real.
 *
 * `mock.timers` of Node.js has one queue for the whole process, and lets each owner remove a timer by its old position.
 * A service that slept under the mock and was closed after it left the queue one entry short. The next test, in another
 * file, then lost its first timer. Here each holder has its own timers, and an unknown one is the real clock's.
 */
export function holdTimers(): HeldTimers {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout }
  const held = new Map<NodeJS.Timeout, Due>()
  let isHolding = true
  let now = 0

  const set = (work: (...given: unknown[]) => void, ms = 1, ...given: unknown[]): NodeJS.Timeout => {
    let isOwed = true
    const drop = () => {
      isOwed = false
      timer.unref()
    }
    const run = () => {
      drop()
      work(...given)
    }
    // A real timer, so that its owner can clear or refresh it at any time, also after the test.
    const timer = real.setTimeout(() => {
      if (isOwed && !isHolding) run()
    }, ms)
    const refresh = timer.refresh.bind(timer)
    const hold = () => {
      isOwed = true
      if (isHolding) held.set(timer, { at: now + ms, run, drop })
    }
    timer.refresh = () => {
      hold()
      return refresh()
    }
    hold()
    return timer
  }
  const clear = (timer?: NodeJS.Timeout | string | number) => {
    if (typeof timer === 'object') held.delete(timer)
    real.clearTimeout(timer)
  }

  const next = (): [NodeJS.Timeout, Due] | undefined =>
    [...held].filter(([, { at }]) => at <= now).sort(([, one], [, other]) => one.at - other.at)[0]

  Object.assign(globalThis, {
    setTimeout: Object.assign(set, { [promisify.custom]: promisify(real.setTimeout) }),
    clearTimeout: clear,
  })
  return {
    tick: (ms) => {
      now += ms
      for (let one = next(); one; one = next()) {
        held.delete(one[0])
        one[1].run()
      }
    },
    release: () => {
      isHolding = false
      Object.assign(globalThis, real)
      for (const { drop } of held.values()) drop()
      held.clear()
    },
  }
}
