/** When an endpoint that failed is asked again. */

import type { Use } from './allowance.ts'

/** Milliseconds: the first wait, the longest, and the longest for which an endpoint may ask. */
const [firstMs, longestMs] = [1_000, 600_000]
export const longestAskedMs = 3_600_000

/** Milliseconds after a refusal that only the operator can mend. */
const refusedMs = 600_000

/** A wait is up to a fifth shorter or longer. Processes that failed together then spread. */
const spread = 0.2

export interface Failure {
  /** `refused`: the key, the model or the URL is wrong. `away`: the endpoint failed, or asks to wait. */
  readonly kind: 'refused' | 'away'
  /** Milliseconds for which the endpoint asks to wait; 0: it did not say. */
  readonly retryAfterMs: number
}

/** A time in the future, and how far away it was. */
interface Pause {
  readonly untilMs: number
  readonly waitMs: number
}

export class EndpointPauses {
  /** For questions also: the endpoint asked for it, or refuses everything. */
  #ofAll: Pause = { untilMs: 0, waitMs: 0 }
  #ofTexts: Pause = { untilMs: 0, waitMs: 0 }
  #failures = 0
  readonly #random: () => number

  /** @param random from 0 to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Failures of texts since the last success. Failures during a pause count as one. */
  get failures(): number {
    return this.#failures
  }

  remainingMs(use: Use, nowMs: number): number {
    return Math.max(remaining(this.#ofAll, nowMs), use === 'texts' ? remaining(this.#ofTexts, nowMs) : 0)
  }

  /** Returns the milliseconds to wait. A question that fails does not delay texts. */
  fail({ kind, retryAfterMs }: Failure, use: Use, nowMs: number): number {
    if (kind === 'refused') this.#ofAll = pause(refusedMs, nowMs)
    else if (retryAfterMs > 0) this.#ofAll = pause(Math.min(retryAfterMs, longestAskedMs), nowMs)
    if (use === 'texts' && remaining(this.#ofTexts, nowMs) === 0) {
      const wait = Math.min(firstMs * 2 ** this.#failures, longestMs)
      this.#failures += 1
      this.#ofTexts = pause(Math.round(wait * (1 + spread * (2 * this.#random() - 1))), nowMs)
    }
    return this.remainingMs(use, nowMs)
  }

  succeed(use: Use): void {
    if (use === 'question') return
    this.#failures = 0
    this.#ofTexts = pause(0, 0)
  }
}

function pause(waitMs: number, nowMs: number): Pause {
  return { untilMs: nowMs + waitMs, waitMs }
}

/** After the clock was set back, a pause is over. */
function remaining({ untilMs, waitMs }: Pause, nowMs: number): number {
  const left = untilMs - nowMs
  return left > waitMs ? 0 : Math.max(left, 0)
}
