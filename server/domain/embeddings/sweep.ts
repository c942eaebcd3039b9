/** Removes vectors that are not needed. They are of gone nodes and organisations, earlier texts and earlier models. */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { exists, listNames } from '../../../gitstore/fs-exists.ts'
import { filterNodesOf } from '../../../index/derived/changed-nodes.ts'
import {
  deleteProgress,
  eraseNodeRows,
  eraseSlice,
  findSweepDue,
  listModelsOf,
  listNodeIds,
  markSwept,
} from '../../../index/vectors/erasure.ts'
import type { VectorsAt } from '../../../index/vectors/progress.ts'
import { nodeRepo, orgFolder, parseTrashedNode, trashFolder } from '../layout.ts'
import type { Services } from '../services.ts'
import { coveredOf } from './coverage.ts'
import type { Embeddings } from './embeddings.ts'
import { eraseOrgVectors, removeUnnamed, scrub } from './erasure.ts'

/** Milliseconds between two sweeps of an organisation. */
const weekMs = 7 * 24 * 3_600_000

/** Nodes per slice. */
const nodesAtOnce = 500

/** The share of nodes that the current model must have before earlier ones are removed. */
const enough = 0.99

/** Sweeps one organisation that is due. Returns false if more may be due. @throws DatabaseError; system errors */
export async function sweepVectors(deps: Pick<Services, 'embeddings' | 'store' | 'index' | 'now'>): Promise<boolean> {
  const { embeddings, store, now } = deps
  if (embeddings === undefined) return true
  const { vectors } = embeddings
  const due = await findSweepDue(vectors.read, new Date(now().getTime() - weekMs))
  if (due === undefined) {
    await scrub(deps, vectors)
    return true
  }
  const { orgId } = due
  if (!(await isKept(deps, orgId))) {
    await eraseOrgVectors(deps, orgId)
    return false
  }
  await removeGoneNodes(deps, embeddings, due)
  await removeEarlierModels(deps, embeddings, orgId)
  for (const model of await listModelsOf(vectors.read, orgId)) await removeUnnamed(vectors, { orgId, model })
  await scrub({ store }, vectors)
  await vectors.write((trx) => markSwept(trx, due, now()))
  return false
}

/** True if the organisation is served or in the trash. */
async function isKept({ store }: Pick<Services, 'store'>, orgId: string): Promise<boolean> {
  if (exists(orgFolder(store, orgId))) return true
  return (await listNames(trashFolder(store))).some((name) => name.startsWith(`${orgId}.`) && /\.\d+$/.test(name))
}

/** Removes the rows of nodes that are neither served nor in the trash. The index may lack nodes, so folders decide. */
async function removeGoneNodes(
  { index, store }: Pick<Services, 'index' | 'store'>,
  { vectors }: Embeddings,
  at: VectorsAt,
): Promise<void> {
  const { orgId } = at
  const trashed = new Set<string>()
  for (const name of await listNames(join(trashFolder(store), orgId))) {
    const node = name.endsWith('.git') ? parseTrashedNode(name.slice(0, -'.git'.length)) : undefined
    if (node) trashed.add(node.nodeId)
  }
  // All nodes of a deleted organisation are in its folder.
  if (!exists(orgFolder(store, orgId))) return
  let after = ''
  for (;;) {
    const ids = await listNodeIds(vectors.read, at, after, nodesAtOnce)
    const last = ids.at(-1)
    if (last === undefined) return
    const present = await filterNodesOf(index.read, orgId, ids)
    const gone = ids.filter((id) => !present.has(id) && !trashed.has(id) && !exists(nodeRepo(store, orgId, id).dir))
    if (gone.length > 0) await vectors.write((trx) => eraseNodeRows(trx, orgId, gone))
    after = last
    await nextTurn()
  }
}

/** Removes the vectors of other models, once the current one has replaced them. */
async function removeEarlierModels(
  deps: Pick<Services, 'index'>,
  embeddings: Embeddings,
  orgId: string,
): Promise<void> {
  const { model, vectors } = embeddings
  if ((await coveredOf(deps, embeddings, orgId)) < enough) return
  const present = await vectors.read.selectFrom('model').select('number').where('id', '=', model.id).executeTakeFirst()
  for (const number of await listModelsOf(vectors.read, orgId)) {
    if (number === present?.number) continue
    await vectors.write((trx) => deleteProgress(trx, { orgId, model: number }))
    while (await vectors.write((trx) => eraseSlice(trx, orgId, number))) await nextTurn()
  }
}
