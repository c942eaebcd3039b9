/** How much may be sent to an endpoint: requests a minute, and tokens a day. */

import { UnsentError } from './unsent-error.ts'

export type Use = 'texts' | 'question'

const [minuteMs, dayMs] = [60_000, 24 * 3_600_000]

/** The part of the rate that texts may take. The rest is for questions, for which users wait. */
const shareOfTexts = 0.8

/** Counts the requests of the last minute. */
class RequestRate {
  /** The times of the last requests, as a ring. */
  readonly #times: Float64Array
  /** The oldest time in the ring. */
  #oldest = 0

  constructor(most: number) {
    this.#times = new Float64Array(most).fill(Number.NEGATIVE_INFINITY)
  }

  /** Milliseconds until the next request. After the clock was set back, 0. */
  waitMs(nowMs: number): number {
    const wait = (this.#times[this.#oldest] ?? 0) + minuteMs - nowMs
    return wait > minuteMs ? 0 : Math.max(wait, 0)
  }

  take(nowMs: number): void {
    this.#times[this.#oldest] = nowMs
    this.#oldest = (this.#oldest + 1) % this.#times.length
  }
}

/** Tokens that a request takes from the budget of a day. */
export interface Reservation {
  readonly day: number
  readonly tokens: number
}

interface Limits {
  /** Requests a minute. */
  readonly rate: number
  /** Tokens a day. Absent: no limit. */
  readonly budget?: number
}

export class Allowance {
  readonly #all: RequestRate
  readonly #ofTexts: RequestRate
  readonly #budget: number
  #day = 0
  #spent = 0

  constructor({ rate, budget = Number.POSITIVE_INFINITY }: Limits) {
    this.#all = new RequestRate(rate)
    this.#ofTexts = new RequestRate(Math.max(1, Math.floor(rate * shareOfTexts)))
    this.#budget = budget
  }

  /**
   * Takes a request with an estimate of its tokens. The rate counts only the first of two attempts.
   *
   * @throws UnsentError
   */
  take(use: Use, tokens: number, { now, isSecond }: { readonly now: Date; readonly isSecond: boolean }): Reservation {
    const nowMs = now.getTime()
    const wait = isSecond ? 0 : Math.max(this.#all.waitMs(nowMs), use === 'texts' ? this.#ofTexts.waitMs(nowMs) : 0)
    if (wait > 0) throw new UnsentError('The requests of this minute are used up. They continue in the next one.', wait)
    const day = Math.floor(nowMs / dayMs)
    if (day !== this.#day) [this.#day, this.#spent] = [day, 0]
    if (this.#spent + tokens > this.#budget) throw new BudgetError((day + 1) * dayMs - nowMs)
    this.#all.take(nowMs)
    if (use === 'texts') this.#ofTexts.take(nowMs)
    this.#spent += tokens
    return { day, tokens }
  }

  /** Replaces the estimate by what was used. */
  settle({ day, tokens }: Reservation, used: number): void {
    if (day === this.#day) this.#spent = Math.max(0, this.#spent + used - tokens)
  }
}

/** The tokens of the day are used up. */
export class BudgetError extends UnsentError {
  constructor(untilMidnightMs: number) {
    super('The tokens of this day (EMBEDDINGS_BUDGET) are used up. They return at midnight UTC.', untilMidnightMs)
  }
}
