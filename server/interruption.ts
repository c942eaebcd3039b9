/** Interrupts a command on a signal: it stops, its gits are ended, and partial results are removed. */
import { constants } from 'node:os'

/** Milliseconds for the command to clean up. */
const cleaningTimeoutMs = 5_000

/** Why a command ended before its work was done. */
export class Interrupted extends Error {
  /** 128 plus the signal's number, as shells report it. */
  readonly exitCode: number

  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`ended by ${signal} before the work was done`)
    this.name = 'Interrupted'
    this.exitCode = 128 + constants.signals[signal]
  }
}

/**
 * Aborted with an Interrupted by the first termination signal. A second signal, or a clean-up that takes too long, ends the
 * process and its gits at once.
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
