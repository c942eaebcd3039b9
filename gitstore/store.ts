/** Where repositories lie and who is alive: what every ref transaction needs to know. */

import type { Repo } from './repo.ts'

export interface Store {
  /** The data folder, absolute; every repository lies below it. */
  readonly root: string
  /** `<root>/run`, on the repositories' file system: a folder for each live process. */
  readonly run: string
  /** This process's folder below `run`. */
  readonly process: string
  /** The capability to act for a process that is dead: undefined while it lives or when its folder is gone. */
  takeOver(process: string): { release(): void } | undefined
  /** Called with a broken transaction's note before its locks are removed, so that the index can catch up first. */
  recovered(note: string): Promise<void>
  /** Called once a sync has failed in a repository, which is only read from now on (refs/read-only.ts). */
  becameReadOnly(repo: Repo): void
}
