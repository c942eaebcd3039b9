/** Logs why an endpoint fails, once for each reason. */

import type { Services } from '../services.ts'

/** Milliseconds until a reason that came back after a success is logged again. */
const quietMs = 600_000

export interface Fault {
  /** The same for each kind of failure, such as a status. */
  readonly key: string
  /** A sentence without texts of users. */
  readonly reason: string
  /** The words of the endpoint, without texts of users. */
  readonly provider?: string | undefined
  /** Milliseconds until the next request. */
  readonly waitMs: number
}

export class FaultLog {
  readonly #deps: Pick<Services, 'log' | 'now'>
  readonly #message: string
  /** When each reason was logged, and whether a request has succeeded since. */
  readonly #logged = new Map<string, { readonly atMs: number; isOver: boolean }>()

  /** @param message of each line */
  constructor(
    deps: Pick<Services, 'log' | 'now'>,
    message = 'texts could not be embedded; searches use words only, and texts wait',
  ) {
    this.#deps = deps
    this.#message = message
  }

  report(level: 'warn' | 'error', { key, reason, provider, waitMs }: Fault): void {
    const atMs = this.#deps.now().getTime()
    const before = this.#logged.get(key)
    if (before !== undefined && !(before.isOver && atMs - before.atMs >= quietMs)) {
      before.isOver = false
      return
    }
    this.#logged.set(key, { atMs, isOver: false })
    const facts = { reason, ...(provider !== undefined && { provider }), seconds: Math.ceil(waitMs / 1_000) }
    this.#deps.log[level](facts, this.#message)
  }

  succeed(): void {
    for (const fault of this.#logged.values()) fault.isOver = true
  }
}
