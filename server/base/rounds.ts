/** The background work of a process, so that a caller can wait for its end. */

export interface Round {
  /** Names the work if it does not end. */
  readonly name: string
  /** Does now what is due, without waiting for a pause. Returns true if nothing was due, and nothing runs. */
  settle(): boolean | Promise<boolean>
}

/** Background work of this process. A test asks each of them until all are idle. */
export type Rounds = Set<Round>

/** Counts work for which no loop waits as running until it ends. Returns it. */
export function addRunning<T>(rounds: Rounds, name: string, work: Promise<T>): Promise<T> {
  const round = { name, settle: () => false }
  const end = () => rounds.delete(round)
  rounds.add(round)
  work.then(end, end)
  return work
}

/** Work that is done again and again. */
export interface Loop {
  /** Names the work if it does not end. */
  readonly name: string
  /** Milliseconds between two rounds. A function gets the milliseconds that the last one took. */
  readonly everyMs: number | ((tookMs: number) => number)
  /** The least milliseconds after a round that failed. */
  readonly failedMs?: number
  /** Does what is due. Returns true if nothing was, and nothing runs. */
  work(pauses: Pauses): Promise<boolean>
  /** Reports a failure, once for rounds in a row that fail with the same message. */
  failed(error: unknown): void
}

/** Works in rounds until the service drains. The round that runs then ends first, and no timer is left. */
export function untilDraining(
  { rounds, draining }: { readonly rounds: Rounds; readonly draining: AbortSignal },
  { name, everyMs, failedMs = 0, work, failed }: Loop,
): Promise<void> {
  const pauses = new Pauses(name, draining)
  return pauses.during(rounds, async () => {
    let failure: string | undefined
    while (!draining.aborted) {
      const began = performance.now()
      let [isIdle, leastMs] = [false, 0]
      try {
        isIdle = await work(pauses)
        failure = undefined
      } catch (error) {
        leastMs = failedMs
        const message = String(error)
        if (message !== failure && !draining.aborted) failed(error)
        failure = message
      }
      const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(performance.now() - began)
      await pauses.rest(Math.max(leastMs, pauseMs), isIdle)
    }
  })
}

/** The pauses of a loop that works in rounds. A caller can end a pause, and learn what the next round found. */
export class Pauses implements Round {
  readonly name: string
  readonly #signal: AbortSignal
  /** Callers who wait for the running round, and for the next one. */
  #ofThis: ((isIdle: boolean) => void)[] = []
  #ofNext: ((isIdle: boolean) => void)[] = []
  #isWoken = false
  #end = () => {}

  constructor(name: string, signal: AbortSignal) {
    this.name = name
    this.#signal = signal
  }

  /** True if a caller waits for the running round. Work that is due at the service's clock then needs no timer. */
  get isAwaited(): boolean {
    return this.#ofThis.length > 0
  }

  /** Waits after a round, until the signal or `wake` at most. @param isIdle the round found nothing, and nothing runs */
  async rest(ms: number, isIdle: boolean): Promise<void> {
    for (const resolve of this.#ofThis.splice(0)) resolve(isIdle)
    if (this.#ofNext.length === 0 && !this.#isWoken && !this.#signal.aborted)
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer)
          this.#signal.removeEventListener('abort', end)
          resolve()
        }
        const timer = setTimeout(end, ms).unref()
        this.#signal.addEventListener('abort', end)
        this.#end = end
      })
    this.#isWoken = false
    this.#ofThis = this.#ofNext
    this.#ofNext = []
  }

  /** Ends the pause, or the next one. */
  wake(): void {
    this.#isWoken = true
    this.#end()
  }

  settle(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#ofNext.push(resolve)
      this.#end()
    })
  }

  /** Runs a loop, which counts as background work until it ends. */
  async during(rounds: Rounds, loop: () => Promise<void>): Promise<void> {
    rounds.add(this)
    try {
      await loop()
    } finally {
      rounds.delete(this)
      for (const resolve of [...this.#ofThis, ...this.#ofNext]) resolve(true)
    }
  }
}
