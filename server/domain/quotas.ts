/** The most that an organisation may hold, and that a user may own. */

import { type Cache, createCache } from '../../gitstore/caching/caches.ts'
import { findLimit } from '../../index/credentials/limits.ts'
import { readUsage, type Usage } from '../../index/derived/usage.ts'
import { AppError } from '../base/errors.ts'
import { openHold } from './room.ts'
import type { Services } from './services.ts'

type LimitDeps = Pick<Services, 'config' | 'credentials'>
type QuotaDeps = LimitDeps & Pick<Services, 'index'>
type NoticeDeps = Pick<Services, 'log' | 'metrics'>

/** The limits of an organisation. 0: none. */
interface OrgLimits {
  readonly nodes: number
  readonly bytes: number
}

/** Milliseconds for which a process remembers limits. A refusal reads them again. */
const knownMs = 10_000

interface Known {
  readonly limits: OrgLimits
  readonly until: number
}

/** The limits that this process has read, by the database and the organisation. */
const known = new WeakMap<Services['credentials'], Cache<Known>>()

/**
 * Runs `check` with the limits of an organisation. If it refuses, they are read again, because an administrator may have
 * raised them.
 *
 * @throws errors of `check`; DatabaseError
 */
export async function withLimits<T>(
  deps: LimitDeps,
  orgId: string,
  check: (limits: OrgLimits) => Promise<T>,
): Promise<T> {
  const remembered = known.get(deps.credentials)?.get(orgId)
  if (remembered === undefined || performance.now() > remembered.until) return check(await readLimits(deps, orgId))
  try {
    return await check(remembered.limits)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'quota_exceeded') throw error
    return check(await readLimits(deps, orgId))
  }
}

/** Reads the limits of an organisation, and remembers them. @throws DatabaseError */
export async function readLimits({ config, credentials }: LimitDeps, orgId: string): Promise<OrgLimits> {
  const own = await findLimit(credentials.read, orgId)
  const limits = {
    nodes: own?.max_nodes ?? config.quotaNodes ?? 0,
    bytes: own?.max_bytes ?? config.quotaBytes ?? 0,
  }
  const all = known.get(credentials) ?? createCache<Known>('org_limits')
  known.set(credentials, all.set(orgId, { limits, until: performance.now() + knownMs }))
  return limits
}

/** The share of a limit from which an organisation is nearly full. */
const nearlyFull = 0.9

/** Limits that organisations nearly use up, as far as this process knows. */
const noticed = new Set<string>()

interface Filling {
  readonly orgId: string
  readonly what: 'nodes' | 'bytes'
  readonly used: number
  readonly limit: number
}

/** Logs and counts that an organisation is nearly full, once until it has room again. */
export function noticeNearlyFull({ log, metrics }: NoticeDeps, filling: Filling): void {
  const { orgId, what, used, limit } = filling
  const key = `${what} ${orgId}`
  if (used < nearlyFull * limit) noticed.delete(key)
  else if (!noticed.has(key)) {
    noticed.add(key)
    metrics.quotasNearlyFull.inc({ what })
    log.warn(filling, 'an organisation uses 90 % of its quota')
  }
}

/** The usage of an organisation, and its limits. A limit is absent if there is none. */
export interface OrgUsage extends Usage {
  readonly max_nodes?: number
  readonly max_bytes?: number
}

/** Reads what an organisation uses, with its limits. @throws DatabaseError */
export function readOrgUsage(deps: QuotaDeps, orgId: string): Promise<OrgUsage> {
  return withLimits(deps, orgId, async ({ nodes, bytes }) => ({
    ...(await readUsage(deps.index.read, orgId)),
    ...(nodes > 0 && { max_nodes: nodes }),
    ...(bytes > 0 && { max_bytes: bytes }),
  }))
}

/**
 * Runs `work`, which creates nodes, if the limit has room for them. Nodes that
 * this process is creating count, so each process can exceed the quota only by those of other processes.
 *
 * @throws AppError quota_exceeded; errors of `work`
 */
export async function withRoomForNodes<T>(
  deps: QuotaDeps & NoticeDeps,
  orgId: string,
  added: number,
  work: () => Promise<T>,
): Promise<T> {
  if (added === 0) return work()
  const hold = openHold(`nodes ${orgId}`, async () => (await readUsage(deps.index.read, orgId)).nodes)
  try {
    await withLimits(deps, orgId, async ({ nodes: limit }) => {
      if (limit === 0) return
      const seen = await hold.see()
      requireNodes(seen.total(), added, limit)
      seen.hold(added)
      noticeNearlyFull(deps, { orgId, what: 'nodes', used: seen.total(), limit })
    })
    return await work()
  } finally {
    hold.end('added')
  }
}

/**
 * Runs `work`, which creates an organisation, if the user owns fewer than `QUOTA_ORGS`. Otherwise as withRoomForNodes.
 *
 * @throws AppError quota_exceeded; errors of `work`
 */
export async function withRoomForOrg<T>(
  { config, index, placement }: Pick<Services, 'config' | 'index' | 'placement'>,
  personId: string,
  work: () => Promise<T>,
): Promise<T> {
  const { quotaOrgs: limit = 0 } = config
  if (limit === 0) return work()
  const hold = openHold(`orgs ${personId}`, () => placement.countOwnedOrgs(index.read, personId))
  try {
    const seen = await hold.see()
    requireOrg(seen.total(), limit)
    seen.hold(1)
    return await work()
  } finally {
    hold.end('added')
  }
}

/**
 * Refuses nodes beyond the quota before anything is written. Creations that run do not count.
 *
 * @throws AppError quota_exceeded
 */
export async function requireRoomForNodes(deps: QuotaDeps, orgId: string, added: number): Promise<void> {
  if (added === 0) return
  await withLimits(deps, orgId, async ({ nodes: limit }) => {
    if (limit > 0) requireNodes((await readUsage(deps.index.read, orgId)).nodes, added, limit)
  })
}

function requireNodes(used: number, added: number, limit: number): void {
  if (used + added <= limit) return
  const more = added === 1 ? 'one more' : `${added} more`
  const detail = `The organisation has ${used} of at most ${limit} nodes, so ${more} cannot be added. Delete nodes, or ask the operator for a higher quota`
  throw new AppError('quota_exceeded', detail, { used, limit, what: 'nodes' })
}

function requireOrg(used: number, limit: number): void {
  if (used < limit) return
  const detail = `You own ${used} of at most ${limit} organisations, so you cannot create another. Delete one, or ask the operator for a higher quota`
  throw new AppError('quota_exceeded', detail, { used, limit, what: 'orgs' })
}
