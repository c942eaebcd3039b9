/** What the tokens of transactions name: those that run, and those that the index has not followed yet. */
import { join } from 'node:path'
import { namesIn } from '../presence.ts'
import type { Store } from '../store.ts'
import { readLock, tokenPath } from './ref-lock.ts'

/**
 * Whether a transaction of any process, living or dead, names the folder, directly below the root, in its locks or its note.
 *
 * @throws GitError storage_*
 */
export async function isNamedByToken({ run }: Pick<Store, 'run'>, folder: string): Promise<boolean> {
  for (const process of await namesIn(run))
    for (const transaction of await namesIn(join(run, process)))
      if (readLock(tokenPath(join(run, process, transaction)))?.includes(folder)) return true
  return false
}
