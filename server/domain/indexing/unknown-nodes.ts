/**
 * Indexes nodes without rows, many in one transaction. While the index is rebuilt, a thread reads the next ones while
 * this one writes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import pLimit from 'p-limit'
import { listUnindexed } from '../../../gitstore/refs/unindexed-moves.ts'
import { readUncounted } from '../../../gitstore/repo-bytes.ts'
import { insertUnknownNodes } from '../../../index/derived/new-nodes.ts'
import { type NodeChange, StaleWriteError } from '../../../index/derived/nodes.ts'
import { isDuplicate } from '../../../index/sqlite/database.ts'
import { isDescribed } from '../event-log/describe-node.ts'
import { recordNodes } from '../event-log/record.ts'
import { historiesOf } from '../history.ts'
import { nodeRepo } from '../layout.ts'
import type { Services } from '../services.ts'
import { logDamagedEntries } from './entry-rows.ts'
import { fitting, tryRecord } from './index-node.ts'
import { type CompareDeps, prepareNode } from './prepared-node.ts'

/** A node without rows, as its repository has it. */
export interface UnknownNode {
  readonly change: NodeChange
  /** True if the log of events has all of its refs. */
  readonly isRecorded: boolean
}

/** Reads nodes without rows. Leaves out those that indexing must take one by one. */
export type ReadUnknown = (orgId: string, nodeIds: readonly string[]) => Promise<UnknownNode[]>

/** Nodes that are read at the same time. Half of the time is waiting for files. */
const readAtOnce = 4

/** Reads such nodes in this thread. */
export async function readUnknown(
  deps: CompareDeps,
  orgId: string,
  nodeIds: readonly string[],
): Promise<UnknownNode[]> {
  const turn = pLimit(readAtOnce)
  // If it fails, indexing the node reports the reason.
  const reading = nodeIds.map((nodeId) => turn(() => readOne(deps, orgId, nodeId).catch(() => [])))
  return (await Promise.all(reading)).flat()
}

async function readOne(deps: CompareDeps, orgId: string, nodeId: string): Promise<UnknownNode[]> {
  const { change, refs, row, isPart, sets, repo, recorded } = await prepareNode(deps, orgId, nodeId)
  if (change === undefined || refs === undefined || row || isPart || sets.length > 0) return []
  return [{ change, isRecorded: isDescribed(repo, recorded?.state, refs) }]
}

/** True if this process knows nothing of the node that its repository does not have. */
export function isUntouched({ store }: Pick<Services, 'store'>, orgId: string, nodeId: string): boolean {
  const repo = nodeRepo(store, orgId, nodeId)
  const { created, added } = readUncounted(repo)
  return created === undefined && added === 0 && listUnindexed(repo).length === 0
}

/** The most rows of nodes in a transaction, besides those of the nodes themselves. */
const rowsAtOnce = 1_000

/** Writes the rows and the events. Returns the ids of the nodes that were written. */
export async function writeUnknown(
  deps: Services,
  orgId: string,
  nodes: readonly UnknownNode[],
): Promise<ReadonlySet<string>> {
  const written = new Set<string>()
  for (let at = 0; at < nodes.length && !deps.draining.aborted; ) {
    const some = fitting(nodes, at, rowsAtOnce, rowsOf)
    at += some.length
    const changes = some.map(({ change }) => change)
    const stop = deps.metrics.indexSeconds.startTimer({ kind: 'node' })
    try {
      await deps.index.write((trx) => insertUnknownNodes(trx, orgId, changes))
      stop()
    } catch (error) {
      if (!isDuplicate(error) && !(error instanceof StaleWriteError))
        deps.log.warn({ err: error, orgId }, 'nodes are indexed one by one')
      continue
    }
    for (const change of changes) {
      written.add(change.nodeId)
      if (change.entries) logDamagedEntries(deps, change, change.entries)
    }
    const unrecorded = some.flatMap(({ change, isRecorded }) => (isRecorded ? [] : change.nodeId))
    if (unrecorded.length > 0)
      await tryRecord(deps, orgId, () => recordNodes(deps, orgId, unrecorded, historiesOf(deps)))
    await nextTurn()
  }
  return written
}

function rowsOf({ change }: UnknownNode): number {
  const { edges = [], tags = [], logs, pulls, branches, entries } = change
  const ofLogs = logs.reduce((sum, { entries }) => sum + entries.length, 0)
  return edges.length + tags.length + ofLogs + 5 * pulls.length + branches.size + 5 * (entries?.put.length ?? 0)
}
