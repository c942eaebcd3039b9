/**
 * Scrapes all workers. The worker that gets the request asks the first process. The first process asks every worker,
 * and returns the texts that arrive in time. The cluster mode of prom-client fails if one worker does not answer, and
 * sums gauges.
 */

import cluster, { type Worker } from 'node:cluster'
import { randomUUID } from 'node:crypto'

/** Milliseconds that the first process waits for workers, and a worker for the first process. */
const answerTimeoutMs = 1_000
const allTimeoutMs = 2 * answerTimeoutMs

type Message =
  /** From a worker to the first process. */
  | { readonly kind: 'scrape of all wanted'; readonly id: string }
  /** From the first process to each worker, and its answer. */
  | { readonly kind: 'scrape wanted'; readonly id: string }
  | { readonly kind: 'scraped'; readonly id: string; readonly text: string }
  /** From the first process to the worker that has asked. */
  | { readonly kind: 'all scraped'; readonly id: string; readonly texts: readonly string[] }

/** Makes the first process answer the workers. */
export function answerScrapes(): void {
  const asked = new Map<string, (text: string, worker: Worker) => void>()
  cluster.on('message', (worker, message: Message) => {
    if (message.kind === 'scraped') asked.get(message.id)?.(message.text, worker)
    if (message.kind === 'scrape of all wanted') void answerTo(worker, message.id)
  })

  const answerTo = async (worker: Worker, id: string) => {
    const texts = await askAll(randomUUID())
    tell(worker, { kind: 'all scraped', id, texts })
  }

  const askAll = (id: string): Promise<string[]> => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    const left = new Set(workers)
    const texts: string[] = []
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(overdue)
        asked.delete(id)
        resolve(texts)
      }
      const overdue = setTimeout(end, answerTimeoutMs)
      asked.set(id, (text, worker) => {
        texts.push(text)
        left.delete(worker)
        if (left.size === 0) end()
      })
      for (const worker of workers) tell(worker, { kind: 'scrape wanted', id })
    })
  }
}

/** Sends a message. A worker that has just died takes no message, and its 'exit' comes next. */
function tell(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** Makes a worker answer the first process. Returns a function that scrapes all workers. */
export function openWorkerScrapes(scrape: () => Promise<string>): () => Promise<string> {
  const asked = new Map<string, (texts: readonly string[]) => void>()
  const send = (message: Message) => void process.send?.(message, undefined, undefined, () => {})
  process.on('message', (message: Message) => {
    if (message.kind === 'all scraped') asked.get(message.id)?.(message.texts)
    if (message.kind === 'scrape wanted')
      scrape().then(
        (text) => send({ kind: 'scraped', id: message.id, text }),
        // The scrape then has only the texts of the other workers.
        () => {},
      )
  })
  return async () => {
    const id = randomUUID()
    const texts = await new Promise<readonly string[]>((resolve) => {
      const end = (all: readonly string[]) => {
        clearTimeout(overdue)
        asked.delete(id)
        resolve(all)
      }
      const overdue = setTimeout(() => end([]), allTimeoutMs)
      asked.set(id, end)
      send({ kind: 'scrape of all wanted', id })
    })
    // Without the first process, this worker answers for itself.
    return mergeScrapes(texts.length > 0 ? texts : [await scrape()])
  }
}

/** Merges the texts. All samples of a metric are below one HELP and one TYPE. Each sample has its worker as a label. */
function mergeScrapes(texts: readonly string[]): string {
  const metrics = new Map<string, { readonly head: string[]; readonly samples: string[] }>()
  for (const text of texts) {
    let metric: { readonly head: string[]; readonly samples: string[] } | undefined
    for (const line of text.split('\n')) {
      const [, kind, name] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? []
      if (name === undefined) {
        if (line !== '') metric?.samples.push(line)
        continue
      }
      metric = metrics.get(name) ?? { head: [], samples: [] }
      metrics.set(name, metric)
      if (!metric.head.some((known) => known.startsWith(`# ${kind} `))) metric.head.push(line)
    }
  }
  return [...metrics.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`).join('\n')
}
