/**
 * Every metric of the service, with its name, its help text and its labels. No label contains an id, so the values are
 * few and known.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { readCaches } from '../../gitstore/caching/caches.ts'

/** Seconds of requests and of work within them. */
const shortSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Seconds of clones, pushes and drawings, which may take an hour. */
const longSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600]

export type Metrics = ReturnType<typeof newMetrics>

type Make = ReturnType<typeof makeIn>

/** Metrics of the data folder as a whole. One of the processes that share it reports them. */
export const folderMetrics = [
  'grove_sessions_active',
  'grove_index_behind_nodes',
  'grove_repositories_unreadable',
  'grove_storage_free_bytes',
  'grove_storage_used_bytes',
  'grove_backup_last_success_timestamp_seconds',
  'grove_webhook_deliveries_pending',
  'grove_mail_pending',
  'grove_embeddings_pending',
  'grove_embeddings_store_bytes',
] as const

/** Metrics of one service, each series labelled with `worker`. */
export function newMetrics(worker = 1) {
  const registry = new Registry()
  registry.setDefaultLabels({ worker: String(worker) })
  const make = makeIn(registry)
  return {
    registry,
    buildInfo: make.gauge(
      'build_info',
      'Always 1; the labels are the version and commit of Grove, and the versions of Node and git',
      ['version', 'commit', 'node', 'git'],
    ),
    ...requestMetrics(make),
    ...gitMetrics(make),
    ...indexMetrics(make),
    ...databaseMetrics(make),
    ...searchMetrics(make),
    ...cellMetrics(make),
    ...storageMetrics(make),
    ...webhookMetrics(make),
    ...mailMetrics(make),
    ...embeddingsMetrics(make),
  }
}

function makeIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter({ name: `grove_${name}`, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge({ name: `grove_${name}`, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, labelNames: readonly L[], buckets = shortSeconds) =>
      new Histogram({ name: `grove_${name}`, help, labelNames, buckets, registers }),
  }
}

/** Metrics of requests and of the users who send them. */
function requestMetrics({ counter, gauge, histogram }: Make) {
  return {
    requests: counter('http_requests_total', 'Requests by status of the response; aborted: the client disconnected', [
      'operation',
      'status',
    ]),
    requestSeconds: histogram('http_request_duration_seconds', 'Time from the headers to the end of the response', [
      'operation',
    ]),
    requestsInFlight: gauge('http_requests_in_flight', 'Requests that are being answered'),
    eventStreams: gauge('event_streams', 'Open streams of events'),
    rateLimited: counter('rate_limited_total', 'Requests answered with 429', ['limit']),
    signIns: counter('sign_ins_total', 'Sign-ins: done, wrong, limited or failed', ['outcome']),
    passwordQueue: gauge('password_queue', 'Requests that wait for a password to be hashed'),
    sessionsActive: gauge('sessions_active', 'Sessions of all accounts that have not ended'),
  }
}

/** Metrics of clones, fetches and pushes, and of moves of refs. */
function gitMetrics({ counter, gauge, histogram }: Make) {
  return {
    gitSeconds: histogram(
      'git_transport_duration_seconds',
      'Clones, fetches and pushes, including their wait: completed, refused, failed or aborted',
      ['service', 'outcome'],
      longSeconds,
    ),
    gitBytes: counter('git_transport_bytes_total', 'Bytes of clones, fetches and pushes: in or out', [
      'service',
      'direction',
    ]),
    gitProcesses: gauge('git_processes', 'Running Git processes, including those that read objects'),
    gitWaiting: gauge('git_waiting', 'Clones, fetches and pushes that wait for a Git process'),

    refPhaseSeconds: histogram(
      'ref_transaction_phase_seconds',
      'Phases of ref transactions: lock, decide, save, commit, sync',
      ['phase'],
    ),
    refTransactions: counter('ref_transactions_total', 'Ref transactions: moved, nothing, busy, refused or fault', [
      'outcome',
    ]),
    refTransactionsRecovered: counter(
      'ref_transactions_recovered_total',
      'Transactions that were finished or undone after a crash or a fault',
    ),
    refLockWaitSeconds: histogram('ref_lock_wait_seconds', 'Waits for a lock that another process or Git held', []),
  }
}

/** Metrics of the index, and of the background jobs. */
function indexMetrics({ counter, gauge, histogram }: Make) {
  return {
    indexSeconds: histogram('index_follow_seconds', 'Time from finding that refs and rows differ to writing the rows', [
      'kind',
    ]),
    indexFailures: counter(
      'index_follow_failures_total',
      'Repositories that could not be indexed when they were read',
      ['kind'],
    ),
    eventsTold: counter('events_told_total', 'Events that were recorded in the logs of organisations'),
    behindNodes: gauge('index_behind_nodes', 'Nodes whose rows the last sweep could not update to match their refs'),
    unreadable: gauge('repositories_unreadable', 'Repositories that the last sweep found damaged'),
    readOnly: gauge('repositories_suspect', 'Repositories that are read-only because a sync failed'),
    sweepSuccess: gauge('sweep_last_success_timestamp_seconds', 'Time of the last success of a background job', [
      'chore',
    ]),
    sweepSeconds: gauge('sweep_duration_seconds', 'Duration of the last run of a background job', ['chore']),
    quotasNearlyFull: counter('quota_nearly_full_total', 'Organisations that reached 90 % of a quota', ['what']),
    maintained: counter('maintenance_repositories_total', 'Repositories maintained: done or failed', ['outcome']),
  }
}

function databaseMetrics({ counter, gauge, histogram }: Make) {
  return {
    databaseWaitSeconds: histogram(
      'database_wait_seconds',
      'Waits for a database: by every write, and by the reads that had to wait',
      ['database', 'role'],
    ),
    databaseBusy: counter('database_busy_total', 'Statements and transactions that gave up waiting', ['database']),
    databaseBytes: gauge('database_bytes', 'Sizes of the databases and their logs', ['database', 'file']),
  }
}

/** Metrics of searches and of drawings of graphs. */
function searchMetrics({ counter, gauge, histogram }: Make) {
  return {
    searchSeconds: histogram('search_duration_seconds', 'Searches, including the wait for earlier ones', ['expansion']),
    searchDocuments: gauge('search_index_documents', 'Nodes in the search indexes in memory'),
    searchBytes: gauge('search_index_bytes', 'Estimated bytes of heap of the search indexes in memory'),
    searchVectors: gauge('search_vectors_bytes', 'Estimated bytes of the vectors of nodes in memory'),
    searchBuilds: counter('search_builds_total', 'Search indexes that were opened'),
    searchRows: counter(
      'search_rows_total',
      'Changed nodes read into search indexes and tables of properties: while a query waited, or ahead of queries',
      ['occasion'],
    ),
    graphSeconds: histogram('graph_draw_seconds', 'Drawings of graphs and maps', [], longSeconds),
  }
}

function cellMetrics({ counter, gauge }: Make) {
  return {
    cellLease: gauge('cell_lease_seconds', 'Seconds until the lease of this cell ends, as this process counts', [
      'cell',
    ]),
    forwarded: counter(
      'forwarded_total',
      'Requests forwarded to another cell: done, failed or aborted; failed: the cell did not answer to the end',
      ['to', 'outcome'],
    ),
  }
}

function storageMetrics({ counter, gauge }: Make) {
  return {
    storageFaults: counter('storage_faults_total', 'Requests and pushes that failed because the storage failed', [
      'kind',
    ]),
    storageFree: gauge('storage_free_bytes', 'Bytes that the service may still write in its data folder'),
    backedUp: gauge('backup_last_success_timestamp_seconds', 'When the last backup without problems ended; 0: never'),
    storageUsed: gauge('storage_used_bytes', 'Bytes in use on the file system of the data folder'),
  }
}

function webhookMetrics({ counter, gauge }: Make) {
  return {
    webhookSecretsLost: gauge('webhook_secrets_lost', 'Webhooks whose secrets cannot be read with SECRET_KEY'),
    webhooksPending: gauge('webhook_deliveries_pending', 'Deliveries to webhooks that have not ended'),
    webhookAttempts: counter('webhook_attempts_total', 'Requests to webhooks: delivered, failed, aborted or ping', [
      'outcome',
    ]),
  }
}

function mailMetrics({ counter, gauge }: Make) {
  return {
    mailPending: gauge('mail_pending', 'Mails that wait to be sent'),
    mailFailed: counter('mail_failed_total', 'Mails that were given up'),
  }
}

/** Metrics of models that turn texts into vectors. */
function embeddingsMetrics({ counter, gauge, histogram }: Make) {
  return {
    embeddingsTexts: counter('embeddings_texts_total', 'Texts for the model: embedded, refused or failed', ['result']),
    embeddingsTokens: counter('embeddings_tokens_total', 'Tokens of texts and questions, as the endpoint counts them'),
    embeddingsSeconds: histogram('embeddings_seconds', 'Requests for vectors, of one question or several texts', []),
    embeddingsQuestions: counter(
      'embeddings_questions_total',
      'Questions for the model: embedded, cached, late, failed, refused or skipped',
      ['state'],
    ),
    embeddingsPending: gauge('embeddings_pending', 'Texts that wait for their vectors, as an estimate'),
    embeddingsStoreBytes: gauge('embeddings_store_bytes', 'Bytes of vectors.sqlite with its log'),
    embeddingsCircuitOpen: gauge('embeddings_circuit_open', '1 while questions are not sent, because five failed'),
  }
}

/** Milliseconds between two samples of the event loop's delay, which includes them. Each wakes the process. */
const loopSampleMs = 50

let ofProcess: Registry | undefined

/**
 * The metrics of Node, `nodejs_*` and `process_*`, and of caches. A process has one set, regardless of how many services
 * it runs. The first call starts it.
 */
export function processMetrics(worker: number): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision: loopSampleMs })
    collectCaches(ofProcess)
  }
  ofProcess.setDefaultLabels({ worker: String(worker) })
  return ofProcess
}

/** Reads the caches at each scrape. */
function collectCaches(registry: Registry): void {
  for (const unit of ['bytes', 'entries'] as const)
    new Gauge({
      name: `grove_cache_${unit}`,
      help: unit === 'bytes' ? 'Estimated bytes of caches' : 'Entries of caches',
      labelNames: ['cache'],
      registers: [registry],
      collect() {
        for (const { name: cache, [unit]: held } of readCaches()) this.set({ cache }, held)
      },
    })
}
