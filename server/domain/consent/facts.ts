/** The facts that rules judge, at the ledger commit whose lock is held. */
import type { Oid } from '../../../gitstore/repo.ts'
import type { CheckRow } from '../../../index/derived/checks.ts'
import { listObjections, type NodeOverlay, readFactsWith, type VerdictRow } from '../../../index/derived/entries.ts'
import { findEntriesLedger } from '../../../index/derived/node-queries.ts'
import type { LedgerAccess, NodeAccess } from '../access.ts'
import { checksAt } from '../ledger/checks.ts'
import { readEntryRows } from '../ledger/entries.ts'
import { changedEntries, diffLedgers } from '../ledger/ledger.ts'
import type { Services } from '../services.ts'

export interface ConsentFacts {
  readonly verdicts: readonly VerdictRow[]
  /** Requests for changes that hold, in this and other pull requests. */
  readonly objections: readonly VerdictRow[]
  /** The checks of the head. */
  readonly checks: readonly CheckRow[]
  readonly open_threads: number
}

/**
 * Reads the facts of a pull request. Exact if the caller holds the ledger's lock and `ledger` is its commit. They are
 * the rows, and the entries that are not indexed yet.
 */
export async function readFactsAt(
  { index }: Pick<Services, 'index'>,
  { org, node, repo }: Pick<LedgerAccess, 'org' | 'node' | 'repo'>,
  { number, head }: { readonly number: number; readonly head: Oid },
  ledger: Oid,
): Promise<ConsentFacts> {
  // Reads the commit before the rows. Newer rows are those of entries that are read again.
  const indexed = await findEntriesLedger(index.read, node.id)
  const overlay = await readOverlay(repo, node.id, { indexed: indexed ?? null, ledger })
  const own = {
    put: overlay.put.filter(({ entry }) => entry.number === number),
    gone:
      overlay.gone === 'all' ? overlay.gone : overlay.gone.flatMap((one) => (one.number === number ? one.entry : [])),
  }
  const facts = await readFactsWith(index.read, { orgId: org.id, nodeId: node.id, number }, own)
  const objections = await listObjections(index.read, org.id, node.id, [head], overlay)
  return { ...facts, objections, checks: await checksAt(repo, ledger, head) }
}

async function readOverlay(
  repo: NodeAccess['repo'],
  nodeId: string,
  { indexed, ledger }: { readonly indexed: Oid | null; readonly ledger: Oid },
): Promise<NodeOverlay> {
  if (indexed === ledger) return { put: [], gone: [] }
  const { put, gone } = changedEntries(await diffLedgers(repo, indexed, ledger))
  const read = put.map(({ blob, number, entry }) => readEntryRows(repo, blob, { nodeId, number, entry }))
  return { put: await Promise.all(read), gone }
}
