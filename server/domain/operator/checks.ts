/** Judges the parts of the service by the rules of the alerts in `server/deploy/alerts.yml`. */

import type { Sample } from './samples.ts'

export interface Check {
  readonly name: 'accounts' | 'index' | 'repositories' | 'storage' | 'jobs' | 'webhooks' | 'cell'
  readonly ok: boolean
  /** The finding, and what to do. It names no file, so that administrators may read it. */
  readonly detail: string
}

export interface Facts {
  readonly samples: readonly Sample[]
  readonly now: Date
  /** When the oldest process started. Undefined: none has responded. */
  readonly startedAt: string | undefined
  readonly isAccountsRead: boolean
  readonly isIndexRead: boolean
  /** True if every organisation is indexed. */
  readonly isWhole: boolean
}

type Judgement = Omit<Check, 'name'>

/** Below this share of free bytes the disk is almost full. */
const leastFree = 0.1
/** Seconds by which the index sweep may be late. 21 times its duration is added. */
const lateSeconds = 600
/** Milliseconds after the start in which the first sweep may still run. */
const firstSweepMs = 3_600_000

/** Returns the checks in a fixed order. `cell` is absent without cells. */
export function checksOf(facts: Facts): Check[] {
  const cell = judgeCell(facts)
  return [
    { name: 'accounts', ...judgeAccounts(facts) },
    { name: 'index', ...judgeIndex(facts) },
    { name: 'repositories', ...judgeRepositories(facts) },
    { name: 'storage', ...judgeStorage(facts) },
    { name: 'jobs', ...judgeJobs(facts) },
    { name: 'webhooks', ...judgeWebhooks(facts) },
    ...(cell === undefined ? [] : [{ name: 'cell' as const, ...cell }]),
  ]
}

function judgeAccounts({ isAccountsRead }: Facts): Judgement {
  return isAccountsRead
    ? fine('The database responds')
    : wrong('The database does not respond. The log of the service has the error')
}

function judgeIndex({ isIndexRead, isWhole }: Facts): Judgement {
  if (!isIndexRead) return wrong('The index does not respond. The log of the service has the error')
  return isWhole
    ? fine('The index is complete')
    : wrong('The index is being rebuilt. Each organisation is served as soon as it is indexed')
}

function judgeRepositories(facts: Facts): Judgement {
  const unreadable = greatest(facts, 'grove_repositories_unreadable') ?? 0
  const suspect = greatest(facts, 'grove_repositories_suspect') ?? 0
  const behind = greatest(facts, 'grove_index_behind_nodes') ?? 0
  if (unreadable > 0)
    return wrong(`Damaged repositories: ${unreadable}. Find them with grove doctor, and replace them with mirrors`)
  if (suspect > 0)
    return wrong(`Read-only repositories, because a sync failed: ${suspect}. They wait until the disk works again`)
  if (behind > 0) return wrong(`Nodes that cannot be indexed: ${behind}. Lists and searches show their old content`)
  return fine('All repositories can be read and written')
}

function judgeStorage(facts: Facts): Judgement {
  const [free, used] = [greatest(facts, 'grove_storage_free_bytes'), greatest(facts, 'grove_storage_used_bytes')]
  if (free === undefined || used === undefined || free + used === 0)
    return wrong('The free space could not be read. The log of the service has the error')
  const share = free / (free + used)
  const percent = `${Math.floor(share * 100)} % of the file system is free`
  const faults = facts.samples
    .filter(({ name }) => name === 'grove_storage_faults_total')
    .reduce((sum, { value }) => sum + value, 0)
  const also = faults > 0 ? `. Requests that failed because of the storage since the start: ${faults}` : ''
  return share < leastFree ? wrong(`Only ${percent}. Make room or enlarge the disk${also}`) : fine(percent + also)
}

function judgeJobs(facts: Facts): Judgement {
  const { samples, now, startedAt, isWhole } = facts
  // Only the process that runs the jobs has this metric.
  if (startedAt === undefined || greatest(facts, 'grove_index_behind_nodes') === undefined)
    return wrong('The process that runs the background jobs did not respond')
  if (!isWhole) return fine('The jobs start when the index is complete')
  const succeeded = of(samples, 'grove_sweep_last_success_timestamp_seconds', 'index')
  if (succeeded === undefined)
    return now.getTime() - Date.parse(startedAt) > firstSweepMs
      ? wrong('The job that follows Git has not succeeded since the start. The log of the service has the error')
      : fine('The job that follows Git is in its first run')
  const lasted = of(samples, 'grove_sweep_duration_seconds', 'index') ?? 0
  const late = now.getTime() / 1_000 - succeeded - lasted * 21
  return late > lateSeconds
    ? wrong('The job that follows Git is overdue. Changes by other programs are shown late')
    : fine('The index follows Git')
}

function judgeWebhooks(facts: Facts): Judgement {
  const lost = greatest(facts, 'grove_webhook_secrets_lost') ?? 0
  return lost > 0
    ? wrong(`Webhooks whose secrets cannot be read: ${lost}. Set the SECRET_KEY that encrypted them as SECRET_KEY_OLD`)
    : fine('The secrets of webhooks can be read')
}

function judgeCell(facts: Facts): Judgement | undefined {
  const seconds = facts.samples.filter(({ name }) => name === 'grove_cell_lease_seconds').map(({ value }) => value)
  if (seconds.length === 0) return undefined
  return Math.min(...seconds) > 0
    ? fine('The cell has its lease')
    : wrong('The cell is read-only. PostgreSQL is unavailable, or another service uses its name')
}

/** Returns the greatest value of the metric in all processes. Undefined if no process reports it. */
function greatest({ samples }: Facts, metric: string): number | undefined {
  const values = samples.filter(({ name }) => name === metric).map(({ value }) => value)
  return values.length === 0 ? undefined : Math.max(...values)
}

/** Returns the metric of a background job. */
function of(samples: readonly Sample[], metric: string, chore: string): number | undefined {
  return samples.find(({ name, labels }) => name === metric && labels.chore === chore)?.value
}

function fine(detail: string): Judgement {
  return { ok: true, detail }
}

function wrong(detail: string): Judgement {
  return { ok: false, detail }
}
