/** Starts the service and returns it as a value. Tests start it on port 0. */

import cluster from 'node:cluster'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { gitVersion } from '../../gitstore/native.ts'
import { type Config, workerNumber } from '../base/config.ts'
import { counters, type NewCounter } from '../base/counters.ts'
import { commit, version } from '../base/release.ts'
import { addRunning } from '../base/rounds.ts'
import { limitedSignIns, unlimitedSignIns } from '../domain/accounts/sign-ins.ts'
import { auditConfig } from '../domain/audit/config-change.ts'
import { logGuardedCreations } from '../domain/background/guarded-creations.ts'
import { maintainRepositories } from '../domain/background/maintenance.ts'
import { fillIndex, sweep } from '../domain/background/sweep.ts'
import { createReporter } from '../domain/background/unreadable.ts'
import { type Embedder, startEmbedder } from '../domain/embeddings/embedder.ts'
import { partialIndex } from '../domain/indexing/partial-index.ts'
import { limitedMail, unlimitedMail } from '../domain/mail/limits.ts'
import { sendMails } from '../domain/mail/sender.ts'
import { prepareIndexes } from '../domain/search/prepare-indexes.ts'
import type { Services } from '../domain/services.ts'
import { createHttpServer } from '../http/connection/connections.ts'
import { createLog } from '../http/log/log.ts'
import { folderMetrics, processMetrics } from '../metrics/metrics.ts'
import { countedSignIns } from '../metrics/observers.ts'
import { scrapeProcess } from '../metrics/scrape.ts'
import { openWorkerScrapes } from '../metrics/worker-scrapes.ts'
import { type AppOptions, createApp } from './app.ts'
import { openDeps } from './bootstrap.ts'
import { servicePartsOf } from './cell-parts.ts'
import { createImportQueue, jobsOfFeatures, loops, oldestNeeded, setGauges } from './features.ts'
import { letters } from './letters.ts'
import { listen, urlOf } from './listen.ts'

/** Milliseconds that running requests have to end when the service stops. */
const closeTimeoutMs = 8_000
/** Milliseconds that the start waits for a new index: 1,000 nodes. Then the service listens and answers 503 `busy`. */
const indexWaitMs = 5_000

export interface RunningService {
  readonly url: string
  readonly deps: Services
  /** Stops accepting requests, waits for running ones, closes everything. */
  close(): Promise<void>
}

export interface Overrides {
  readonly now?: () => Date
  readonly log?: Logger
  /** 500 for a response that breaks the spec. */
  readonly validateResponses?: boolean
  /** False if another worker runs the background jobs. */
  readonly sweeps?: boolean
  /** True if all workers share the rate counters. Default: this process counts. */
  readonly sharedLimits?: boolean
  readonly fetchDocument?: Services['fetchDocument']
  /** Set in a demo. */
  readonly demo?: AppOptions['demo']
}

/** Resolves when the service listens. The index is completed in the background. @throws errors of `listen` */
export async function startService(config: Config, overrides: Overrides = {}): Promise<RunningService> {
  const {
    now,
    log = createLog(config.logLevel, workerNumber()),
    validateResponses = false,
    sweeps = true,
    sharedLimits = false,
    fetchDocument,
    demo,
  } = overrides
  const draining = new AbortController()
  const worker = workerNumber()
  // They count from now, also if the first scrape is later.
  processMetrics(worker)
  const opening = { log, draining: draining.signal, worker, writes: true, embeds: true, ...(now && { now }) }
  const opened = await openDeps(config, opening)
  const { deps, index } = opened
  const newCounter = config.rateLimit ? counters(sharedLimits) : undefined
  const { newSharedCounter, settle, jobs } = servicePartsOf(deps, newCounter)
  deps.metrics.buildInfo.set({ version, commit, node: process.version, git: await gitVersion() }, 1)
  if (!sweeps) for (const name of folderMetrics) deps.metrics.registry.removeSingleMetric(name)
  let work: Work | undefined
  const scrapeOwn = () =>
    scrapeProcess(deps, worker, sweeps ? { embedder: work?.embedder, ofFeatures: setGauges } : undefined)
  const scrape = cluster.isWorker ? openWorkerScrapes(scrapeOwn) : scrapeOwn
  const imports = createImportQueue(deps)
  const served: Services = {
    ...deps,
    ...(fetchDocument && { fetchDocument }),
    imports,
    index: index.whole,
    partialIndex: partialIndex(deps.store, index),
    ...limitsOf(deps, newSharedCounter),
    scrape,
  }
  if (sweeps)
    await settle().catch(async (error: unknown) => {
      await opened.close()
      throw error
    })
  if (sweeps) await auditConfig(deps)
  const server = createHttpServer(
    createApp(served, { validateResponses, newCounter, newSharedCounter, demo }),
    config.logRequests === 'off' ? undefined : log,
  )
  const report = createReporter(deps)
  const more = { jobs: [...jobs, ...jobsOfFeatures()], oldestNeeded }
  const whole = index.keepWhole(() => addRunning(deps.rounds, 'the index', fillIndex(deps, report)))
  const waiting = new AbortController()
  try {
    // The timer of `sleep` keeps the process alive, unlike the timers of index retries.
    await Promise.race([whole, sleep(indexWaitMs, undefined, { signal: waiting.signal })])
    await listen(server, config)
    deps.listening.port = portOf(server)
  } catch (error) {
    await opened.close()
    throw error
  } finally {
    waiting.abort()
  }
  if (sweeps) work = startWork(deps, served, whole, () => sweep(deps, report, more))
  const close = async () => {
    draining.abort()
    await Promise.all([drain(server), imports.close()])
    await work?.end()
    await opened.close()
  }
  return { url: urlOf(config.host, portOf(server)), deps, close }
}

/** @param newCounter undefined: nothing is limited */
function limitsOf(
  { metrics }: Services,
  newCounter: NewCounter | undefined,
): Pick<Services, 'limitSignIn' | 'limitMail'> {
  const limit = newCounter === undefined ? unlimitedSignIns : limitedSignIns(newCounter)
  const limitMail = newCounter === undefined ? unlimitedMail : limitedMail(newCounter)
  return { limitSignIn: countedSignIns(metrics, limit), limitMail }
}

/** Background work. */
interface Work {
  /** Absent: the service has no model. */
  readonly embedder: Embedder | undefined
  /** Resolves when all of it has ended. Call it when the service is draining. */
  end(): Promise<void>
}

/** @param sweepAll runs until the service is draining. It begins when the index is whole. */
function startWork(deps: Services, served: Services, whole: Promise<unknown>, sweepAll: () => Promise<unknown>): Work {
  const jobs = () => [sweepAll(), maintainRepositories(deps), prepareIndexes(deps), logGuardedCreations(deps)]
  const sweeping = whole.then(() => Promise.all(jobs()))
  const sending = sendAll(deps, served)
  const embedder = served.embeddings && startEmbedder(served, served.embeddings)
  return {
    embedder,
    end: async () => {
      await sweeping
      await sending
      await embedder?.stop()
    },
  }
}

/** Runs the loops of features, and sends mails if the service sends any. */
function sendAll(deps: Services, served: Services): Promise<unknown> {
  return Promise.all([
    ...loops.map((loop) => loop(deps)),
    deps.config.mail === undefined ? undefined : sendMails(served, letters),
  ])
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  // A keep-alive connection becomes idle only after its response.
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  const overdue = setTimeout(() => server.closeAllConnections(), closeTimeoutMs)
  await closed
  clearInterval(idle)
  clearTimeout(overdue)
}
