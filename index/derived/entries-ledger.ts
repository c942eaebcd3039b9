/** The column `node.entries_ledger`: how far a version that knows reviews has read the ledger. */
import type { NodeTable } from './schema.ts'

type Row = Pick<NodeTable, 'entries_ledger'>

/** The value for rows with this commit's pull requests. Their entries are written in slices. */
export function unfinished(ledger: string): string {
  return `~${ledger}`
}

export function isUnfinished({ entries_ledger }: Row): boolean {
  return entries_ledger?.startsWith('~') === true
}

/** The commit that all entries were read from. Null if they are not complete. */
export function entriesLedger(row: Row): string | null {
  return isUnfinished(row) ? null : row.entries_ledger
}

/** The commit that pull requests were read from with their reviewers. Null if only an older version has read them. */
export function reviewersLedger({ entries_ledger }: Row): string | null {
  return entries_ledger?.replace('~', '') ?? null
}
