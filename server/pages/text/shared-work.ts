/** Shares work among callers that ask for the same result at the same time. */

interface Running<T> {
  readonly result: Promise<T>
  readonly ending: AbortController
  callers: number
}

/** Starts work for a key, or joins it if it runs. Its signal is aborted when all callers have left. */
type SharedWork<T> = (key: string, signal: AbortSignal, start: (wanted: AbortSignal) => Promise<T>) => Promise<T>

/** Creates a function that shares work by key. It throws the signal's reason, and errors of the work. */
export function createSharedWork<T>(): SharedWork<T> {
  const running = new Map<string, Running<T>>()
  return (key, signal, start) =>
    new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const work = running.get(key) ?? begin(running, key, start)
      work.callers++
      const leave = () => {
        reject(signal.reason)
        if (--work.callers > 0) return
        // A caller that comes now needs work that has not ended.
        if (running.get(key) === work) running.delete(key)
        work.ending.abort(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      work.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
}

function begin<T>(running: Map<string, Running<T>>, key: string, start: Parameters<SharedWork<T>>[2]): Running<T> {
  const ending = new AbortController()
  const result = start(ending.signal).finally(() => {
    if (running.get(key) === work) running.delete(key)
  })
  const work: Running<T> = { result, ending, callers: 0 }
  running.set(key, work)
  return work
}
