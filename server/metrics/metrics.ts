/**
 * Every metric of the service, with its name, its help text and its labels. No label contains an id, so the values are
 * few and known.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

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
] as const

/** Metrics of one service, each series labelled with `worker`. */
export function newMetrics(worker = 1) {
  const registry = new Registry()
  registry.setDefaultLabels({ worker: String(worker) })
  const make = makeIn(registry)
  return {
    registry,
    buildInfo: make.gauge('build_info', '1; the versions of Grove, Node and git', ['version', 'node', 'git']),
    ...requestMetrics(make),
    ...gitMetrics(make),
    ...indexMetrics(make),
    ...databaseMetrics(make),
    ...searchMetrics(make),
    ...cellMetrics(make),
    ...storageMetrics(make),
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
    requests: counter('http_requests_total', 'Requests, by the status of the answer; aborted: the client left', [
      'operation',
      'status',
    ]),
    requestSeconds: histogram('http_request_duration_seconds', 'From the headers to the end of the answer', [
      'operation',
    ]),
    requestsInFlight: gauge('http_requests_in_flight', 'Requests that are being answered'),
    rateLimited: counter('rate_limited_total', 'Requests that were answered 429', ['limit']),
    signIns: counter('sign_ins_total', 'Sign-ins: done, wrong, limited or failed', ['outcome']),
    passwordQueue: gauge('password_queue', 'Requests that wait for a password to be hashed'),
    sessionsActive: gauge('sessions_active', 'Sessions that were not ended, of all accounts'),
  }
}

/** Metrics of clones, fetches and pushes, and of moves of refs. */
function gitMetrics({ counter, gauge, histogram }: Make) {
  return {
    gitSeconds: histogram(
      'git_transport_duration_seconds',
      'Clones, fetches and pushes, with their wait: completed, refused, failed or aborted',
      ['service', 'outcome'],
      longSeconds,
    ),
    gitBytes: counter('git_transport_bytes_total', 'Bytes of clones, fetches and pushes: in or out', [
      'service',
      'direction',
    ]),
    gitProcesses: gauge('git_processes', 'Running gits, those that read objects included'),
    gitWaiting: gauge('git_waiting', 'Clones, fetches and pushes that wait for a git'),

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
      'Transactions finished or undone after a death or a fault',
    ),
    refLockWaitSeconds: histogram('ref_lock_wait_seconds', 'Waits for a lock that another process or git held', []),
  }
}

/** Metrics of the index, and of the background jobs. */
function indexMetrics({ counter, gauge, histogram }: Make) {
  return {
    indexSeconds: histogram('index_follow_seconds', 'From a difference between refs and rows to written rows', [
      'kind',
    ]),
    indexFailures: counter(
      'index_follow_failures_total',
      'Repositories that could not be indexed when they were read',
      ['kind'],
    ),
    behindNodes: gauge('index_behind_nodes', 'Nodes that the last sweep could not bring up to their refs'),
    unreadable: gauge('repositories_unreadable', 'Repositories that the last sweep found damaged'),
    readOnly: gauge('repositories_suspect', 'Repositories that are read-only since a sync failed'),
    sweepSuccess: gauge('sweep_last_success_timestamp_seconds', 'When a background job last ended well', ['chore']),
    sweepSeconds: gauge('sweep_duration_seconds', 'How long the last run of a background job took', ['chore']),
    maintained: counter('maintenance_repositories_total', 'Repositories maintained: done or failed', ['outcome']),
  }
}

function databaseMetrics({ counter, gauge, histogram }: Make) {
  return {
    databaseWaitSeconds: histogram(
      'database_wait_seconds',
      'Waits for a database: of each write for its turn, of those reads that had to',
      ['database', 'role'],
    ),
    databaseBusy: counter('database_busy_total', 'Statements and transactions that gave up waiting', ['database']),
    databaseBytes: gauge('database_bytes', 'Sizes of the databases and their logs', ['database', 'file']),
  }
}

/** Metrics of searches and of drawings of graphs. */
function searchMetrics({ counter, gauge, histogram }: Make) {
  return {
    searchSeconds: histogram('search_duration_seconds', 'Searches, with the wait for earlier ones', ['expansion']),
    searchDocuments: gauge('search_index_documents', 'Nodes in the search indexes in memory'),
    searchBytes: gauge('search_index_bytes', 'Estimated heap of the search indexes in memory'),
    searchBuilds: counter('search_builds_total', 'Search indexes that were begun'),
    graphSeconds: histogram('graph_draw_seconds', 'Drawings of public graphs', [], longSeconds),
  }
}

function cellMetrics({ counter, gauge }: Make) {
  return {
    cellLease: gauge('cell_lease_seconds', 'Until the lease of this cell ends, by the count of this process', ['cell']),
    forwarded: counter(
      'forwarded_total',
      'Requests that were passed on to another cell: done, failed or aborted; failed: it did not answer to the end',
      ['to', 'outcome'],
    ),
  }
}

function storageMetrics({ counter, gauge }: Make) {
  return {
    storageFaults: counter('storage_faults_total', 'Requests and pushes that failed because the storage did', ['kind']),
    storageFree: gauge('storage_free_bytes', 'Bytes that the service may still write in its data folder'),
    storageUsed: gauge('storage_used_bytes', 'Bytes in use on the file system of the data folder'),
  }
}

let ofProcess: Registry | undefined

/**
 * The metrics of Node, `nodejs_*` and `process_*`. A process has one set, regardless of how many services it runs. The
 * first call starts it.
 */
export function processMetrics(worker: number): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  ofProcess.setDefaultLabels({ worker: String(worker) })
  return ofProcess
}
