/** Pull requests between ledger and index: rows, and the events that the branches themselves cause. */
import type { Insertable, Selectable } from 'kysely'
import { findCommit, readCommit } from '../../../gitstore/commits.ts'
import type { History } from '../../../gitstore/history.ts'
import { type Move, transact } from '../../../gitstore/ref-transaction.ts'
import { readRef } from '../../../gitstore/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { PullTable } from '../../../index/derived/schema.ts'
import type { Deps } from '../../deps.ts'
import type { Author } from '../authors.ts'
import { appendPull, type PullEvent, type PullRecord, readPull } from '../ledger.ts'
import { ledgerRef, main, pinRef } from '../places.ts'

export type PullRow = Selectable<PullTable>

export interface NodePlace {
  readonly nodeId: string
  readonly repo: Repo
  readonly history: History
  /** Of the node's row that the events are worked out from; undefined where there is none yet. */
  readonly version: number | undefined
}

export function toRow(nodeId: string, record: PullRecord): Insertable<PullTable> {
  const { ended } = record
  return {
    node_id: nodeId,
    number: record.number,
    id: record.id,
    title: record.title,
    description: record.description,
    source_branch: record.source_branch,
    target_branch: record.target_branch,
    status: record.status,
    is_draft: Number(record.is_draft),
    author: record.author.name,
    author_email: record.author.email,
    created_at: record.created_at,
    recorded_at: record.at,
    source_commit: record.source_commit,
    target_commit: record.target_before,
    ahead: record.commits_ahead,
    behind: record.commits_behind,
    ended_by: ended?.by.name || null,
    ended_by_email: ended?.by.email || null,
    ended_at: ended?.at ?? null,
  }
}

/** Of an open request, whose last event matters to nobody: `by` is its author. */
export function fromRow(row: PullRow): PullRecord {
  const author = { name: row.author, email: row.author_email }
  return {
    id: row.id,
    number: row.number,
    title: row.title,
    description: row.description,
    source_branch: row.source_branch,
    target_branch: row.target_branch,
    status: row.status,
    is_draft: row.is_draft === 1,
    author,
    created_at: row.created_at,
    by: author,
    at: row.recorded_at,
    source_commit: row.source_commit,
    target_before: row.target_commit,
    commits_ahead: row.ahead,
    commits_behind: row.behind,
  }
}

/** What an event adds to a record; frozen facts only where both commits are there. */
export async function withHeads(history: History, record: PullRecord, source: Oid, target: Oid): Promise<PullRecord> {
  const { ahead, behind } = await history.divergence(target, source)
  return { ...record, source_commit: source, target_before: target, commits_ahead: ahead, commits_behind: behind }
}

/** The record as it ends. */
export function endedBy(record: PullRecord, status: 'merged' | 'closed', by: Author, at: string): PullRecord {
  return { ...record, status, by, at, ended: { by, at } }
}

/** The record with the heads as they are; what is gone stays as it was recorded. */
export function frozen(
  { repo, history }: Pick<NodePlace, 'repo' | 'history'>,
  record: PullRecord,
): Promise<PullRecord> {
  const source = readRef(repo, `refs/heads/${record.source_branch}`)
  const target = readRef(repo, `refs/heads/${record.target_branch}`)
  return withHeads(history, record, source ?? record.source_commit, target ?? record.target_before)
}

type Branches = ReadonlyMap<string, Oid>

/** Who moved a branch by hand is not known. */
const nobody: Author = { name: '', email: '' }

/**
 * Writes to the ledger what moves of branches mean for open requests: a target that took in a request's head merged it;
 * a source that is gone closes it; a target that is gone retargets it to main, or closes it where that cannot be.
 * Only a move from an indexed head counts. True if anything was written, here or by another: one starts over then.
 */
export async function settlePulls(
  deps: Deps,
  place: NodePlace,
  open: readonly PullRecord[],
  indexed: Branches,
  now: Branches,
): Promise<boolean> {
  const current = new Map(open.map((record) => [record.number, record]))
  let wrote = false
  for (const record of open) {
    const event = await eventOf(place, record, indexed, now, [...current.values()])
    const after = event && (await appendEvent(deps, place, record, event))
    if (!after) continue
    wrote = true
    if (after.status === 'open') current.set(after.number, after)
    else current.delete(after.number)
  }
  return wrote
}

type Settlement =
  | { kind: 'merge'; before: Oid; source: Oid; by: Author }
  | { kind: 'close'; source: Oid; target: Oid }
  | { kind: 'retarget' }

async function eventOf(
  place: NodePlace,
  record: PullRecord,
  indexed: Branches,
  now: Branches,
  open: readonly PullRecord[],
): Promise<Settlement | undefined> {
  const [sourceRef, targetRef] = [`refs/heads/${record.source_branch}`, `refs/heads/${record.target_branch}`]
  const [source, target] = [now.get(sourceRef), now.get(targetRef)]
  const head = source ?? indexed.get(sourceRef) ?? record.source_commit
  const before = indexed.get(targetRef)
  if (target && before && !record.is_draft && (await tookIn(place, head, before, target))) {
    const { committer } = await readCommit(place.repo, target)
    return { kind: 'merge', before, source: head, by: { name: committer.name, email: committer.email } }
  }
  if (source && target) return undefined
  if (source && mayGoToMain(record, now, open)) return { kind: 'retarget' }
  return { kind: 'close', source: head, target: target ?? before ?? record.target_before }
}

/** Whether a move of the target brought `head` in; never where a forced move has left `before` to the garbage collector. */
export async function tookIn(
  { repo, history }: Pick<NodePlace, 'repo' | 'history'>,
  head: Oid,
  before: Oid,
  target: Oid,
): Promise<boolean> {
  if (before === target || !(await history.contains(target, head)) || !(await findCommit(repo, before))) return false
  return !(await history.contains(before, head))
}

function mayGoToMain({ number, source_branch }: PullRecord, now: Branches, open: readonly PullRecord[]): boolean {
  if (source_branch === 'main' || !now.has(main)) return false
  return !open.some(
    (other) => other.number !== number && other.source_branch === source_branch && other.target_branch === 'main',
  )
}

/** The record as the ledger has it afterwards, unchanged where another event came first; undefined without a ledger. */
async function appendEvent(
  deps: Deps,
  place: NodePlace,
  { number, target_branch, is_draft }: PullRecord,
  settlement: Settlement,
): Promise<PullRecord | undefined> {
  const { nodeId, repo, version } = place
  const ledger = { repo, ref: ledgerRef }
  const pin = { repo, ref: pinRef(number) }
  return transact(deps.store, [ledger, pin], async (current) => {
    const before = current(ledger)
    if (!before) return { moves: [], value: undefined }
    const record = await readPull(repo, before, number)
    const row = await deps.index.read.selectFrom('node').select('version').where('id', '=', nodeId).executeTakeFirst()
    const known = record.status === 'open' && record.target_branch === target_branch && record.is_draft === is_draft
    if (!known || row?.version !== version) return { moves: [], value: record }
    const { event, after } = await settled(place, record, settlement, deps.now())
    const moves: Move[] = []
    if (event === 'close' && (await findCommit(repo, after.source_commit)))
      moves.push({ ...pin, to: after.source_commit })
    moves.push({ ...ledger, to: await appendPull(repo, before, event, after) })
    return { moves, value: after }
  })
}

async function settled(
  { repo, history }: NodePlace,
  record: PullRecord,
  settlement: Settlement,
  now: Date,
): Promise<{ event: PullEvent; after: PullRecord }> {
  const at = now.toISOString()
  if (settlement.kind === 'merge') {
    const heads = await withHeads(history, record, settlement.source, settlement.before)
    return { event: 'merge', after: endedBy(heads, 'merged', settlement.by, at) }
  }
  if (settlement.kind === 'close') {
    const { source, target } = settlement
    const there = (await findCommit(repo, source)) && (await findCommit(repo, target))
    const heads = there ? await withHeads(history, record, source, target) : { ...record, source_commit: source }
    return { event: 'close', after: endedBy(heads, 'closed', nobody, at) }
  }
  return { event: 'edit', after: { ...record, target_branch: 'main', by: nobody, at } }
}
