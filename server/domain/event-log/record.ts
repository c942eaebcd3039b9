/**
 * Records what happened. The log remembers the refs that its events describe, and each step appends the events of the
 * difference, in one transaction. So each event is recorded once, also by several processes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { type History, openHistory } from '../../../gitstore/history/history.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import { repoExists } from '../../../gitstore/repo-folders.ts'
import { findKnownLogs } from '../../../index/derived/chains.ts'
import type { NewNodeRows } from '../../../index/derived/new-nodes.ts'
import { appendEvents, beginLog, findLog, findLogNow, type Log } from '../../../index/log/events.ts'
import { findLogWithRecorded, findRecordedRepos, replaceRecorded } from '../../../index/log/recorded.ts'
import { nodeRepo, orgFolder, orgRepo, orgRepository } from '../layout.ts'
import { isReplaced } from '../ledger/ledger.ts'
import { readSetById, setsOf } from '../ledger/set-ledger.ts'
import type { Services } from '../services.ts'
import type { NodeAt } from '../targets.ts'
import { describeNew } from './describe-new.ts'
import { type Described, type DescribedNode, describeNode, type NodeRefs } from './describe-node.ts'
import { describeOrg } from './describe-org.ts'
import { syncEvents } from './durable-events.ts'
import { eraseRecordedTitles } from './erased-titles.ts'
import { encodeEvent } from './event-json.ts'
import { readCreations } from './intents.ts'
import { keepRecordedRefs } from './recorded-refs.ts'
import { wakeReaders } from './wake.ts'

/** The most rounds of compare-and-swap. Each lost round means that another process made progress. */
const rounds = 50

/** Returns the history of a node's repository. */
type HistoryOf = (nodeId: string, repo: Repo) => History

/** Another process has recorded the same in the meantime. Or it has moved a repository that was read. */
class StaleError extends Error {
  constructor() {
    super('The log has changed in the meantime')
    this.name = 'StaleError'
  }
}

/**
 * Records what happened to nodes of an organisation since the last time. The events of a node that gets an edge come
 * after those of the edge's other node.
 *
 * @param andOrg true: the events of the organisation itself follow, in the same transaction
 * @throws GitError if a repository is damaged; DatabaseError
 */
export async function recordNodes(
  deps: Services,
  orgId: string,
  nodeIds: readonly string[],
  historyOf: HistoryOf,
  andOrg = false,
): Promise<void> {
  const recording = { deps, orgId, historyOf, andOrg, visited: new Set<string>() }
  await untilWhole(deps, orgId, (log) => recordOnce(recording, log, nodeIds))
}

/** The log of an organisation, and what it says of a node. */
export type Recorded = Awaited<ReturnType<typeof readRecorded>>

/** Reads what is recorded of a node, before its refs are read for `recordNode`. Undefined if that is unknown. */
export async function readRecorded({ events }: Pick<Services, 'events'>, orgId: string, nodeId: string) {
  return findLogWithRecorded(events.read, orgId, nodeId).catch(() => undefined)
}

/**
 * Records what happened to a node until its refs were read. Reads nothing again that nobody else has changed.
 *
 * @param before read before `refs`
 * @throws the errors of recordNodes
 */
export async function recordNode(
  deps: Services,
  { org_id: orgId, node_id: nodeId }: NodeAt,
  { before, refs }: { readonly before: Recorded; readonly refs: NodeRefs | undefined },
  historyOf: HistoryOf,
): Promise<void> {
  const recording = { deps, orgId, historyOf, andOrg: false, visited: new Set<string>() }
  if (before?.log.sealed === 1) return
  try {
    if (before && refs && (await recordStates(recording, before.log, [{ nodeId, state: before.state, refs }]))) return
  } catch (error) {
    if (!(error instanceof StaleError)) throw error
  }
  await recordNodes(deps, orgId, [nodeId], historyOf)
}

/**
 * Records the creation of nodes from their rows, in one transaction. If one of them is recorded already, all are compared
 * with their refs.
 *
 * @throws the errors of recordNodes
 */
export async function recordNewNodes(
  deps: Services,
  orgId: string,
  rows: readonly NewNodeRows[],
  historyOf: HistoryOf,
): Promise<void> {
  const log = await ensureLog(deps, orgId)
  if (!log) return
  const intentOf = await readCreations(
    deps,
    rows.map(({ node }) => node),
  )
  const found = rows.map((row) => describeNew(orgId, row, intentOf(row.node.id)))
  const own = new Set(rows.map(({ node }) => node.id))
  const recording = { deps, orgId, historyOf, andOrg: false, visited: own }
  try {
    await recordLinked(
      recording,
      log,
      found.flatMap(({ linked }) => linked),
    )
    await append(deps, log, inOrder(found))
  } catch (error) {
    if (!(error instanceof StaleError)) throw error
    await recordNodes(deps, orgId, [...own], historyOf)
  }
}

/** Records what happened to an organisation itself. @throws the errors of recordNodes */
export async function recordOrg(deps: Services, orgId: string): Promise<void> {
  await untilWhole(deps, orgId, async (log) => {
    const found = await describeOwn(deps, orgId, log)
    await append(deps, log, found)
    return found.every(({ isWhole }) => isWhole)
  })
}

/**
 * Records repositories that the log does not know, before they change. Without that, a change between the beginning of
 * a log and the first sweep has no event. A log that is whole knows all of them.
 *
 * @param ids of nodes, or of the organisation itself
 * @throws the errors of recordNodes
 */
export async function recordUnknown(deps: Services, orgId: string, ids: readonly string[]): Promise<void> {
  const log = await ensureLog(deps, orgId)
  if (log === undefined || log.whole === 1) return
  const known = await findRecordedRepos(deps.events.read, ids)
  const nodeIds = ids.filter((id) => id !== orgId && !known.has(id))
  if (ids.includes(orgId) && !known.has(orgId)) await recordOrg(deps, orgId)
  const historyOf = (nodeId: string, repo: Repo) => openHistory(repo, findKnownLogs(deps.index.read, nodeId))
  if (nodeIds.length > 0) await recordNodes(deps, orgId, nodeIds, historyOf)
}

/** Repeats `work` until it returns true. */
async function untilWhole(deps: Services, orgId: string, work: (log: Log) => Promise<boolean>): Promise<void> {
  for (let round = 0, stale = 0; ; round++) {
    try {
      const log = await ensureLog(deps, orgId)
      // The log of a moving organisation is taken up at its new cell.
      if (log === undefined || log.sealed === 1 || (await work(log))) return
    } catch (error) {
      if (!(error instanceof StaleError) || ++stale > rounds) throw error
    }
    if (round > 0) await nextTurn()
  }
}

/** Returns the log. Begins it with the present, if there is none. Undefined if there is no organisation. */
export async function ensureLog(deps: Services, orgId: string): Promise<Log | undefined> {
  const { events, store, now } = deps
  const known = await findLog(events.read, orgId)
  if (known || !repoExists(orgRepo(store, orgId))) return known
  const names = await listNames(orgFolder(store, orgId))
  const isWhole = names.every((name) => !name.endsWith('.git') || name === orgRepository)
  const begun = await events.write(async (trx) => {
    const other = await findLog(trx, orgId)
    if (other) return other
    const at = now()
    const log = await beginLog(trx, orgId, { at, isWhole })
    const facts = { type: 'log.began', key: log.log_id, at: at.toISOString(), data: { log_id: log.log_id } } as const
    const position = appendEvents(trx, log, [encodeEvent(orgId, null, facts)], at)
    return { ...log, ...position }
  })
  // A power cut that removes the log would make it begin again after the nodes that are created next.
  await syncEvents(deps)
  return begun
}

interface Recording {
  readonly deps: Services
  readonly orgId: string
  readonly historyOf: HistoryOf
  /** True if the events of the organisation itself are recorded too. */
  readonly andOrg: boolean
  /** Nodes whose events were or are being recorded. Links may form cycles. */
  readonly visited: Set<string>
}

/** Describes and records the nodes in one transaction. Returns false if more must follow. */
async function recordOnce(recording: Recording, log: Log, nodeIds: readonly string[]): Promise<boolean> {
  const states = await findRecordedRepos(recording.deps.events.read, nodeIds)
  return recordStates(
    recording,
    log,
    nodeIds.map((nodeId) => ({ nodeId, state: states.get(nodeId) })),
  )
}

/** A node, and its recorded state before its refs are read. */
interface StateOfNode extends Pick<DescribedNode, 'state' | 'refs'> {
  readonly nodeId: string
}

async function recordStates(recording: Recording, log: Log, nodes: readonly StateOfNode[]): Promise<boolean> {
  const { deps, orgId, historyOf, andOrg, visited } = recording
  const found: (Described & { readonly nodeId: string })[] = []
  const own = new Set(nodes.map(({ nodeId }) => nodeId))
  for (const { nodeId, ...known } of nodes) {
    visited.add(nodeId)
    const repo = nodeRepo(deps.store, orgId, nodeId)
    const at = { org_id: orgId, node_id: nodeId }
    const node = { at, repo, history: historyOf(nodeId, repo), log, ...known }
    const described = await describeNode(deps, node).catch((error: unknown) => {
      throw isReplaced(error, repo, known.refs?.ledger) ? new StaleError() : error
    })
    if (described) found.push({ nodeId, ...described })
  }
  const together = await pagesMergedWith(deps, orgId, found)
  if (together.some((id) => !own.has(id)))
    return recordOnce({ ...recording, andOrg: true }, log, [...new Set([...own, ...together])])
  const ofOrg = andOrg ? await describeOwn(deps, orgId, log) : []
  if (found.length + ofOrg.length === 0) return true
  await recordLinked(
    recording,
    log,
    found.flatMap(({ linked }) => linked).filter((id) => !own.has(id)),
  )
  for (const { nodeId, erasedPulls = [] } of found)
    await eraseRecordedTitles(deps, { org_id: orgId, node_id: nodeId }, erasedPulls)
  await append(deps, log, [...inOrder(found), ...ofOrg])
  return [...found, ...ofOrg].every(({ isWhole }) => isWhole)
}

/** Describes the organisation itself. Empty if nothing happened to it. */
async function describeOwn(deps: Services, orgId: string, log: Log) {
  const state = (await findRecordedRepos(deps.events.read, [orgId])).get(orgId)
  const found = await describeOrg(deps, { orgId, state, log })
  await eraseRecordedTitles(deps, { org_id: orgId, node_id: orgId }, found?.erasedPulls ?? [])
  return found ? [{ nodeId: null, ...found }] : []
}

/** Lists the pages that were merged together with these. No other event comes between theirs. */
async function pagesMergedWith(deps: Services, orgId: string, found: readonly Described[]): Promise<string[]> {
  const ids = new Set(found.flatMap(({ events }) => events.flatMap(({ mergedWith = [] }) => mergedWith)))
  if (ids.size === 0) return []
  const { repo, ref } = setsOf(deps, orgId)
  const sets = readRef(repo, ref)
  const pages: string[] = []
  for (const id of ids) {
    const { items = [] } = (await readSetById(repo, sets, id)) ?? {}
    pages.push(...items.flatMap(({ node_id, head }) => (head === undefined ? [] : node_id)))
  }
  return pages
}

/** Records other nodes of new edges, if nothing is recorded of them yet. */
async function recordLinked(recording: Recording, log: Log, ids: readonly string[]): Promise<void> {
  const { deps, orgId, visited } = recording
  const fresh = [...new Set(ids)].filter((id) => !visited.has(id)).slice(0, mostLinked)
  if (fresh.length === 0) return
  const known = await findRecordedRepos(deps.events.read, fresh)
  for (const id of fresh)
    if (!known.has(id) && repoExists(nodeRepo(deps.store, orgId, id))) await recordOnce(recording, log, [id])
}

/** The most other nodes of edges that are checked in one step. The sweep records the rest. */
const mostLinked = 500

/** Sorts nodes so that a node comes after those that its new edges lead to. Cycles stay as they are. */
function inOrder<D extends { readonly nodeId: string; readonly linked: readonly string[] }>(found: readonly D[]): D[] {
  const byId = new Map(found.map((one) => [one.nodeId, one]))
  const sorted = new Set<D>()
  const entered = new Set<string>()
  const visit = (root: D) => {
    const stack = [root]
    while (stack.length > 0) {
      const one = stack.at(-1)
      if (one === undefined) return
      const next = entered.has(one.nodeId) ? [] : one.linked.flatMap((id) => byId.get(id) ?? [])
      entered.add(one.nodeId)
      const waiting = next.filter(({ nodeId }) => !entered.has(nodeId))
      if (waiting.length > 0) stack.push(...waiting)
      else {
        stack.pop()
        sorted.add(one)
      }
    }
  }
  for (const one of found) visit(one)
  return [...sorted]
}

/** Appends events and the states after them. @throws StaleError if another process has changed one of the states */
async function append(
  deps: Services,
  described: Log,
  found: readonly (Described & { readonly nodeId: string | null })[],
): Promise<void> {
  if (found.length === 0) return
  const orgId = described.org_id
  const events = found.flatMap((one) => one.events.map((facts) => encodeEvent(orgId, one.nodeId, facts)))
  const steps = found.map(({ step }) => step)
  const added = await deps.events.write((trx) => {
    const log = findLogNow(trx, orgId)
    if (log?.log_id !== described.log_id || log.sealed === 1) throw new StaleError()
    if (!replaceRecorded(trx, steps)) throw new StaleError()
    return appendEvents(trx, log, events, deps.now()).seq - log.seq
  })
  for (const { step } of found) keepRecordedRefs(deps, step)
  if (added === 0) return
  deps.metrics.eventsTold.inc(added)
  wakeReaders(deps, orgId)
}
