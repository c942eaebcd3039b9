/** The data folder and its live processes, as ref transactions need them. */

import type { Repo } from './repo.ts'

export interface Store {
  /** The data folder, absolute; every repository lies below it. */
  readonly root: string
  /** `<root>/run`, on the repositories' file system: a folder for each live process. */
  readonly run: string
  /** This process's folder below `run`. */
  readonly process: string
  /** The right to recover a dead process; undefined while the process lives, or when its folder is gone. */
  takeOver(process: string): { release(): void } | undefined
  /** Called with the note of an unfinished transaction before its locks are removed, so that the index is updated first. */
  recovered(note: string): Promise<void>
  /** Called when a sync has failed in a repository, which becomes read-only (refs/read-only.ts). */
  becameReadOnly(repo: Repo): void
}
