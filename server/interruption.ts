/** A command that is asked to end: it stops, its gits are ended, and what it has half made is removed. */
import { constants } from 'node:os'

/** Milliseconds that the command gets to clean up. */
const cleaningTimeoutMs = 5_000

/** Why a command ended before its work was done. */
export class Interrupted extends Error {
  /** 128 and the signal's number, as a shell tells it. */
  readonly exitCode: number

  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`ended by ${signal} before the work was done`)
    this.name = 'Interrupted'
    this.exitCode = 128 + constants.signals[signal]
  }
}

/**
 * Aborted, with an Interrupted, by the first signal that asks this process to end. A second signal, or cleaning up for too
 * long, ends it as it is; its gits end with it.
 */
export function untilInterrupted(): AbortSignal {
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const reason = new Interrupted(signal)
      if (ending.signal.aborted) process.exit(reason.exitCode)
      setTimeout(() => process.exit(reason.exitCode), cleaningTimeoutMs).unref()
      ending.abort(reason)
    })
  }
  return ending.signal
}
