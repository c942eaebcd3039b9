/**
 * Updates rows to match refs. This is the only place that does, for every kind of move. It is idempotent, and safe in
 * any number of processes: each change of a node's rows is a compare-and-swap of `node.version`.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError, isGitError } from '../../../gitstore/errors.ts'
import { awaitMoves } from '../../../gitstore/refs/await-moves.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import { listUnindexed, markIndexed } from '../../../gitstore/refs/unindexed-moves.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { markCounted, measureRepo, readUncounted, type Uncounted } from '../../../gitstore/repo-bytes.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { countMoves } from '../../../index/derived/change-log.ts'
import { isUnfinished, reviewersLedger, unfinished } from '../../../index/derived/entries-ledger.ts'
import { insertNewNodes, type NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { isProposed, type NodeRow } from '../../../index/derived/node-queries.ts'
import {
  deleteNodeRows,
  findNodeState,
  type NodeChange,
  replaceNodeRows,
  StaleWriteError,
} from '../../../index/derived/nodes.ts'
import { deleteOrgRow, findOrgHead, isOrgRowWhole } from '../../../index/derived/org-queries.ts'
import { replaceOrgRows } from '../../../index/derived/orgs.ts'
import { listOpenPulls, listPullNumbers } from '../../../index/derived/pulls.ts'
import { addBytes } from '../../../index/derived/usage.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import { AppError } from '../../base/errors.ts'
import type { NodeRefs } from '../event-log/describe-node.ts'
import { readRecorded, recordNewNodes, recordNode, recordOrg } from '../event-log/record.ts'
import { readOrgRecord, unknownInRow } from '../format/org-format.ts'
import { historiesOf, historyOf } from '../history.ts'
import { branchRef, branchRefs, isId, ledgerRef, main, nodeRepo, orgRepo } from '../layout.ts'
import { changedPulls, diffLedgers, eitherDiff, type PullRecord, readNodeState } from '../ledger/ledger.ts'
import { reconcileFoundRefs } from '../ledger/moved-branches.ts'
import { fromRow, selectOpenPulls, toPullRows } from '../ledger/pull-ledger.ts'
import { movesBetween } from '../ledger/reconcile.ts'
import type { Services } from '../services.ts'
import { logDamagedEntries, readEntryChange, writeEntriesInSlices } from './entry-rows.ts'
import { indexedBranches, keepBranches, matchesIndexed } from './indexed-branches.ts'
import { collectLogs } from './logs.ts'
import { nodeFields, proposedFields } from './node-rows.ts'

/** The most rounds of compare-and-swap. Each lost round means that another process made progress. */
const rounds = 50

/** Updates a node's rows to match its refs, and its ledger to match its branches. */
export async function indexNode(deps: Services, orgId: string, nodeId: string): Promise<void> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  await countFailure(deps, 'node', async () => {
    for (let round = 0; round < rounds; round++) {
      const unindexed = listUnindexed(repo)
      const uncounted = readUncounted(repo)
      // Read before the refs, so that no recorded move is undone.
      const before = await readRecorded(deps, orgId, nodeId)
      const { outcome, refs } = await indexOnce(deps, orgId, nodeId, repo, uncounted)
      if (outcome === 'again') continue
      // No ref has moved, but objects may have been written.
      if (outcome === 'agrees' && uncounted.added > 0)
        await deps.index.write((trx) => addBytes(trx, nodeId, uncounted.added))
      markCounted(repo, uncounted)
      // Tags have no rows.
      if (outcome === 'agrees' && unindexed.length > 0)
        await deps.index.write((trx) => countMoves(trx, orgId, [nodeId]))
      await tryRecord(deps, orgId, () =>
        recordNode(deps, { org_id: orgId, node_id: nodeId }, { before, refs }, historiesOf(deps)),
      )
      markIndexed(repo, unindexed)
      return
    }
    throw new GitError('busy', 'The node changes faster than it can be indexed; nothing is lost')
  })
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
async function tryRecord({ log }: Pick<Services, 'log'>, orgId: string, record: () => Promise<void>): Promise<void> {
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

/** A comparison of rows and refs. `again`: another writer was faster. */
interface Indexed {
  readonly outcome: 'agrees' | 'written' | 'again'
  readonly refs?: NodeRefs
}

const again: Indexed = { outcome: 'again' }

/**
 * Compares a node's rows with its refs once. Reads rows, then the ledger, then heads, so that no pull request is checked
 * against older branches.
 */
async function indexOnce(
  deps: Services,
  orgId: string,
  nodeId: string,
  repo: Repo,
  uncounted: Uncounted,
): Promise<Indexed> {
  const row = await findNodeState(deps.index.read, nodeId)
  if (row && row.org_id !== orgId) return { outcome: 'written' }
  if (!repoExists(repo)) return !row || (await deleteGone(deps, row, uncounted)) ? { outcome: 'written' } : again
  const indexed = row ? await indexedBranches(deps.index.read, row) : new Map<string, Oid>()
  const known = row?.open_pulls === 0 ? [] : (await listOpenPulls(deps.index.read, nodeId)).map(fromRow)
  await awaitMoves(deps.store, { repo, ref: main })
  const ledger = readRef(repo, ledgerRef)
  if (!ledger) throw new GitError('ref_damaged', `${ledgerRef} is missing`, { ref: ledgerRef })
  const proposed = isProposed(row)
  const state = row?.ledger === ledger ? (proposed ? 'proposed' : 'there') : await readNodeState(repo, ledger)
  if (state === 'hidden') return !row || (await deleteGone(deps, row, uncounted)) ? { outcome: 'written' } : again
  if (state === 'proposed' && row && !proposed) {
    await deleteGone(deps, row, uncounted)
    return again
  }
  const node = { orgId, nodeId, repo, ledger, row, indexed, branches: listRefs(repo, branchRefs) }
  // A proposed node causes no events.
  const refs = state === 'there' ? { refs: { ledger, branches: node.branches } } : {}
  if (row?.ledger === ledger && matchesIndexed(row, indexed, node.branches)) {
    if (row.entries_ledger === ledger) return { outcome: 'agrees', ...refs }
    if (row.entries_ledger === unfinished(ledger))
      return (await writeEntriesInSlices(deps, repo, row, ledger)) ? { outcome: 'written', ...refs } : again
  }
  const stop = deps.metrics.indexSeconds.startTimer({ kind: 'node' })
  const bytes = row ? uncounted.added : await wholeBytes(repo, uncounted)
  const change = await readChange(deps, { ...node, known, isProposed: state === 'proposed', bytes })
  const isWritten = change !== undefined && (await writeChange(deps, change))
  if (isWritten) stop()
  return isWritten && change.entries ? { outcome: 'written', ...refs } : again
}

/** The rows and refs of a node. */
interface Compared extends Pick<NodeChange, 'orgId' | 'nodeId' | 'ledger' | 'row' | 'indexed' | 'branches' | 'bytes'> {
  readonly repo: Repo
  /** The open pull requests in the rows. */
  readonly known: readonly PullRecord[]
  /** True if the ledger says that the node is only proposed. */
  readonly isProposed: boolean
}

/** Reads what the rows lack. Undefined if refs or rows have changed since they were compared. */
async function readChange(deps: Services, compared: Compared): Promise<NodeChange | undefined> {
  const { repo, known, isProposed: isOnlyProposed, ...node } = compared
  const { orgId, nodeId, ledger, row, indexed, branches } = node
  const changed = await readLedgerChange(deps, repo, nodeId, row, ledger).catch((error: unknown) => {
    if (!isErased(error, repo, ledger)) throw error
  })
  if (!changed) return undefined
  const { records, gone } = changed.pulls
  const moved = [...branches].filter(([ref, oid]) => indexed.get(ref) !== oid)
  const heads = moved.sort(([a], [b]) => Number(b === main) - Number(a === main)).map(([, oid]) => oid)
  const logs = await collectLogs(deps, nodeId, repo, [...new Set(heads)])
  if (!logs) return undefined
  const history = historyOf(deps, nodeId, repo)
  const open = selectOpenPulls(known, records, gone)
  const headOf = (branch: string) => branches.get(branchRef(branch)) ?? null
  const moves = movesBetween(indexed, branches, open, isOnlyProposed)
  const found = { nodeId, repo, ledger, version: row?.version, history }
  if (await reconcileFoundRefs(deps, found, { open, moves, headOf })) return undefined
  const fields = isOnlyProposed
    ? { proposed: await proposedFields(repo, ledger, open, headOf) }
    : await nodeFields(repo, isProposed(row) ? undefined : row, ledger, headOf('main'))
  const pulls = records.map((record) => toPullRows({ org_id: orgId, node_id: nodeId }, record))
  return { ...node, logs, pulls, pullsGone: gone, entries: changed.entries, ...fields }
}

/** Writes the change. False if another writer was faster. */
async function writeChange(deps: Services, change: NodeChange): Promise<boolean> {
  const { orgId, row, branches, entries } = change
  try {
    const written = await deps.index.write((trx) => replaceNodeRows(trx, change))
    if (written && entries) logDamagedEntries(deps, change, entries)
    if (written && row) keepBranches({ ...row, ...written }, branches)
    return written !== undefined
  } catch (error) {
    if (isDuplicate(error) || error instanceof StaleWriteError) return false
    if (await orgIsBehind(deps, orgId)) return false
    throw error
  }
}

/** Deletes the rows of a node that is gone. Its record of the deletion is not counted yet. */
function deleteGone({ index }: Services, row: NodeRow, { added }: Uncounted): Promise<boolean> {
  return index.write(async (trx) => {
    if (added > 0) await addBytes(trx, row.id, added)
    return deleteNodeRows(trx, row)
  })
}

/** Returns the bytes of a repository without a row. Measures it only if this process has not created it. */
async function wholeBytes(repo: Repo, { created, added }: Uncounted): Promise<number> {
  return created === undefined ? measureRepo(repo) : created + added
}

/** True if an erasure has removed this version of the ledger in the meantime. */
function isErased(error: unknown, repo: Repo, ledger: Oid): boolean {
  return isGitError(error, 'object_missing') && readRef(repo, ledgerRef) !== ledger
}

/**
 * Reads what changed in the ledger since its rows were written. An older version may have read pull requests since, but
 * not their reviewers. `entries` is undefined if they are written in slices, because they are too many or unfinished.
 */
async function readLedgerChange(
  { index }: Services,
  repo: Repo,
  nodeId: string,
  row: NodeRow | undefined,
  ledger: Oid,
) {
  const before = row?.ledger ?? null
  const diff = await diffLedgers(repo, before, ledger)
  const whole = row ? reviewersLedger(row) : null
  const since = whole === before ? diff : await diffLedgers(repo, whole, ledger)
  const known = before === ledger && whole === ledger ? [] : await listPullNumbers(index.read, nodeId)
  return {
    pulls: await changedPulls(repo, eitherDiff(diff, since), known),
    entries: row && isUnfinished(row) ? undefined : await readEntryChange(repo, nodeId, since),
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
  await countFailure(deps, 'org', () => indexOrgRows(deps, orgId))
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

/** The most nodes of a transaction. It also ends at this number of edges and tags, because other writers wait for it. */
const atOnce = { nodes: 50, edgesAndTags: 500 } as const

/**
 * Writes the rows of new nodes. A failure is logged and the sweep retries, as after any other change. A node that
 * another process has already indexed is compared with its refs.
 */
export async function indexNewNodes(deps: Services, orgId: string, nodes: readonly NewNodeRows[]): Promise<void> {
  for (let at = 0; at < nodes.length; ) {
    const some = fitting(nodes, at)
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

/** The nodes, beginning at `from`, that fit in one transaction. */
function fitting(nodes: readonly NewNodeRows[], from: number): readonly NewNodeRows[] {
  let seen = 0
  let to = from
  for (; to < nodes.length && to - from < atOnce.nodes && seen < atOnce.edgesAndTags; to++)
    seen += (nodes[to]?.edges.length ?? 0) + (nodes[to]?.tags.length ?? 0)
  return nodes.slice(from, to)
}
