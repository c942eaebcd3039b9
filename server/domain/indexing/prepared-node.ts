/**
 * Compares the rows of one node with its refs, and reads what the rows lack. Writes no rows, so that those of several
 * nodes can be written in one transaction.
 */

import { GitError } from '../../../gitstore/errors.ts'
import { awaitMoves } from '../../../gitstore/refs/await-moves.ts'
import { listRefs, readRef } from '../../../gitstore/refs/refs.ts'
import { listUnindexed, markIndexed } from '../../../gitstore/refs/unindexed-moves.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { markCounted, measureRepo, readUncounted, type Uncounted } from '../../../gitstore/repo-bytes.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { isUnfinished, reviewersLedger, unfinished } from '../../../index/derived/entries-ledger.ts'
import { isProposed, type NodeRow } from '../../../index/derived/node-queries.ts'
import { deleteNodeRows, findNodeState, type NodeChange, replaceNodeRows } from '../../../index/derived/nodes.ts'
import { listOpenPulls, listPullNumbers } from '../../../index/derived/pulls.ts'
import type { IndexTransaction } from '../../../index/derived/schema.ts'
import { addBytes } from '../../../index/derived/usage.ts'
import type { NodeRefs } from '../event-log/describe-node.ts'
import { type Recorded, readRecorded } from '../event-log/record.ts'
import { historyOf } from '../history.ts'
import { branchRef, branchRefs, ledgerRef, main, nodeRepo } from '../layout.ts'
import {
  changedPulls,
  diffLedgers,
  eitherDiff,
  isReplaced,
  type PullRecord,
  readNodeRecord,
  stateOfNode,
} from '../ledger/ledger.ts'
import { reconcileFoundRefs } from '../ledger/moved-branches.ts'
import { fromRow, selectOpenPulls, toPullRows } from '../ledger/pull-ledger.ts'
import { movesBetween } from '../ledger/reconcile.ts'
import type { Services } from '../services.ts'
import { logDamagedEntries, readEntryChange, type SliceDeps, writeEntriesInSlices } from './entry-rows.ts'
import { indexedBranches, keepBranches, matchesIndexed } from './indexed-branches.ts'
import { collectLogs } from './logs.ts'
import { nodeFields, proposedFields } from './node-rows.ts'

/** The services that comparing refs with rows uses. */
export type CompareDeps = Pick<Services, 'store' | 'index' | 'events' | 'now'> & SliceDeps

/** A node whose rows were compared with its refs. */
export interface PreparedNode {
  readonly nodeId: string
  readonly repo: Repo
  /**
   * `agrees`: nothing must be written. `gone`: the rows are deleted. `changed`: `change` is written. `done`: rows were
   * written already. `again`: another writer was faster, or wrote the ledger.
   */
  readonly outcome: 'agrees' | 'gone' | 'changed' | 'done' | 'again'
  readonly row?: NodeChange['row']
  readonly change?: NodeChange
  /** True if more must be written after this, by another comparison. */
  readonly isPart: boolean
  /** The refs that were read. Absent for a proposed node, which has no events. */
  readonly refs?: NodeRefs
  /** The ids of change sets that have moved the node. Its rows do not know these moves yet. */
  readonly sets: readonly string[]
  /** The recorded state. It was read before the refs, so that no recorded move is undone. */
  readonly recorded: Recorded
  readonly uncounted: Uncounted
  /** Moves that the rows may lack. */
  readonly unindexed: ReturnType<typeof listUnindexed>
}

/**
 * Compares a node's rows with its refs once. Reads rows, then the ledger, then heads, so that no pull request is checked
 * against older branches.
 */
export async function prepareNode(deps: CompareDeps, orgId: string, nodeId: string): Promise<PreparedNode> {
  const repo = nodeRepo(deps.store, orgId, nodeId)
  const unindexed = listUnindexed(repo)
  const uncounted = readUncounted(repo)
  const recorded = await readRecorded(deps, orgId, nodeId)
  const found = await compare(deps, { orgId, nodeId, repo, uncounted }).catch((error: unknown): Found => {
    if (!isReplaced(error, repo)) throw error
    return { outcome: 'again' }
  })
  return { sets: [], isPart: false, ...found, nodeId, repo, unindexed, uncounted, recorded }
}

interface Named {
  readonly orgId: string
  readonly nodeId: string
  readonly repo: Repo
  readonly uncounted: Uncounted
}

type Found = Pick<PreparedNode, 'outcome' | 'row' | 'change' | 'refs'> & Partial<Pick<PreparedNode, 'sets' | 'isPart'>>

async function compare(deps: CompareDeps, { orgId, nodeId, repo, uncounted }: Named): Promise<Found> {
  const row = await findNodeState(deps.index.read, nodeId)
  if (row && row.org_id !== orgId) return { outcome: 'done' }
  if (!repoExists(repo)) return row ? { outcome: 'gone', row } : { outcome: 'done' }
  const indexed = row ? await indexedBranches(deps.index.read, row) : new Map<string, Oid>()
  const known = (row?.open_pulls ?? 0) === 0 ? [] : (await listOpenPulls(deps.index.read, nodeId)).map(fromRow)
  await awaitMoves(deps.store, { repo, ref: main })
  const ledger = readRef(repo, ledgerRef)
  if (!ledger) throw new GitError('ref_damaged', `${ledgerRef} is missing`, { ref: ledgerRef })
  const proposed = isProposed(row)
  const record = row?.ledger === ledger ? undefined : await readNodeRecord(repo, ledger)
  const state = record ? stateOfNode(record) : proposed ? 'proposed' : 'there'
  if (state === 'hidden') {
    const sets = record?.proposed_in === undefined ? [] : [record.proposed_in]
    return row ? { outcome: 'gone', row, sets } : { outcome: 'done' }
  }
  if (state === 'proposed' && row && !proposed) return { outcome: 'gone', row, isPart: true }
  const node = { orgId, nodeId, repo, ledger, row, indexed, branches: listRefs(repo, branchRefs) }
  // A proposed node has no events.
  const refs = state === 'there' ? { refs: { ledger, branches: node.branches } } : {}
  if (row?.ledger === ledger && matchesIndexed(row, indexed, node.branches)) {
    if (row.entries_ledger === ledger) return { outcome: 'agrees', row, ...refs }
    if (row.entries_ledger === unfinished(ledger))
      return { outcome: (await writeEntriesInSlices(deps, repo, row, ledger)) ? 'done' : 'again', ...refs }
  }
  const bytes = row ? uncounted.added : await wholeBytes(repo, uncounted)
  const change = await readChange(deps, { ...node, known, isProposed: state === 'proposed', bytes })
  if (change === undefined) return { outcome: 'again' }
  // Too many entries are written in slices, later.
  return { outcome: 'changed', row, change, ...refs, sets: mergedSetsOf(change), isPart: change.entries === undefined }
}

/** The change sets whose merge the change brings. */
function mergedSetsOf({ pulls }: NodeChange): string[] {
  return pulls.flatMap(({ pull: { status, change_set } }) => (status === 'merged' && change_set ? change_set : []))
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
async function readChange(deps: CompareDeps, compared: Compared): Promise<NodeChange | undefined> {
  const { repo, known, isProposed: isOnlyProposed, ...node } = compared
  const { orgId, nodeId, ledger, row, indexed, branches } = node
  const changed = await readLedgerChange(deps, repo, nodeId, row, ledger).catch((error: unknown) => {
    if (!isReplaced(error, repo, ledger)) throw error
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

/**
 * Writes the rows of a prepared node. Writes nothing and returns false if they have changed since it was prepared. If
 * the transaction fails, call nothing else for the node.
 *
 * @throws the errors of replaceNodeRows
 */
export async function writePrepared(
  trx: IndexTransaction,
  { outcome, row, change, uncounted }: PreparedNode,
): Promise<Written> {
  if (outcome === 'changed' && change) return (await replaceNodeRows(trx, change)) ?? false
  if (outcome !== 'gone' || !row) return outcome !== 'again'
  // The record of its deletion is not counted yet.
  if (uncounted.added > 0) await addBytes(trx, row.id, uncounted.added)
  return deleteNodeRows(trx, row)
}

/** False: nothing was written. The version of the row, if the node has one. */
export type Written = boolean | Pick<NodeRow, 'version' | 'changed'>

/** Notes what follows from rows that were written. Call it after the transaction. */
export function keepWritten(deps: Services, { row, change }: PreparedNode, written: Written): void {
  if (!change || typeof written === 'boolean') return
  if (change.entries) logDamagedEntries(deps, change, change.entries)
  if (row) keepBranches({ ...row, ...written }, change.branches)
}

/** Notes that the index has followed the refs and the bytes that were read. */
export function markPrepared({ repo, uncounted, unindexed }: PreparedNode): void {
  markCounted(repo, uncounted)
  markIndexed(repo, unindexed)
}

/** Returns the bytes of a repository without a row. Measures it only if this process has not created it. */
async function wholeBytes(repo: Repo, { created, added }: Uncounted): Promise<number> {
  return created === undefined ? measureRepo(repo) : created + added
}

/**
 * Reads what changed in the ledger since its rows were written. An older version may have read pull requests since, but
 * not their reviewers. `entries` is undefined if they are written in slices, because they are too many or unfinished.
 */
async function readLedgerChange(
  { index }: Pick<Services, 'index'>,
  repo: Repo,
  nodeId: string,
  row: NodeRow | undefined,
  ledger: Oid,
) {
  const before = row?.ledger ?? null
  const diff = await diffLedgers(repo, before, ledger)
  const whole = row ? reviewersLedger(row) : null
  const since = whole === before ? diff : await diffLedgers(repo, whole, ledger)
  const known =
    row === undefined || (before === ledger && whole === ledger) ? [] : await listPullNumbers(index.read, nodeId)
  return {
    pulls: await changedPulls(repo, eitherDiff(diff, since), known),
    entries: row && isUnfinished(row) ? undefined : await readEntryChange(repo, nodeId, since),
  }
}
