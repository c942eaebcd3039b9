/** The most that an organisation may hold. */
import { readNodeCount } from '../../index/derived/org-queries.ts'
import type { Deps } from '../base/deps.ts'
import { AppError } from '../base/errors.ts'

/**
 * Refuses new nodes beyond `QUOTA_NODES`. Without a quota it reads nothing. No lock is held until the nodes are
 * counted, so concurrent requests can each pass once.
 *
 * @throws AppError quota_exceeded
 */
export async function requireRoomForNodes(
  { config, index }: Pick<Deps, 'config' | 'index'>,
  orgId: string,
  added: number,
): Promise<void> {
  const { quotaNodes: limit = 0 } = config
  if (limit === 0 || added === 0) return
  const used = await readNodeCount(index.read, orgId)
  if (used + added <= limit) return
  throw new AppError(
    'quota_exceeded',
    `The organisation has ${used} of at most ${limit} nodes. Delete nodes, or ask the operator for a higher quota`,
    { used, limit, what: 'nodes' },
  )
}
