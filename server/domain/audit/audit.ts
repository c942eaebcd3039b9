/**
 * Writes the audit: what only the service saw. Git and the log of events have the changes of content.
 *
 * A row is written before the answer. If that fails, the change has already happened, so it is not refused: the row goes
 * to the service's log at the level `error`. A full disk must not keep out those who can free it.
 */
import { userInfo } from 'node:os'
import { v7 as newId } from 'uuid'
import { type Cache, createCache } from '../../../gitstore/caching/caches.ts'
import { type NewAuditRow, putAuditRow, putAuditRowOnce } from '../../../index/log/audit.ts'
import { type AuditAction, auditCatalog } from '../../base/audit-actions.ts'
import type { Round } from '../../base/rounds.ts'
import type { Anonymous, Operator, Person } from '../actor.ts'
import { syncEvents } from '../event-log/durable-events.ts'
import { stripControls } from '../format/text-rules.ts'
import type { Services } from '../services.ts'
import { isByAgent, viaOf } from '../via.ts'

export type AuditDeps = Pick<Services, 'events' | 'now' | 'log' | 'origin' | 'config'>

interface AuditTarget {
  readonly type:
    | 'account'
    | 'session'
    | 'identity'
    | 'token'
    | 'connection'
    | 'invitation'
    | 'org'
    | 'node'
    | 'webhook'
    | 'key'
  readonly id: string
}

export interface AuditEntry {
  readonly action: AuditAction
  /** Absent: the service itself. */
  readonly actor?: Pick<Person, 'kind' | 'id' | 'name' | 'tokenId' | 'connection' | 'isBot'> | Anonymous | Operator
  readonly orgId?: string
  readonly nodeId?: string
  readonly target?: AuditTarget
  /** The account that it concerns. Default: the actor's. */
  readonly accountId?: string
  /** Default: success. */
  readonly outcome?: 'success' | 'failure' | 'refused'
  /** Ids, codes and numbers. Never a secret, an e-mail address, or a text that can be erased. */
  readonly detail?: Readonly<Record<string, unknown>>
}

/** Rows that happen often are counted in one. */
export interface Repeat {
  readonly per: 'hour' | 'day'
  /** Identifies the row, in addition to the action. */
  readonly key: string
  /** Bytes that were sent. */
  readonly bytes?: number
  /** How often it happened. Default: 1. */
  readonly count?: number
  /** Milliseconds since 1970 at which it began. Default: now. */
  readonly beganMs?: number
  /** True: only the first one is recorded, and nothing is counted. */
  readonly isOnce?: boolean
}

const periodMs = { hour: 3_600_000, day: 24 * 3_600_000 } as const
/** Rows and counts are durable after this time. */
const syncMs = 1_000
/** The most characters of a user agent. */
const agentLength = 500

/** The state of one open database in this process. */
interface State {
  /** Keys of rows that are written. */
  readonly written: Cache<true>
  /** Counts that are not written yet, by key. */
  readonly counts: Map<string, NewAuditRow>
  timer: NodeJS.Timeout | undefined
  /** Flushes that run. */
  flushing: number
}

const states = new WeakMap<Services['events'], State>()

function stateOf({ events }: Pick<Services, 'events'>): State {
  let state = states.get(events)
  if (state === undefined) {
    const written = createCache<true>('audited')
    state = { written, counts: new Map(), timer: undefined, flushing: 0 }
    states.set(events, state)
  }
  return state
}

/** Writes rows. Never throws: a failure is logged, with the rows. */
export async function audit(deps: AuditDeps, ...entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map((entry) => rowOf(deps, entry, null))
  const isWritten = await write(deps, rows, putAuditRow)
  if (!isWritten) return
  if (entries.some(({ action, actor }) => auditCatalog[action].isUrgent || actor?.kind === 'operator'))
    await syncNow(deps)
  else syncSoon(deps)
}

/**
 * Writes a row that counts. The first one is written at once, and further ones within a second. Never throws.
 */
export async function auditRepeat(deps: AuditDeps, entry: AuditEntry, repeat: Repeat): Promise<void> {
  const state = stateOf(deps)
  const { per, key, bytes = 0, count = 1, isOnce = false, beganMs = deps.now().getTime() } = repeat
  const period = Math.floor(beganMs / periodMs[per])
  const mergeKey = `${entry.action} ${key} ${per} ${period}`
  if (state.written.has(mergeKey)) {
    if (isOnce) return
    const known = state.counts.get(mergeKey) ?? { ...rowOf(deps, entry, mergeKey), count: 0, bytes: 0 }
    const at_ms = deps.now().getTime()
    state.counts.set(mergeKey, { ...known, at_ms, count: known.count + count, bytes: known.bytes + bytes })
    return syncSoon(deps)
  }
  state.written.set(mergeKey, true)
  const row = { ...rowOf(deps, entry, mergeKey), count, bytes }
  if (await write(deps, [row], isOnce ? putAuditRowOnce : putAuditRow)) syncSoon(deps)
  else state.written.delete(mergeKey)
}

/** Writes what is counted, and makes all rows durable. Call it before the database is closed. */
export async function flushAudit(deps: AuditDeps): Promise<void> {
  const state = stateOf(deps)
  clearTimeout(state.timer)
  state.timer = undefined
  const rows = [...state.counts.values()]
  state.counts.clear()
  state.flushing++
  if (rows.length > 0) await write(deps, rows, putAuditRow)
  await syncNow(deps)
  state.flushing--
}

/** Writes at once what is counted. */
export function auditRound(deps: AuditDeps): Round {
  const state = stateOf(deps)
  return {
    name: 'the audit',
    settle: async () => {
      const isIdle = state.timer === undefined && state.flushing === 0
      if (!isIdle) await flushAudit(deps)
      return isIdle
    },
  }
}

async function write(deps: AuditDeps, rows: readonly NewAuditRow[], put: typeof putAuditRow): Promise<boolean> {
  try {
    await deps.events.write(async (trx) => {
      for (const row of rows) await put(trx, row)
    })
    return true
  } catch (error) {
    for (const { actor_name: _, merge_key: __, ...row } of rows)
      deps.log.error({ err: error, audit: row }, 'a row of the audit could not be written; this line has it')
    return false
  }
}

function syncSoon(deps: AuditDeps): void {
  const state = stateOf(deps)
  state.timer ??= setTimeout(() => void flushAudit(deps), syncMs).unref()
}

/** Resolves when everything that was committed before the call is durable. */
async function syncNow(deps: AuditDeps): Promise<void> {
  await syncEvents(deps).catch((error: unknown) =>
    deps.log.error({ err: error }, 'the audit could not be synced; a power cut may lose its last rows'),
  )
}

function rowOf(deps: AuditDeps, entry: AuditEntry, merge_key: string | null): NewAuditRow {
  const { action, actor, orgId = null, nodeId = null, target, outcome = 'success', detail } = entry
  const { origin } = deps
  const person = actor?.kind === 'person' ? actor : undefined
  const agent = origin?.userAgent
  const via = person && viaOf(deps, person)
  const facts = isByAgent(via) ? { ...detail, via } : detail
  return {
    id: newId(),
    at_ms: deps.now().getTime(),
    org_id: orgId,
    node_id: nodeId,
    ...actorColumns(actor),
    token_id: person?.tokenId ?? null,
    account_id: entry.accountId ?? person?.id ?? null,
    action,
    target_type: target?.type ?? null,
    target_id: target?.id ?? null,
    outcome,
    via: origin?.door ?? (actor === undefined ? 'service' : 'command'),
    address: origin?.address || null,
    user_agent: agent === undefined ? null : stripControls(agent).slice(0, agentLength),
    request_id: origin?.requestId ?? null,
    count: 1,
    bytes: 0,
    detail: facts === undefined ? null : JSON.stringify(facts),
    merge_key,
  }
}

function actorColumns(actor: AuditEntry['actor']): Pick<NewAuditRow, 'actor_kind' | 'actor_id' | 'actor_name'> {
  if (actor === undefined) return { actor_kind: 'service', actor_id: null, actor_name: null }
  if (actor.kind === 'person') return { actor_kind: 'user', actor_id: actor.id, actor_name: actor.name }
  if (actor.kind === 'operator') return { actor_kind: 'operator', actor_id: null, actor_name: unixUser() }
  return { actor_kind: 'anonymous', actor_id: null, actor_name: null }
}

/** The Unix user of this process, or its number. */
function unixUser(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run a user that /etc/passwd does not have.
    return String(process.getuid?.() ?? '')
  }
}
