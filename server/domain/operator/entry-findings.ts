/** Finds entries and checks of ledgers that are damaged. They block nothing, but nobody can read them. */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GitError } from '../../../gitstore/errors.ts'
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import type { StoredRepository } from '../indexing/stored-repositories.ts'
import { ledgerRef } from '../layout.ts'
import { checkRows, readChecksText } from '../ledger/checks.ts'
import { parseEntry, readEntryText } from '../ledger/entries.ts'
import { changedChecks, changedEntries, diffLedgers, type LedgerDiff } from '../ledger/ledger.ts'
import { damageFinding, type Finding } from './repository-findings.ts'

/** Files that are read at a time. */
const atOnce = 50

/** The most files of a node that are named. */
const named = 20

/** Reads all entries and checks of a node. An organisation has none. @throws system errors; the signal's reason */
export async function examineEntries(root: string, stored: StoredRepository, signal: AbortSignal): Promise<Finding[]> {
  if (stored.nodeId === undefined) return []
  const repo = { dir: join(root, stored.path) }
  const damaged: string[] = []
  try {
    const ledger = readRef(repo, ledgerRef)
    const files = ledger ? filesOf(repo, await diffLedgers(repo, null, ledger)) : []
    for (let at = 0; at < files.length; at += atOnce) {
      signal.throwIfAborted()
      const some = files.slice(at, at + atOnce)
      const found = await Promise.all(some.map(({ isDamaged }) => isDamaged()))
      damaged.push(...some.filter((_, n) => found[n]).map(({ finding }) => finding))
      await nextTurn()
    }
  } catch (error) {
    // It was deleted after the listing, or is damaged in another way, which is another finding.
    if (!(error instanceof GitError)) throw error
  }
  const findings = damaged.slice(0, named).map((finding) => damageFinding('repository', stored.path, finding))
  const others = damaged.length - findings.length
  if (others > 0)
    findings.push(damageFinding('repository', stored.path, `${others} more files of ${ledgerRef} are damaged`))
  return findings
}

interface ExaminedFile {
  readonly isDamaged: () => Promise<boolean>
  readonly finding: string
}

function filesOf(repo: Repo, diff: LedgerDiff): ExaminedFile[] {
  const entries = changedEntries(diff).put.map(({ path, blob }) => ({
    isDamaged: async () => parseEntry(await readEntryText(repo, blob)).kind === 'damaged',
    finding: `${path} of ${ledgerRef} is not a comment, review or event; it is shown as damaged`,
  }))
  const checks = changedChecks(diff).put.map(({ path, commit, blob }) => ({
    isDamaged: async () => isDamaged(commit, await readChecksText(repo, blob)),
    finding: `${path} of ${ledgerRef} has something that is not a check; it is shown as damaged`,
  }))
  return [...entries, ...checks]
}

function isDamaged(commit: string, json: string): boolean {
  return checkRows(commit, json).some(({ state }) => state === 'damaged')
}
