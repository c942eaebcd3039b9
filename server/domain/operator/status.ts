/** The state of the service, for a first look when something is wrong. Reads no repository. */

import { countAccountsByState } from '../../../index/credentials/accounts.ts'
import { countAllRows, probeOrgs } from '../../../index/derived/org-queries.ts'
import { type Administrator, requireAdministrator } from '../accounts/administration.ts'
import type { Ctx, Services } from '../services.ts'
import { type Check, checksOf } from './checks.ts'
import { type Sample, samplesIn } from './samples.ts'

interface Process {
  readonly worker: number
  readonly started_at: string
  /** Resident memory. */
  readonly memory_bytes: number
}

interface Storage {
  readonly free_bytes: number
  readonly used_bytes: number
  readonly databases: readonly {
    readonly name: 'credentials' | 'index'
    readonly bytes: number
    readonly wal_bytes: number
  }[]
}

interface Counts {
  readonly accounts: number
  readonly disabled_accounts: number
  readonly administrators: number
  readonly orgs: number
  readonly nodes: number
  readonly sessions?: number
}

export interface ServiceStatus {
  readonly version: string
  readonly node_version: string
  readonly git_version: string
  /** Absent if no process has responded. */
  readonly started_at?: string
  /** Absent without cells. */
  readonly cell?: string
  readonly checks: readonly Check[]
  readonly processes: readonly Process[]
  readonly storage?: Storage
  /** Absent if a database does not respond. */
  readonly counts?: Counts
  /** Responses since the processes started. */
  readonly requests: { readonly total: number; readonly failed: number; readonly limited: number }
  readonly jobs: readonly { readonly name: string; readonly succeeded_at: string }[]
}

/** Milliseconds that the processes have to report. They answer each other within two seconds. */
const reportMs = 3_000

const names: ReadonlySet<string> = new Set([
  ...['process_start_time_seconds', 'process_resident_memory_bytes', 'grove_http_requests_total'],
  ...['grove_storage_free_bytes', 'grove_storage_used_bytes', 'grove_database_bytes', 'grove_storage_faults_total'],
  ...['grove_sessions_active', 'grove_index_behind_nodes', 'grove_repositories_unreadable'],
  ...['grove_repositories_suspect', 'grove_sweep_last_success_timestamp_seconds', 'grove_sweep_duration_seconds'],
  ...['grove_cell_lease_seconds', 'grove_webhook_secrets_lost'],
])

/** Reads the state of the service from its metrics and databases. @throws AppError forbidden */
export async function getServiceStatus(ctx: Ctx<Administrator>): Promise<ServiceStatus> {
  requireAdministrator(ctx.actor)
  const [samples, counted, isIndexRead] = await Promise.all([readSamples(ctx), count(ctx), canReadIndex(ctx)])
  const { version = '', node = '', git = '' } = (await ctx.metrics.buildInfo.get()).values[0]?.labels ?? {}
  const processes = processesIn(samples)
  const [oldest] = processes.map(({ started_at }) => started_at).sort()
  const storage = storageIn(samples)
  const [cell] = samples.filter(({ name }) => name === 'grove_cell_lease_seconds')
  const sessions = sumOf(samples, 'grove_sessions_active')
  return {
    version: String(version),
    node_version: String(node),
    git_version: String(git),
    ...(oldest === undefined ? {} : { started_at: oldest }),
    ...(cell?.labels.cell === undefined ? {} : { cell: cell.labels.cell }),
    checks: checksOf({
      ...{ samples, now: ctx.now(), startedAt: oldest, isIndexRead, isAccountsRead: counted.accounts !== undefined },
      isWhole: ctx.partialIndex?.isWhole() ?? true,
    }),
    processes,
    ...(storage === undefined ? {} : { storage }),
    ...(counted.accounts === undefined || counted.rows === undefined
      ? {}
      : { counts: { ...counted.accounts, ...counted.rows, ...(sessions === undefined ? {} : { sessions }) } }),
    requests: requestsIn(samples),
    jobs: jobsIn(samples),
  }
}

/** Returns the samples of all processes that report in time. */
async function readSamples({ scrape, log }: Services): Promise<Sample[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, reportMs, '')
  })
  try {
    return samplesIn((await Promise.race([scrape?.() ?? '', late])) ?? '', names)
  } catch (error) {
    log.warn({ err: error }, 'the metrics could not be read')
    return []
  } finally {
    clearTimeout(timer)
  }
}

/** Counts the rows of both databases. Undefined if the database does not respond, which is logged. */
async function count(deps: Services) {
  const read = <Rows>(what: string, query: Promise<Rows>) =>
    query.catch((error: unknown) => {
      deps.log.error({ err: error }, `${what} could not be counted`)
      return undefined
    })
  const [accounts, rows] = await Promise.all([
    read('the accounts', countAccountsByState(deps.credentials.read)),
    read('the organisations and nodes', countAllRows(wholeIndex(deps).read)),
  ])
  return {
    accounts: accounts && {
      accounts: accounts.accounts,
      disabled_accounts: accounts.disabled,
      administrators: accounts.administrators,
    },
    rows,
  }
}

async function canReadIndex(deps: Services): Promise<boolean> {
  return probeOrgs(wholeIndex(deps).read).then(
    () => true,
    () => false,
  )
}

/** The index of all organisations, complete or not. */
function wholeIndex({ partialIndex, index }: Services) {
  return partialIndex?.all ?? index
}

function processesIn(samples: readonly Sample[]): Process[] {
  const memory = samples.filter(({ name }) => name === 'process_resident_memory_bytes')
  return samples
    .filter(({ name }) => name === 'process_start_time_seconds')
    .map(({ labels, value }) => ({
      worker: Number(labels.worker),
      started_at: timeOf(value),
      memory_bytes: memory.find((one) => one.labels.worker === labels.worker)?.value ?? 0,
    }))
    .sort((a, b) => a.worker - b.worker)
}

function storageIn(samples: readonly Sample[]): Storage | undefined {
  const [free, used] = [sumOf(samples, 'grove_storage_free_bytes'), sumOf(samples, 'grove_storage_used_bytes')]
  // The gauges are 0 until the file system has been read.
  if (free === undefined || used === undefined || free + used === 0) return undefined
  const sizeOf = (database: string, file: string) =>
    sumOf(samples, 'grove_database_bytes', (labels) => labels.database === database && labels.file === file)
  return {
    free_bytes: free,
    used_bytes: used,
    databases: (['credentials', 'index'] as const)
      .map((name) => ({ name, bytes: sizeOf(name, 'main') ?? 0, wal_bytes: sizeOf(name, 'wal') ?? 0 }))
      // Accounts in PostgreSQL have no file here.
      .filter(({ bytes }) => bytes > 0),
  }
}

function requestsIn(samples: readonly Sample[]): ServiceStatus['requests'] {
  const withStatus = (pattern: RegExp) =>
    sumOf(samples, 'grove_http_requests_total', ({ status = '' }) => pattern.test(status)) ?? 0
  return { total: withStatus(/^\d/), failed: withStatus(/^5/), limited: withStatus(/^429$/) }
}

function jobsIn(samples: readonly Sample[]): ServiceStatus['jobs'] {
  const last = new Map<string, number>()
  for (const { name, labels, value } of samples)
    if (name === 'grove_sweep_last_success_timestamp_seconds' && labels.chore !== undefined)
      last.set(labels.chore, Math.max(value, last.get(labels.chore) ?? 0))
  return [...last]
    .map(([name, seconds]) => ({ name, succeeded_at: timeOf(seconds) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the sum of a metric's series. Undefined without any. */
function sumOf(
  samples: readonly Sample[],
  name: string,
  matches: (labels: Sample['labels']) => boolean = () => true,
): number | undefined {
  const found = samples.filter((one) => one.name === name && matches(one.labels))
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

function timeOf(seconds: number): string {
  return new Date(Math.floor(seconds) * 1_000).toISOString()
}
