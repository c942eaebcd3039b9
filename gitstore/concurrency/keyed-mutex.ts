/**
 * Mutual exclusion by keys, in the order of arrival.
 *
 * Work names several keys and takes its place in the queues of all of them at once; it never passes earlier work on one of them.
 * A semaphore would let it pass where its own keys are free, and so keep work on two busy keys waiting for ever.
 */
export interface KeyedMutex {
  /** Runs `work` once all earlier work on one of `keys` has ended, well or not. @throws what `work` throws */
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
