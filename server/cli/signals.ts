/** Interrupts a command on a signal. It stops, ends its Git processes, and removes partial results. */
import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Milliseconds for the command to clean up. */
const cleaningTimeoutMs = 5_000

/** The reason why a command ended before its work was done. */
export class InterruptedError extends Error {
  /** 128 plus the signal's number, as shells report it. */
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal} before the work was done`)
    this.name = 'InterruptedError'
    this.exitCode = 128 + constants.signals[signal]
  }
}

export interface Interruption {
  /** Aborted with an InterruptedError by the first termination signal. */
  readonly signal: AbortSignal
  /** Restores the system's default handling of the signals. */
  end(): void
}

/** Handles signals. A second signal or a slow clean-up ends the process and its Git processes at once. */
export function createInterruption(): Interruption {
  const ending = new AbortController()
  const interrupt = (signal: NodeJS.Signals) => {
    const reason = new InterruptedError(signal)
    if (ending.signal.aborted) process.exit(reason.exitCode)
    setTimeout(() => process.exit(reason.exitCode), cleaningTimeoutMs).unref()
    ending.abort(reason)
  }
  for (const signal of signals) process.on(signal, interrupt)
  return {
    signal: ending.signal,
    end: () => {
      for (const signal of signals) process.off(signal, interrupt)
    },
  }
}
