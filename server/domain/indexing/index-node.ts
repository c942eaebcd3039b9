/**
 * Updates rows to match refs. This is the only place that does, for every kind of move. It is idempotent, and safe in
 * any number of processes: each change of a node's rows is a compare-and-swap of `node.version`.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import { listUnindexed, markIndexed } from '../../../gitstore/refs/unindexed-moves.ts'
import { markCounted, readUncounted } from '../../../gitstore/repo-bytes.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { countMoves } from '../../../index/derived/change-log.ts'
import { findSetById } from '../../../index/derived/change-sets.ts'
import { insertNewNodes, type NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { StaleWriteError } from '../../../index/derived/nodes.ts'
import { deleteOrgRow, findOrgHead, isOrgRowWhole } from '../../../index/derived/org-queries.ts'
import { replaceOrgRows } from '../../../index/derived/orgs.ts'
import { addBytes } from '../../../index/derived/usage.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import { AppError } from '../../base/errors.ts'
import { recordNewNodes, recordNode, recordOrg } from '../event-log/record.ts'
import { readOrgRecord, unknownInRow } from '../format/org-format.ts'
import { historiesOf } from '../history.ts'
import { isId, main, nodeRepo, orgRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { keepWritten, markPrepared, type PreparedNode, prepareNode, writePrepared } from './prepared-node.ts'
import { indexSets } from './set-rows.ts'

/** The most rounds of compare-and-swap. Each lost round means that another process made progress. */
const rounds = 50

/** Updates a node's rows to match its refs, and its ledger to match its branches. */
export async function indexNode(deps: Services, orgId: string, nodeId: string): Promise<void> {
  const joined = new Set<string>()
  await countFailure(deps, 'node', async () => {
    for (let round = 0; round < rounds; round++) {
      const stop = deps.metrics.indexSeconds.startTimer({ kind: 'node' })
      const node = await prepareNode(deps, orgId, nodeId)
      if (node.outcome === 'again' || (await joinSets(deps, orgId, node, joined))) continue
      const isWritten = await write(deps, orgId, node)
      if (isWritten && node.outcome === 'changed') stop()
      if (!isWritten || node.isPart) continue
      const { recorded: before, refs } = node
      await tryRecord(deps, orgId, () =>
        recordNode(deps, { org_id: orgId, node_id: nodeId }, { before, refs }, historiesOf(deps)),
      )
      markPrepared(node)
      return
    }
    throw new GitError('busy', 'The node changes faster than it can be indexed; nothing is lost')
  })
}

/** Indexes the change sets that have moved the node, together with all of their nodes. True if it has indexed one. */
async function joinSets(deps: Services, orgId: string, { sets }: PreparedNode, joined: Set<string>): Promise<boolean> {
  const missing = sets.filter((id) => !joined.has(id))
  for (const id of missing) joined.add(id)
  if (missing.length === 0 || !(await isAnyUnmerged(deps, orgId, missing))) return false
  await indexSets(deps, orgId)
  return true
}

/** True if one of these sets is not merged in its rows. */
async function isAnyUnmerged({ index }: Services, orgId: string, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if ((await findSetById(index.read, orgId, id))?.status !== 'merged') return true
  return false
}

/** Writes the rows of a prepared node. False if another writer was faster. */
async function write(deps: Services, orgId: string, node: PreparedNode): Promise<boolean> {
  const { nodeId, outcome, uncounted, unindexed } = node
  if (outcome === 'done') return true
  if (outcome === 'agrees') {
    // No ref has moved, but objects may have been written.
    if (uncounted.added > 0) await deps.index.write((trx) => addBytes(trx, nodeId, uncounted.added))
    // Tags have no rows.
    if (unindexed.length > 0) await deps.index.write((trx) => countMoves(trx, orgId, [nodeId]))
    return true
  }
  try {
    const written = await deps.index.write((trx) => writePrepared(trx, node))
    keepWritten(deps, node, written)
    return written !== false
  } catch (error) {
    if (isDuplicate(error) || error instanceof StaleWriteError) return false
    if (await orgIsBehind(deps, orgId)) return false
    throw error
  }
}

async function countFailure({ metrics }: Services, kind: 'node' | 'org', work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    metrics.indexFailures.inc({ kind })
    throw error
  }
}

/** Records events. A failure is only logged, because the sweep records what is missing. */
export async function tryRecord(
  { log }: Pick<Services, 'log'>,
  orgId: string,
  record: () => Promise<void>,
): Promise<void> {
  await record().catch((error: unknown) => {
    log.error({ err: error, orgId }, 'events could not be recorded; the sweep retries')
  })
}

/** Indexes the node. A failure is only logged: the change is already committed, and the sweep retries. */
export async function tryIndexNode(deps: Services, orgId: string, nodeId: string): Promise<void> {
  await indexNode(deps, orgId, nodeId).catch((error: unknown) => {
    deps.log.error({ err: error, orgId, nodeId }, 'a node could not be indexed; the next read retries')
  })
}

/**
 * Reads the result of a change for the response. The change is valid even if this fails.
 *
 * @throws AppError outcome_unknown; the refusals of `read`
 */
export async function readResult<T>({ log }: Pick<Services, 'log'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof AppError) throw error
    log.error({ err: error }, 'a change was made, but the result could not be read')
    throw new AppError(
      'outcome_unknown',
      'The change was made, but the result could not be read. Read it again before you repeat the request',
    )
  }
}

/** Indexes the organisation if its row is missing: a node's first row needs it. Returns true if it did. */
async function orgIsBehind(deps: Services, orgId: string): Promise<boolean> {
  if ((await findOrgHead(deps.index.read, orgId)) || !repoExists(orgRepo(deps.store, orgId))) return false
  await indexOrg(deps, orgId)
  return true
}

/**
 * Updates the rows of an organisation and its members to match org.git. In a cell, it then updates the organisation's
 * card in the directory. If the card cannot be written, that is not a failure, because the sweep writes it; unless
 * `how` requires it.
 */
export async function indexOrg(deps: Services, orgId: string, how?: 'with its card'): Promise<void> {
  if (!isId(orgId)) return
  const repo = orgRepo(deps.store, orgId)
  const unindexed = listUnindexed(repo)
  await countFailure(deps, 'org', async () => {
    await indexOrgRows(deps, orgId)
    await indexSets(deps, orgId)
  })
  await tryRecord(deps, orgId, () => recordOrg(deps, orgId))
  if (how === undefined) await tryUpdateCard(deps, orgId)
  else await deps.placement.updateCard(deps.store, orgId)
  markIndexed(repo, unindexed)
  // Its own repository does not count.
  markCounted(repo, readUncounted(repo))
}

/** Updates the card of an organisation. A failure is only logged, because the sweep writes the card. */
export async function tryUpdateCard({ log, placement, store }: Services, orgId: string): Promise<void> {
  await placement.updateCard(store, orgId).catch((error: unknown) => {
    log.warn({ err: error, orgId }, 'the card of an organisation could not be written; the sweep retries')
  })
}

async function indexOrgRows(deps: Services, orgId: string): Promise<void> {
  const repo = orgRepo(deps.store, orgId)
  for (let round = 0; round < rounds; round++) {
    const before = (await findOrgHead(deps.index.read, orgId)) ?? null
    const head = repoExists(repo) ? readRef(repo, main) : null
    if (head === null && repoExists(repo)) throw new GitError('ref_damaged', `${main} is missing`, { ref: main })
    const isWhole = await isOrgRowWhole(deps.index.read, orgId, (words) => unknownInRow(words).length > 0)
    if (before === head && isWhole) return
    const stop = deps.metrics.indexSeconds.startTimer({ kind: 'org' })
    if (head === null) {
      await deps.index.write((trx) => deleteOrgRow(trx, orgId))
      return
    }
    // An older version leaves out members with a role that it does not know.
    const { org, members, damaged } = await readOrgRecord(repo, head, isWhole ? before : null)
    if (damaged.length > 0)
      deps.log.error({ orgId, damaged }, 'files of members cannot be read; these users are not members')
    if (org.closed === 1)
      deps.log.error({ orgId, requires: org.requires }, 'an organisation is closed: it needs a newer version')
    await deps.index.write((trx) => replaceOrgRows(trx, before, { ...org, head }, members))
    stop()
  }
}

/** The most nodes of a transaction. Other writers wait for it, some 20 ms. */
const nodesAtOnce = 50

/** The most edges and tags of new nodes in a transaction. */
const edgesAndTagsAtOnce = 500

/**
 * Writes the rows of new nodes. A failure is logged and the sweep retries, as after any other change. A node that
 * another process has already indexed is compared with its refs.
 */
export async function indexNewNodes(deps: Services, orgId: string, nodes: readonly NewNodeRows[]): Promise<void> {
  for (let at = 0; at < nodes.length; ) {
    const some = fitting(nodes, at, edgesAndTagsAtOnce, ({ edges, tags }) => edges.length + tags.length)
    at += some.length
    const stop = deps.metrics.indexSeconds.startTimer({ kind: 'node' })
    try {
      await deps.index.write((trx) => insertNewNodes(trx, orgId, some))
      for (const { node } of some)
        markCounted(nodeRepo(deps.store, orgId, node.id), { created: node.bytes ?? undefined, added: 0 })
      stop()
    } catch (error) {
      if (!isDuplicate(error)) deps.log.warn({ err: error, orgId }, 'new nodes are indexed one by one')
      for (const { node } of some) await tryIndexNode(deps, orgId, node.id)
    }
    await tryRecord(deps, orgId, () => recordNewNodes(deps, orgId, some, historiesOf(deps)))
    await nextTurn()
  }
}

/**
 * The items, beginning at `from`, that fit in one transaction.
 *
 * @param most the number of rows at which it ends
 */
export function fitting<T>(items: readonly T[], from: number, most: number, rowsOf: (item: T) => number): readonly T[] {
  const some: T[] = []
  let rows = 0
  for (const item of items.slice(from, from + nodesAtOnce)) {
    if (rows >= most) break
    rows += rowsOf(item)
    some.push(item)
  }
  return some
}
