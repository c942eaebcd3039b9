/** Finds entries of pull requests that are damaged. They block nothing, but nobody can read them. */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { StoredRepository } from '../indexing/stored-repositories.ts'
import { ledgerRef } from '../layout.ts'
import { parseEntry, readEntryText } from '../ledger/entries.ts'
import { changedEntries, diffLedgers } from '../ledger/ledger.ts'
import { damageFinding, type Finding } from './repository-findings.ts'

/** Entries that are read at a time. */
const atOnce = 50

/** The most files of a node that are named. */
const named = 20

/** Reads all entries of a node. An organisation has none. @throws system errors; the signal's reason */
export async function examineEntries(root: string, stored: StoredRepository, signal: AbortSignal): Promise<Finding[]> {
  if (stored.nodeId === undefined) return []
  const repo = { dir: join(root, stored.path) }
  const damaged: string[] = []
  try {
    const ledger = readRef(repo, ledgerRef)
    const { put } = ledger ? changedEntries(await diffLedgers(repo, null, ledger)) : { put: [] }
    for (let at = 0; at < put.length; at += atOnce) {
      signal.throwIfAborted()
      const some = put.slice(at, at + atOnce)
      const texts = await Promise.all(some.map(({ blob }) => readEntryText(repo, blob)))
      for (const [n, text] of texts.entries())
        if (parseEntry(text).kind === 'damaged') damaged.push(some[n]?.path ?? '')
      await nextTurn()
    }
  } catch (error) {
    // It was deleted after the listing, or is damaged in another way, which is another finding.
    if (!(error instanceof GitError)) throw error
  }
  const findings = damaged.slice(0, named).map((path) => damageFinding('repository', stored.path, describe(path)))
  const others = damaged.length - findings.length
  if (others > 0)
    findings.push(damageFinding('repository', stored.path, `${others} more files of ${ledgerRef} are damaged`))
  return findings
}

function describe(path: string): string {
  return `${path} of ${ledgerRef} is not a comment, review or event; it is shown as damaged`
}
