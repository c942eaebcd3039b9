/** Measures repositories, and corrects the bytes in their rows. */
import { markCounted, measureRepo, readUncounted } from '../../../gitstore/repo-bytes.ts'
import { findBytes, listTrashBytes, replaceBytes, replaceTrashBytes } from '../../../index/derived/usage.ts'
import { nodeRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { listTrashed, type TrashedNode } from './stored-repositories.ts'

type CountDeps = Pick<Services, 'index' | 'store'>

/**
 * Sets the bytes of a node to what its files have. If they change at the same time, the row stays, and the next
 * measurement corrects it.
 */
export async function correctBytes({ index, store }: CountDeps, orgId: string, nodeId: string): Promise<void> {
  const repo = nodeRepo(store, orgId, nodeId)
  const before = await findBytes(index.read, nodeId)
  if (before === undefined) return
  const uncounted = readUncounted(repo)
  const bytes = await measureRepo(repo)
  if (bytes === before && uncounted.added === 0) return
  if (await index.write((trx) => replaceBytes(trx, nodeId, before, bytes))) markCounted(repo, uncounted)
}

/**
 * Updates the rows of an organisation's trash to match its folder. Measures only nodes without a row.
 *
 * @param again nodes that are measured in any case
 */
export async function countTrash(
  { index, store }: CountDeps,
  orgId: string,
  again: (nodeId: string) => boolean = () => false,
): Promise<void> {
  const copies = new Map<string, TrashedNode[]>()
  for (const one of await listTrashed(store, orgId)) {
    const same = copies.get(one.nodeId)
    if (same) same.push(one)
    else copies.set(one.nodeId, [one])
  }
  const known = new Set(await listTrashBytes(index.read, orgId))
  const bytesOf = new Map<string, number>([...known].filter((id) => !copies.has(id)).map((id) => [id, 0]))
  for (const [id, all] of copies) {
    if (known.has(id) && !again(id)) continue
    let bytes = 0
    for (const { repo } of all) bytes += await measureRepo(repo)
    bytesOf.set(id, bytes)
  }
  if (bytesOf.size > 0) await index.write((trx) => replaceTrashBytes(trx, orgId, bytesOf))
}
