/** The data folder and its live processes, as ref transactions need them. */

import type { Repo } from './repo.ts'

/** A part of a ref transaction: `sync` follows the release of the locks. */
export type TransactionPhase = 'lock' | 'decide' | 'save' | 'commit' | 'sync'

/**
 * How a ref transaction ended: `nothing` was to be moved; `busy`: others held a lock; `refused` by a rule of the caller or a
 * name that is taken; `fault`: the storage or a repository.
 */
export type TransactionOutcome = 'moved' | 'nothing' | 'busy' | 'refused' | 'fault'

/** Observes ref transactions; times are in seconds. */
export interface StoreObserver {
  phase(phase: TransactionPhase, seconds: number): void
  ended(outcome: TransactionOutcome): void
  /** A transaction was finished or undone after the death of its process, or after a fault. */
  recovered(): void
  /** A lock was held by another process, or by git. */
  waitedForLock(seconds: number): void
}

/** Of repositories that another machine may get: whether this process may still write. Both throw what the caller gets. */
export interface Fence {
  /** Before any lock of a transaction. */
  before(): void
  /**
   * Once the token of a transaction stands, before it reads anything: whether these folders, directly below the root, take
   * changes. Who closes a folder first, and then finds no token that names it, has seen its last change.
   */
  enter(folders: readonly string[]): void
  /** After the last sync of what a transaction has moved: what is not acknowledged now may be lost. */
  after(): void
}

export interface Store {
  /** The data folder, absolute; every repository lies below it. */
  readonly root: string
  /** `<root>/run`, on the repositories' file system: a folder for each live process. */
  readonly run: string
  /** This process's folder below `run`. */
  readonly process: string
  /** The right to recover a dead process; undefined while the process lives, or when its folder is gone. */
  claimDeadProcess(process: string): { release(): void } | undefined
  /** Called with the note of an unfinished transaction before its locks are removed, so that the index is updated first. */
  onRecovered(note: string): Promise<void>
  /** Brings the index up to the refs of a repository that a dead process was writing to. A damaged one is no failure. */
  indexRepo(repo: Repo): Promise<void>
  /** Called when a sync has failed in a repository, which becomes read-only (refs/read-only.ts). */
  onReadOnly(repo: Repo): void
  /** Absent: no other machine can get them. */
  readonly fence?: Fence
  readonly observer?: StoreObserver
}
