/** Pull requests between ledger and index: rows, and the events that the branches themselves cause. */
import type { Insertable, Selectable } from 'kysely'
import { findCommit, readCommit } from '../../gitstore/commits.ts'
import { divergence, isAncestor } from '../../gitstore/history.ts'
import { type Move, transact } from '../../gitstore/ref-transaction.ts'
import type { Oid, Repo } from '../../gitstore/repo.ts'
import type { PullTable } from '../../index/derived/schema.ts'
import type { Deps } from '../deps.ts'
import type { Author } from './authors.ts'
import { appendPull, type PullEvent, type PullRecord, readPull } from './ledger.ts'
import { ledgerRef, pinRef } from './places.ts'

export type PullRow = Selectable<PullTable>

export interface NodePlace {
  readonly orgId: string
  readonly nodeId: string
  readonly repo: Repo
}

export function toRow(nodeId: string, record: PullRecord): Insertable<PullTable> {
  const ended = record.status !== 'open'
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
    ended_by: ended ? record.by.name : null,
    ended_by_email: ended ? record.by.email : null,
    ended_at: ended ? record.at : null,
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
export async function withHeads(repo: Repo, record: PullRecord, source: Oid, target: Oid): Promise<PullRecord> {
  const { ahead, behind } = await divergence(repo, target, source)
  return { ...record, source_commit: source, target_before: target, commits_ahead: ahead, commits_behind: behind }
}

type Branches = ReadonlyMap<string, Oid>

/**
 * Writes to the ledger what moves of branches mean for open requests: a target that took in a request's head merged it;
 * a source that is gone closes it; a target that is gone retargets it to main, or closes it where that cannot be.
 * Only a move from an indexed head counts. True if anything was written: the ledger is then another one.
 */
export async function settlePulls(
  deps: Deps,
  place: NodePlace,
  open: readonly PullRecord[],
  indexed: Branches,
  now: Branches,
): Promise<boolean> {
  let wrote = false
  for (const record of open) {
    const event = await eventOf(place.repo, record, indexed, now, open)
    if (!event) continue
    if (await appendEvent(deps, place, record.number, event)) wrote = true
  }
  return wrote
}

type Settlement =
  | { kind: 'merge'; before: Oid; source: Oid; by: Author }
  | { kind: 'close'; source: Oid | undefined }
  | { kind: 'retarget' }

async function eventOf(
  repo: Repo,
  record: PullRecord,
  indexed: Branches,
  now: Branches,
  open: readonly PullRecord[],
): Promise<Settlement | undefined> {
  const source = now.get(`refs/heads/${record.source_branch}`)
  const target = now.get(`refs/heads/${record.target_branch}`)
  if (target && !record.is_draft) {
    const before = indexed.get(`refs/heads/${record.target_branch}`)
    const head = source ?? indexed.get(`refs/heads/${record.source_branch}`)
    if (
      before &&
      head &&
      before !== target &&
      (await isAncestor(repo, head, target)) &&
      !(await isAncestor(repo, head, before))
    ) {
      const { committer } = await readCommit(repo, target)
      return { kind: 'merge', before, source: head, by: { name: committer.name, email: committer.email } }
    }
  }
  const close: Settlement = { kind: 'close', source: source ?? indexed.get(`refs/heads/${record.source_branch}`) }
  if (!source) return close
  if (target) return undefined
  const taken = open.some(
    (other) =>
      other.number !== record.number && other.source_branch === record.source_branch && other.target_branch === 'main',
  )
  return record.source_branch === 'main' || record.target_branch === 'main' || taken || !now.has('refs/heads/main')
    ? close
    : { kind: 'retarget' }
}

async function appendEvent(deps: Deps, { repo }: NodePlace, number: number, settlement: Settlement): Promise<boolean> {
  const ledger = { repo, ref: ledgerRef }
  const pin = { repo, ref: pinRef(number) }
  return transact(deps.store, [ledger, pin], async (current) => {
    const before = current(ledger)
    if (!before) return { moves: [], value: false }
    const record = await readPull(repo, before, number)
    if (record.status !== 'open') return { moves: [], value: true }
    const { event, after } = await settled(repo, record, settlement, deps.now())
    const moves: Move[] = []
    if (event === 'close' && (await findCommit(repo, after.source_commit)))
      moves.push({ ...pin, to: after.source_commit })
    moves.push({ ...ledger, to: await appendPull(repo, before, event, after) })
    return { moves, value: true }
  })
}

async function settled(
  repo: Repo,
  record: PullRecord,
  settlement: Settlement,
  now: Date,
): Promise<{ event: PullEvent; after: PullRecord }> {
  const at = now.toISOString()
  if (settlement.kind === 'merge') {
    const heads = await withHeads(repo, record, settlement.source, settlement.before)
    return { event: 'merge', after: { ...heads, status: 'merged', by: settlement.by, at } }
  }
  if (settlement.kind === 'close') {
    return {
      event: 'close',
      after: { ...record, status: 'closed', at, source_commit: settlement.source ?? record.source_commit },
    }
  }
  return { event: 'edit', after: { ...record, target_branch: 'main', at } }
}
