/** The most that an organisation may hold, and that a user may own. */
import { readUsage } from '../../index/derived/usage.ts'
import type { Deps } from '../base/deps.ts'
import { AppError } from '../base/errors.ts'
import { withRoom } from './room.ts'

type QuotaDeps = Pick<Deps, 'config' | 'index'>

/** The limits of an organisation. 0: none. */
export interface OrgLimits {
  readonly nodes: number
  readonly bytes: number
}

export async function limitsOf({ config }: Pick<Deps, 'config'>, _orgId: string): Promise<OrgLimits> {
  return { nodes: config.quotaNodes ?? 0, bytes: config.quotaBytes ?? 0 }
}

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
  if (added === 0) return work()
  const { nodes: limit } = await limitsOf(deps, orgId)
  if (limit === 0) return work()
  const count = async () => (await readUsage(deps.index.read, orgId)).nodes
  const require = (used: number) => requireNodes(used, added, limit)
  return withRoom(`nodes ${orgId}`, count, { amount: added, require }, work)
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
  return withRoom(`orgs ${personId}`, count, { amount: 1, require: (used) => requireOrg(used, limit) }, work)
}

/**
 * Refuses nodes beyond the quota before anything is written. Creations that run do not count.
 *
 * @throws AppError quota_exceeded
 */
export async function requireRoomForNodes(deps: QuotaDeps, orgId: string, added: number): Promise<void> {
  if (added === 0) return
  const { nodes: limit } = await limitsOf(deps, orgId)
  if (limit > 0) requireNodes((await readUsage(deps.index.read, orgId)).nodes, added, limit)
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
