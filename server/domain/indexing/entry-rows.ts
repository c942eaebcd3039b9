/** Writes the rows of a node's entries: comments, verdicts and events of its pull requests. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import type { NodeRow } from '../../../index/derived/node-queries.ts'
import { writeEntries } from '../../../index/derived/nodes.ts'
import type { EntryChange, EntryRows } from '../../../index/derived/reviews.ts'
import type { Deps } from '../../base/deps.ts'
import { readEntryRows } from '../ledger/entries.ts'
import { type ChangedEntries, changedEntries, diffLedgers, type LedgerDiff } from '../ledger/ledger.ts'

/** The most entries of one transaction: 40 ms, because other writers wait for it. */
const entriesAtOnce = 500

/** Reads the changed entries. Returns undefined if they are too many for one transaction. */
export async function readEntryChange(repo: Repo, nodeId: string, diff: LedgerDiff): Promise<EntryChange | undefined> {
  const changed = changedEntries(diff)
  if (changed.put.length > entriesAtOnce) return undefined
  return { put: await readRows(repo, nodeId, changed.put), gone: changed.gone }
}

async function readRows(repo: Repo, nodeId: string, files: ChangedEntries['put']): Promise<EntryRows[]> {
  const rows: EntryRows[] = []
  for (let at = 0; at < files.length; at += readsAtOnce) {
    const some = files.slice(at, at + readsAtOnce)
    rows.push(
      ...(await Promise.all(
        some.map(({ number, entry, blob }) => readEntryRows(repo, blob, { nodeId, number, entry })),
      )),
    )
    await nextTurn()
  }
  return rows
}

/** Entries that are read at a time. A Git process answers them one after the other. */
const readsAtOnce = 50

/**
 * Writes any number of entries that a row lacks, in slices. An entry may be newer than the rows say until the last
 * slice is written; reads of the node wait for it.
 *
 * @returns false if another process has changed the row: compare again
 */
export async function writeEntriesInSlices(deps: Deps, repo: Repo, row: NodeRow, ledger: Oid): Promise<boolean> {
  const { put, gone } = changedEntries(await diffLedgers(repo, row.entries_ledger, ledger))
  let { version } = row
  for (let at = 0; ; at += entriesAtOnce) {
    const rows = await readRows(repo, row.id, put.slice(at, at + entriesAtOnce))
    const isLast = at + entriesAtOnce >= put.length
    const change = { put: rows, gone: at === 0 ? gone : [] }
    const written = await deps.index.write((trx) =>
      writeEntries(trx, { ...row, version }, change, isLast ? ledger : undefined),
    )
    if (written === undefined) return false
    if (isLast) return true
    version = written
  }
}
