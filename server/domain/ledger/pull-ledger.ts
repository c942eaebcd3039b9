/**
 * Converts pull requests between records of the ledger and rows of the index.
 *
 * Also reads the open pull requests at a ledger commit from both.
 */
import type { History } from '../../../gitstore/history/history.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findIndexedLedger } from '../../../index/derived/node-queries.ts'
import type { PullRows } from '../../../index/derived/nodes.ts'
import { listOpenPulls, listPullNumbers, type PullRow } from '../../../index/derived/pulls.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { branchRef } from '../layout.ts'
import type { NodeAt } from '../targets.ts'
import { isByAgent, parseRecordedVia, type RecordedVia } from '../via.ts'
import { changedPulls, diffLedgers, type PullRecord } from './ledger.ts'
import type { ChangedBy } from './reconcile.ts'

/** The columns that are read from the record, not from its entries. */
type RecordRow = Omit<PullRow, 'comments' | 'open_threads' | 'last_entry' | 'last_entry_at'>

export function toRow({ org_id: orgId, node_id: nodeId }: NodeAt, record: PullRecord): RecordRow {
  const { ended } = record
  return {
    org_id: orgId,
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
    author_id: record.author_id ?? null,
    stacked_on: record.stacked_on ?? null,
    change_set: record.change_set ?? null,
    overridden: record.overridden ? JSON.stringify(record.overridden) : null,
    opened_via: encodeVia(record.opened_via),
    ended_via: encodeVia(ended?.via),
    by_agent: isByAgent(parseRecordedVia(record.opened_via)) ? 1 : 0,
  }
}

function encodeVia(recorded: unknown): string | null {
  const via = parseRecordedVia(recorded)
  return via === undefined ? null : JSON.stringify(via)
}

/** Returns the rows of a pull request and of its reviewers. */
export function toPullRows(at: NodeAt, record: PullRecord): PullRows {
  const { number, reviewers = [] } = record
  const unique = new Map(reviewers.map((reviewer) => [reviewer.id, reviewer]))
  return {
    pull: toRow(at, record),
    reviewers: [...unique.values()].map(({ id, name, since }) => ({
      ...{ user_id: id, org_id: at.org_id, node_id: at.node_id, number },
      ...{ name, since },
    })),
  }
}

/** Converts a row. `by` of an open pull request is its author, because nothing reads the author of its last event. */
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
    ...(row.author_id !== null && { author_id: row.author_id }),
    created_at: row.created_at,
    by: author,
    at: row.recorded_at,
    source_commit: row.source_commit,
    target_before: row.target_commit,
    commits_ahead: row.ahead,
    commits_behind: row.behind,
    ...(row.stacked_on !== null && { stacked_on: row.stacked_on }),
    ...(row.change_set !== null && { change_set: row.change_set }),
    ...(row.opened_via !== null && { opened_via: JSON.parse(row.opened_via) as RecordedVia }), // encodeVia wrote it
  }
}

/** Returns the record with the heads and commit counts of an event. */
export async function withHeads(history: History, record: PullRecord, source: Oid, target: Oid): Promise<PullRecord> {
  const { ahead, behind } = await history.divergence(target, source)
  return { ...record, source_commit: source, target_before: target, commits_ahead: ahead, commits_behind: behind }
}

/** Returns the record of an ended pull request. */
export function endPull(record: PullRecord, status: 'merged' | 'closed', event: ChangedBy): PullRecord {
  return { ...record, ...event, status, ended: event }
}

/** Returns the record with the current heads. A missing branch keeps the recorded one. */
export function freezePull(
  { repo, history }: { readonly repo: Repo; readonly history: History },
  record: PullRecord,
): Promise<PullRecord> {
  const source = readRef(repo, branchRef(record.source_branch))
  const target = readRef(repo, branchRef(record.target_branch))
  return withHeads(history, record, source ?? record.source_commit, target ?? record.target_before)
}

/** Returns open pull requests by number. Exact if the caller holds the ledger's lock and `ledger` is its commit. */
export async function openPullsAt(
  db: IndexDb,
  { repo, nodeId }: { readonly repo: Repo; readonly nodeId: string },
  ledger: Oid,
): Promise<PullRecord[]> {
  // Reads the commit first. If the rows are newer, the same changes are only applied twice.
  const indexed = await findIndexedLedger(db, nodeId)
  const known = (await listOpenPulls(db, nodeId)).map(fromRow)
  if (indexed === ledger) return known
  const diff = await diffLedgers(repo, indexed ?? null, ledger)
  const { records, gone } = await changedPulls(repo, diff, await listPullNumbers(db, nodeId))
  return selectOpenPulls(known, records, gone)
}

/** Returns the open pull requests among `known` and the changed `records`, by number. */
export function selectOpenPulls(
  known: readonly PullRecord[],
  records: readonly PullRecord[],
  gone: readonly number[],
): PullRecord[] {
  const byNumber = new Map(known.map((record) => [record.number, record]))
  for (const number of gone) byNumber.delete(number)
  for (const record of records) byNumber.set(record.number, record)
  return [...byNumber.values()].filter((record) => record.status === 'open').sort((a, b) => a.number - b.number)
}
