/** The most that an organisation may hold. */
import { readNodeCount } from '../../index/derived/org-queries.ts'
import type { Deps } from '../base/deps.ts'
import { AppError } from '../base/errors.ts'

type QuotaDeps = Pick<Deps, 'config' | 'index'>

interface Creations {
  /** Nodes that this process is creating. The index may have some of them already. */
  running: number
  /** How many creations have ended. */
  ended: number
}

/** Creations by organisation, in this process. An entry has some 100 bytes. */
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
  const of = creations.get(orgId) ?? { running: 0, ended: 0 }
  creations.set(orgId, of)
  const used = await countNodes(deps, orgId, of)
  requireRoom(used + of.running, added, limit)
  of.running += added
  try {
    return await work()
  } finally {
    of.running -= added
    of.ended++
  }
}

/**
 * Refuses nodes beyond the quota before anything is written. Creations that run do not count.
 *
 * @throws AppError quota_exceeded
 */
export async function requireRoomForNodes({ config, index }: QuotaDeps, orgId: string, added: number): Promise<void> {
  const { quotaNodes: limit = 0 } = config
  if (limit === 0 || added === 0) return
  requireRoom(await readNodeCount(index.read, orgId), added, limit)
}

/** Reads the count. Repeats it if a creation has ended since, which then is neither running nor counted. */
async function countNodes({ index }: QuotaDeps, orgId: string, of: Creations): Promise<number> {
  for (;;) {
    const { ended } = of
    const used = await readNodeCount(index.read, orgId)
    if (of.ended === ended) return used
  }
}

function requireRoom(used: number, added: number, limit: number): void {
  if (used + added <= limit) return
  const more = added === 1 ? 'one more' : `${added} more`
  const detail = `The organisation has ${used} of at most ${limit} nodes, so ${more} cannot be added. Delete nodes, or ask the operator for a higher quota`
  throw new AppError('quota_exceeded', detail, { used, limit, what: 'nodes' })
}
