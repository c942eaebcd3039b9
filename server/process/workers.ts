/** Runs several processes on one port. The first starts and replaces the others, and counts rates. */

import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { RateLimiterClusterMaster } from 'rate-limiter-flexible'
import { type Config, workerEnvironment } from '../base/config.ts'
import { answerScrapes } from '../metrics/worker-scrapes.ts'
import { urlOf } from './listen.ts'
import type { RunningService } from './service.ts'

/** Milliseconds until workers that do not stop are killed. This process ends a second later. */
const stopTimeoutMs = 13_000
/** Milliseconds before a dead worker is replaced. `shortest` doubles with each death in a row, up to `longest`. */
const pausesMs = { shortest: 100, longest: 10_000 } as const
/** Milliseconds after which a worker counts as started. A later death is the first in a row. */
const provenAfterMs = 60_000

/** The number of the worker that runs the background jobs. */
const sweeper = 1

/** A worker ended before the service listened. */
export class WorkerFailedError extends Error {
  /** True if it has written the reason to the standard error that the processes share. */
  readonly explained: boolean

  constructor(code: number | null, signal: string | null) {
    super(`A worker ended before it listened (${signal ?? `exit code ${code}`})`)
    this.name = 'WorkerFailedError'
    this.explained = code === 1
  }
}

/** Starts `config.workers` and resolves when all listen. @throws WorkerFailedError after all have ended */
export async function startWorkers(
  config: Config,
  { log }: { readonly log: Logger },
): Promise<Pick<RunningService, 'url' | 'close'>> {
  const listening = new Set<Worker>()
  const stopping = new AbortController()
  const { signal } = stopping
  // The port given to workers, and the one that they listen on. With PORT=0 they differ: the first worker chooses the
  // port.
  let sharedPort = config.port
  let port: number | undefined
  new RateLimiterClusterMaster()
  answerScrapes()

  /** Starts one worker; `ended` resolves when it ends. @throws WorkerFailedError if it ends before it listens */
  const start = async (number: number): Promise<{ ended: Promise<unknown> }> => {
    // This process holds the port only while a worker uses it.
    if (port !== undefined && listening.size === 0) sharedPort = port
    const worker = cluster.fork(workerEnvironment({ worker: number, port: sharedPort, sweeps: number === sweeper }))
    // The worker has just died, so a message to it failed. 'exit' comes next.
    worker.on('error', () => {})
    const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
      worker.once('exit', (code, signal) => {
        listening.delete(worker)
        resolve({ code, signal })
      })
    })
    const at = await Promise.race([listens(worker), ended])
    if ('code' in at) throw new WorkerFailedError(at.code, at.signal)
    port ??= at.port
    if (at.port === port) listening.add(worker)
    // The last worker on the port died while this one started.
    else worker.kill('SIGKILL')
    return { ended }
  }

  /** Replaces one worker whenever it dies, with a growing delay if it dies soon. */
  const keep = async (first: { ended: Promise<unknown> }, number: number): Promise<void> => {
    let current: { ended: Promise<unknown> } | undefined = first
    let pause: number = pausesMs.shortest
    while (!signal.aborted) {
      const since = performance.now()
      await current?.ended
      if (signal.aborted) return
      log.error(current === undefined ? 'a worker could not start' : 'a worker died and is replaced')
      if (performance.now() - since > provenAfterMs) pause = pausesMs.shortest
      await sleep(pause, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      pause = Math.min(pause * 2, pausesMs.longest)
      current = await start(number).catch(() => undefined)
    }
  }

  try {
    // The first starts before the others. It creates missing files, and reports a failure once.
    const first = await start(sweeper)
    const others = await Promise.all(Array.from({ length: config.workers - 1 }, (_, at) => start(sweeper + 1 + at)))
    const kept = [first, ...others].map((worker, at) => keep(worker, sweeper + at))
    const close = async () => {
      stopping.abort()
      const overdue = setTimeout(() => signalAll('SIGKILL'), stopTimeoutMs)
      signalAll('SIGTERM')
      await allEnded()
      clearTimeout(overdue)
      await Promise.all(kept)
    }
    return { url: urlOf(config.host, port ?? config.port), close }
  } catch (error) {
    signalAll('SIGKILL')
    await allEnded()
    throw error
  }
}

function listens(worker: Worker): Promise<{ port: number }> {
  return new Promise((resolve) => worker.once('listening', resolve))
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

function signalAll(signal: NodeJS.Signals): void {
  for (const { process: child } of workers()) child.kill(signal)
}

async function allEnded(): Promise<void> {
  await Promise.all(
    workers().map(
      (worker) => new Promise((resolve) => (worker.isDead() ? resolve(undefined) : worker.once('exit', resolve))),
    ),
  )
}
