/** The most that an organisation may hold, and that a user may own. */
import { readUsage } from '../../index/derived/usage.ts'
import type { Deps } from '../base/deps.ts'
import { AppError } from '../base/errors.ts'

type QuotaDeps = Pick<Deps, 'config' | 'index'>

interface Creations {
  /** Creations that run in this process. The count that is read may have some of them already. */
  running: number
  /** How many creations have ended. */
  ended: number
}

/** Creations by what they count for, in this process. An entry has some 100 bytes. */
const creations = new Map<string, Creations>()

/**
 * Runs `work`, which creates nodes, if `QUOTA_NODES` has room for them. Without a quota it reads nothing. Nodes that
 * this process is creating count, so each process can exceed the quota only by those of other processes.
 *
 * @throws AppError quota_exceeded; errors of `work`
 */
export async function withRoomForNodes<T>(
  deps: QuotaDeps,
  orgId: string,
  added: number,
  work: () => Promise<T>,
): Promise<T> {
  const { quotaNodes: limit = 0 } = deps.config
  if (limit === 0 || added === 0) return work()
  const count = async () => (await readUsage(deps.index.read, orgId)).nodes
  return withRoom(`nodes ${orgId}`, { count, added, require: (used) => requireNodes(used, added, limit) }, work)
}

/**
 * Runs `work`, which creates an organisation, if the user owns fewer than `QUOTA_ORGS`. Otherwise as withRoomForNodes.
 *
 * @throws AppError quota_exceeded; errors of `work`
 */
export async function withRoomForOrg<T>(
  { config, index, placement }: Pick<Deps, 'config' | 'index' | 'placement'>,
  personId: string,
  work: () => Promise<T>,
): Promise<T> {
  const { quotaOrgs: limit = 0 } = config
  if (limit === 0) return work()
  const count = () => placement.countOwnedOrgs(index.read, personId)
  return withRoom(`orgs ${personId}`, { count, added: 1, require: (used) => requireOrg(used, limit) }, work)
}

/**
 * Refuses nodes beyond the quota before anything is written. Creations that run do not count.
 *
 * @throws AppError quota_exceeded
 */
export async function requireRoomForNodes({ config, index }: QuotaDeps, orgId: string, added: number): Promise<void> {
  const { quotaNodes: limit = 0 } = config
  if (limit === 0 || added === 0) return
  requireNodes((await readUsage(index.read, orgId)).nodes, added, limit)
}

interface Room {
  /** Counts what exists. */
  count(): Promise<number>
  readonly added: number
  /** Throws without room for `added` more. */
  require(used: number): void
}

async function withRoom<T>(key: string, { count, added, require }: Room, work: () => Promise<T>): Promise<T> {
  const of = creations.get(key) ?? { running: 0, ended: 0 }
  creations.set(key, of)
  const used = await countAround(of, count)
  require(used + of.running)
  of.running += added
  try {
    return await work()
  } finally {
    of.running -= added
    of.ended++
  }
}

/** Reads the count. Repeats it if a creation has ended since, which then is neither running nor counted. */
async function countAround(of: Creations, count: () => Promise<number>): Promise<number> {
  for (;;) {
    const { ended } = of
    const used = await count()
    if (of.ended === ended) return used
  }
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
