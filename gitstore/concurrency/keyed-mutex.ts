/**
 * Excludes other work on the same keys, in the order of arrival.
 *
 * Work names several keys and joins all their queues at once. It never passes earlier work on one of them. A semaphore
 * would let work pass whose own keys are free, so that work on two busy keys could wait forever.
 */
export interface KeyedMutex {
  /** Runs `work` after all earlier work on one of `keys` has ended or failed. @throws any error of `work` */
  run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
  /** True while work on `key` runs or waits. */
  isBusy(key: string): boolean
}

export function createKeyedMutex(): KeyedMutex {
  /** The end of the last work on each key. */
  const ends = new Map<string, Promise<unknown>>()
  return {
    run: (keys, work) => {
      const before = Promise.allSettled(keys.map((key) => ends.get(key)))
      const mine = before.then(work)
      const ended = mine.catch(() => undefined)
      for (const key of keys) ends.set(key, ended)
      void ended.then(() => {
        for (const key of keys) if (ends.get(key) === ended) ends.delete(key)
      })
      return mine
    },
    isBusy: (key) => ends.has(key),
  }
}
