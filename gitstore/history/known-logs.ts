/** The logs of a repository that the index has laid out, as the history reads them. */

import type { Oid } from '../repo.ts'

export interface LogEntry {
  readonly oid: Oid
  /** Whether this entry and all below are exactly its own log. */
  readonly cut: boolean
}

/** The newest entries of a log, on top of the known log of `base`; undefined: nothing is below. */
export interface LogPart {
  readonly entries: readonly LogEntry[]
  readonly base: Oid | undefined
}

/** Two known logs: their lengths, the number of equal entries at their ends, and whether no merge lies above those. */
export interface SharedEnd {
  readonly a: number
  readonly b: number
  readonly shared: number
  readonly straight: boolean
}

/** The laid-out logs of one repository. All but `isCut` and `tips` return undefined where a log is not laid out, or no longer. */
export interface KnownLogs {
  isCut(oid: Oid): Promise<boolean>
  /** Commits from which every entry of every known log can be reached. */
  tips(): Promise<readonly Oid[]>
  /** Entries after the first `offset`, newest first. */
  page(cut: Oid, offset: number, limit: number): Promise<{ total: number; oids: Oid[] } | undefined>
  holdsAny(cut: Oid, oids: readonly Oid[]): Promise<boolean | undefined>
  /** Two at most of the entries whose id begins so. */
  named(cut: Oid, prefix: string): Promise<Oid[] | undefined>
  shared(a: Oid, b: Oid): Promise<SharedEnd | undefined>
}
