/** The open requests of a node at a ledger commit, from the index and the ledger's changes since. */
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { findIndexedLedger } from '../../../index/derived/node-queries.ts'
import { listOpenPulls, listPullNumbers } from '../../../index/derived/pulls.ts'
import type { IndexDb } from '../../../index/derived/schema.ts'
import { changedPulls, type PullRecord } from './ledger.ts'
import { fromRow } from './pull-ledger.ts'

/** By number. Exact if the caller holds the ledger's lock and `ledger` is its commit. */
export async function openPullsAt(
  db: IndexDb,
  { repo, nodeId }: { readonly repo: Repo; readonly nodeId: string },
  ledger: Oid,
): Promise<PullRecord[]> {
  // Reads the commit first: with newer rows, the same changes are only applied twice.
  const indexed = await findIndexedLedger(db, nodeId)
  const known = (await listOpenPulls(db, nodeId)).map(fromRow)
  if (indexed === ledger) return known
  const { records, gone } = await changedPulls(repo, indexed ?? null, ledger, await listPullNumbers(db, nodeId))
  return stillOpen(known, records, gone)
}

/** The open requests among `known` and the changed `records`, by number. */
export function stillOpen(
  known: readonly PullRecord[],
  records: readonly PullRecord[],
  gone: readonly number[],
): PullRecord[] {
  const byNumber = new Map(known.map((record) => [record.number, record]))
  for (const number of gone) byNumber.delete(number)
  for (const record of records) byNumber.set(record.number, record)
  return [...byNumber.values()].filter((record) => record.status === 'open').sort((a, b) => a.number - b.number)
}
