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

  /** Call it when the loop has ended. */
  close(): void {
    for (const resolve of [...this.#ofThis, ...this.#ofNext]) resolve(true)
  }
}
