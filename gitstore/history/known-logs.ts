/** The logs that the index has laid out, as the history reads them. */

import type { Oid } from '../repo.ts'

export interface LogEntry {
  readonly oid: Oid
  /** True if this entry and all entries below it are exactly its own log. */
  readonly cut: boolean
}

/** The newest entries of a log, on top of the known log of `base`. Undefined: the log has no more entries. */
export interface LogPart {
  readonly entries: readonly LogEntry[]
  readonly base: Oid | undefined
}

/**
 * The common end of two known logs. `a` and `b` are the lengths of the logs, and `shared` is the number of equal
 * entries at their ends. `straight` is true if there is no merge above those entries.
 */
export interface SharedEnd {
  readonly a: number
  readonly b: number
  readonly shared: number
  readonly straight: boolean
}

/**
 * The laid-out logs of one repository. All methods except `isCut` and `tips` return undefined if a log is not, or no
 * longer, laid out.
 */
export interface KnownLogs {
  isCut(oid: Oid): Promise<boolean>
  /** Commits from which every entry of every known log can be reached. */
  tips(): Promise<readonly Oid[]>
  /** Entries after the first `offset`, newest first. */
  page(cut: Oid, offset: number, limit: number): Promise<{ total: number; oids: Oid[] } | undefined>
  holdsAny(cut: Oid, oids: readonly Oid[]): Promise<boolean | undefined>
  /** Returns at most two of the entries whose id begins with `prefix`. */
  named(cut: Oid, prefix: string): Promise<Oid[] | undefined>
  shared(a: Oid, b: Oid): Promise<SharedEnd | undefined>
}
