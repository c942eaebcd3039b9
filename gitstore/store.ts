/** The data folder and its live processes, as ref transactions need them. */

import type { Repo } from './repo.ts'

/** A part of a ref transaction: `sync` follows the release of the locks. */
export type TransactionPhase = 'lock' | 'decide' | 'save' | 'commit' | 'sync'

/**
 * The outcome of a ref transaction.
 * - `nothing`: there was nothing to move.
 * - `busy`: a lock was held elsewhere.
 * - `refused`: by a rule of the caller, or because a name is taken.
 * - `fault`: the storage or a repository failed.
 */
export type TransactionOutcome = 'moved' | 'nothing' | 'busy' | 'refused' | 'fault'

/** Observes ref transactions; times are in seconds. */
export interface StoreObserver {
  phase(phase: TransactionPhase, seconds: number): void
  ended(outcome: TransactionOutcome): void
  /** A transaction was finished or undone after a fault or the death of its process. */
  recovered(): void
  /** A lock was held by another process, or by Git. */
  waitedForLock(seconds: number): void
}

/**
 * Checks whether this process may still write to repositories that another machine may take over. The caller gets the
 * errors that it throws.
 */
export interface Fence {
  /** Before any lock of a transaction. */
  before(): void
  /**
   * Called when the token of a transaction exists, before the transaction reads anything. Throws if one of these
   * folders, directly below the root, takes no changes. A process that closes a folder and then finds no token that
   * names it has seen the folder's last change.
   */
  enter(folders: readonly string[]): void
  /** Called after the last sync of a transaction's moves. A move that is not acknowledged now may be lost. */
  after(): void
}

export interface Store {
  /** The data folder as an absolute path. Every repository is below it. */
  readonly root: string
  /** `<root>/run`, on the repositories' file system: a folder for each live process. */
  readonly run: string
  /** This process's folder below `run`. */
  readonly process: string
  /** Claims a dead process for recovery. Returns undefined if the process is alive, or if its folder is gone. */
  claimDeadProcess(process: string): { release(): void } | undefined
  /** Called before an unfinished transaction's locks are removed, so that the index is updated first. Gets its note. */
  onRecovered(note: string): Promise<void>
  /** Indexes the refs of a repository that a dead process was writing to. A damaged repository is not a failure. */
  indexRepo(repo: Repo): Promise<void>
  /** Called when a sync has failed in a repository, which becomes read-only (refs/read-only.ts). */
  onReadOnly(repo: Repo): void
  /** Absent if no other machine can take over the repositories. */
  readonly fence?: Fence
  readonly observer?: StoreObserver
}
