/** Lets a reader wait for a transaction that moves refs of several repositories. */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GitError } from '../errors.ts'
import { exists } from '../fs-exists.ts'
import type { Store } from '../store.ts'
import {
  type LockOwner,
  lockPath,
  ownerCheckDelayMs,
  parseOwner,
  type RefName,
  readLock,
  recoverIfDead,
} from './ref-lock.ts'
import { planPath } from './ref-plan.ts'
import { recoverFor, repositoryOf } from './ref-recovery.ts'

/** The longest wait for one ref. */
const timeoutMs = 5_000

/**
 * Waits while a transaction that moves this ref also moves refs of other repositories. Call it before reading the ref.
 * A reader that has seen one of the moves then sees all of them. If the owner is dead, its transaction is finished or
 * undone here. Costs one `stat` if the ref has no lock. A transaction without a plan still decides, and is not
 * awaited.
 *
 * @throws GitError busy after 5 s, storage_*
 */
export async function awaitMoves(store: Store, name: RefName): Promise<void> {
  const path = lockPath(name)
  if (!exists(path)) return
  for (const began = performance.now(); ; await sleep(1 + Math.random() * 4)) {
    const owner = parseOwner(readLock(path) ?? '')
    if (owner === undefined || !movesSeveral(store, owner)) return
    const waited = performance.now() - began
    if (waited > timeoutMs)
      throw new GitError('busy', 'Several pages are being changed together, which takes too long. Try again')
    if (waited > ownerCheckDelayMs && (await recoverIfDead(store, recoverFor(store), owner))) return
  }
}

/** True if the transaction has a plan over several repositories. Its moves then have begun, or begin now. */
function movesSeveral(store: Store, owner: LockOwner): boolean {
  const repos = new Set(owner.locks.map((lock) => repositoryOf(store, lock)?.dir))
  return repos.size > 1 && exists(planPath(join(store.run, owner.process, owner.transaction)))
}
