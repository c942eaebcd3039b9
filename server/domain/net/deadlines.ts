/** The time limits of one fetch. The reason of their signal says which limit ended it. */

import { FetchError } from './fetch-error.ts'

export interface TimeLimits {
  /** Milliseconds for everything: the host name, the connection, the request and the answer. */
  readonly totalMs: number
  /** Milliseconds until the connection is ready. The default is 5,000. */
  readonly connectMs?: number
  /** The caller gives up with it. */
  readonly signal?: AbortSignal
}

type Phase = 'resolving' | 'connecting' | 'exchanging'

export interface Deadlines {
  /** Aborted with a `FetchError`. */
  readonly signal: AbortSignal
  enter(phase: Phase): void
  /** Ends the timers. Must be called. */
  end(): void
}

const defaultConnectMs = 5_000

/** Starts the timers. The first phase is `resolving`. `host` is for messages. */
export function startDeadlines(host: string, { totalMs, connectMs = defaultConnectMs, signal }: TimeLimits): Deadlines {
  const controller = new AbortController()
  let phase: Phase = 'resolving'
  const connectTimer = setTimeout(() => {
    if (phase === 'resolving') controller.abort(unresolved(host, connectMs))
    else controller.abort(new FetchError('connect_timeout', `${host} ${slow('be connected to', connectMs)}`))
  }, connectMs)
  const totalTimer = setTimeout(() => {
    if (phase === 'resolving') controller.abort(unresolved(host, totalMs))
    else controller.abort(new FetchError('timeout', `${host} did not complete its answer within ${seconds(totalMs)}.`))
  }, totalMs)
  const giveUp = () => controller.abort(new FetchError('aborted', `The request to ${host} was cancelled.`))
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  return {
    signal: controller.signal,
    enter: (next) => {
      phase = next
      if (next === 'exchanging') clearTimeout(connectTimer)
    },
    end: () => {
      clearTimeout(connectTimer)
      clearTimeout(totalTimer)
      signal?.removeEventListener('abort', giveUp)
    },
  }
}

function unresolved(host: string, ms: number): FetchError {
  return new FetchError('dns', `The name ${host} ${slow('be resolved', ms)} Its name server may be down.`)
}

function slow(verb: string, ms: number): string {
  return `could not ${verb} within ${seconds(ms)}.`
}

function seconds(ms: number): string {
  return ms === 1_000 ? '1 second' : `${ms / 1_000} seconds`
}

/**
 * Settles as the promise does, or rejects with the reason of the signal. If the signal is first, the result of the
 * promise is ignored, also a failure.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    promise.then(resolve, reject)
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
}
