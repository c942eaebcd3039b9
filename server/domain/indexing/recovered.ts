/** Indexes what dead processes have left: nodes in their notes, repositories in their tokens. */
import { basename, dirname, relative } from 'node:path'
import { isDamage } from '../../../gitstore/errors.ts'
import { withRepoIntent } from '../../../gitstore/refs/ref-transaction.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { countMoves, ownRepository } from '../../../index/derived/change-log.ts'
import { isId, orgRepository } from '../layout.ts'
import type { Services } from '../services.ts'
import { correctBytes } from './byte-counts.ts'
import { indexNode, indexOrg } from './index-node.ts'

/**
 * The note of a transaction: the nodes to index if its process dies. Without nodes, only the organisation is indexed.
 */
export function encodeNote(orgId: string, nodeIds: readonly string[]): string {
  return `${orgId}/${nodeIds.join(',')}`
}

/**
 * Runs `work`, so that recovery indexes its repositories if this process dies. `work` creates or removes the
 * repositories of these nodes or of the organisation, and indexes them. If a power cut has destroyed the note, the
 * sweep finds them. Takes about 0.1 ms.
 */
export function withNodeIntent<T>(
  { store }: Pick<Services, 'store'>,
  orgId: string,
  nodeIds: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  return withRepoIntent(store, orgId, encodeNote(orgId, nodeIds), work)
}

/** Indexes the nodes or the organisation in the note of an interrupted transaction. Damage is only logged. */
export async function recoverNoted(deps: Services, note: string): Promise<void> {
  const [orgId = '', nodeIds = ''] = note.split('/')
  if (!isId(orgId)) return
  if (nodeIds === '') await indexLeft(deps, orgId)
  for (const nodeId of nodeIds.split(',')) if (isId(nodeId)) await indexLeft(deps, orgId, nodeId)
}

/** Indexes the repository that a token of a dead process names. Damage is only logged. */
export async function recoverRepository(deps: Services, { dir }: Repo): Promise<void> {
  const [orgId, name] = [relative(deps.store.root, dirname(dir)), basename(dir)]
  if (!isId(orgId)) return
  const nodeId = basename(name, '.git')
  if (name === orgRepository) await indexLeft(deps, orgId)
  else if (isId(nodeId)) await indexLeft(deps, orgId, nodeId)
}

/**
 * Indexes a repository and counts a move. The dead process may have moved tags, which have no rows, and written objects,
 * which are measured.
 */
async function indexLeft(deps: Services, orgId: string, nodeId?: string): Promise<void> {
  try {
    await (nodeId === undefined ? indexOrg(deps, orgId) : indexNode(deps, orgId, nodeId))
    if (nodeId !== undefined) await correctBytes(deps, orgId, nodeId)
  } catch (error) {
    if (!isDamage(error)) throw error
    deps.log.error({ err: error, orgId, nodeId }, 'a repository that a dead process has changed cannot be read')
  }
  await deps.index.write((trx) => countMoves(trx, orgId, [nodeId ?? ownRepository]))
}
