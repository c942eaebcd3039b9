/** The facts that rules judge, at the ledger commit whose lock is held. */
import type { Oid } from '../../../gitstore/repo.ts'
import type { CheckRow } from '../../../index/derived/checks.ts'
import { type EntryOverlay, readFactsWith, type VerdictRow } from '../../../index/derived/entries.ts'
import { findEntriesLedger } from '../../../index/derived/node-queries.ts'
import type { Deps } from '../../base/deps.ts'
import type { NodeAccess } from '../access.ts'
import { checksAt } from '../ledger/checks.ts'
import { readEntryRows } from '../ledger/entries.ts'
import { changedEntries, diffLedgers } from '../ledger/ledger.ts'

export interface ConsentFacts {
  readonly verdicts: readonly VerdictRow[]
  /** The checks of the head. */
  readonly checks: readonly CheckRow[]
  readonly open_threads: number
}

/**
 * Reads the facts of a pull request. Exact if the caller holds the ledger's lock and `ledger` is its commit. They are
 * the rows, and the entries that are not indexed yet.
 */
export async function readFactsAt(
  { index }: Pick<Deps, 'index'>,
  { org, node, repo }: Pick<NodeAccess, 'org' | 'node' | 'repo'>,
  { number, head }: { readonly number: number; readonly head: Oid },
  ledger: Oid,
): Promise<ConsentFacts> {
  // Reads the commit before the rows. Newer rows are those of entries that are read again.
  const indexed = await findEntriesLedger(index.read, node.id)
  const overlay = await readOverlay(repo, node.id, number, { indexed: indexed ?? null, ledger })
  const facts = await readFactsWith(index.read, { orgId: org.id, nodeId: node.id, number }, overlay)
  return { ...facts, checks: await checksAt(repo, ledger, head) }
}

async function readOverlay(
  repo: NodeAccess['repo'],
  nodeId: string,
  number: number,
  { indexed, ledger }: { readonly indexed: Oid | null; readonly ledger: Oid },
): Promise<EntryOverlay> {
  if (indexed === ledger) return { put: [], gone: [] }
  const { put, gone } = changedEntries(await diffLedgers(repo, indexed, ledger))
  const own = put.filter((one) => one.number === number)
  const rows = await Promise.all(own.map(({ blob, entry }) => readEntryRows(repo, blob, { nodeId, number, entry })))
  return {
    put: rows,
    gone: gone === 'all' ? gone : gone.filter((one) => one.number === number).map(({ entry }) => entry),
  }
}
