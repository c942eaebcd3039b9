/** Converts pull requests between ledger records and index rows. */

import type { History } from '../../../gitstore/history/history.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { PullRow } from '../../../index/derived/pulls.ts'
import type { Author } from '../format/signatures.ts'
import { branchRef } from '../layout.ts'
import type { PullRecord } from './ledger.ts'

export function toRow(nodeId: string, record: PullRecord): PullRow {
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

/** `by` of an open request is its author; nothing reads the author of its last event. */
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

/** The record with the heads and commit counts of an event. */
export async function withHeads(history: History, record: PullRecord, source: Oid, target: Oid): Promise<PullRecord> {
  const { ahead, behind } = await history.divergence(target, source)
  return { ...record, source_commit: source, target_before: target, commits_ahead: ahead, commits_behind: behind }
}

/** The record of an ended request. */
export function endedBy(record: PullRecord, status: 'merged' | 'closed', by: Author, at: string): PullRecord {
  return { ...record, status, by, at, ended: { by, at } }
}

/** The record with the current heads; for a missing branch, the recorded one. */
export function frozen(
  { repo, history }: { readonly repo: Repo; readonly history: History },
  record: PullRecord,
): Promise<PullRecord> {
  const source = readRef(repo, branchRef(record.source_branch))
  const target = readRef(repo, branchRef(record.target_branch))
  return withHeads(history, record, source ?? record.source_commit, target ?? record.target_before)
}
