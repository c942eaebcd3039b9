/** The logs of a repository that the index has laid out, as the history reads them. */

import type { Oid } from '../repo.ts'

export interface LogEntry {
  readonly oid: Oid
  /** Whether this entry and all below are exactly its own log. */
  readonly cut: boolean
}

/** A log as its newest entries on top of the log of `base`, which is known; undefined: there is nothing below. */
export interface LogPart {
  readonly entries: readonly LogEntry[]
  readonly base: Oid | undefined
}

/** Two known logs: their lengths, how many entries at their ends are the same, and whether no merge lies above those. */
export interface SharedEnd {
  readonly a: number
  readonly b: number
  readonly shared: number
  readonly straight: boolean
}

/** The logs of one repository that are laid out. All but `isCut` and `tips` answer undefined where a log is not (any more). */
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
