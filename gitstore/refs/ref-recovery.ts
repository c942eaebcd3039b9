/** Finishes or undoes ref transactions after a fault or the death of their process. */
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asStorageError, GitError } from '../errors.ts'
import { isAbsent, listFolders } from '../fs-exists.ts'
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'
import { packedRefsLock } from './packed-refs.ts'
import {
  encodeOwner,
  type LockOwner,
  lockPath,
  ownerPath,
  parseOwner,
  type Recover,
  readLock,
  removeLock,
} from './ref-lock.ts'
import {
  executePlan,
  findNameConflict,
  moveOf,
  type PlannedMove,
  planPath,
  type StagedMove,
  withPackedRefsLock,
  writeValues,
} from './ref-plan.ts'
import { readRef } from './refs.ts'

/** A transaction that its process did not finish. */
export interface UnfinishedTransaction extends LockOwner {
  readonly folder: string
}

/**
 * Finishes or undoes the transactions of a dead process. The caller holds the claim of `store.claimDeadProcess`.
 * Transactions with a note come last, because `store.onRecovered` may need the refs that the others lock. Then all
 * repositories that the transactions name are indexed. Some of those transactions had ended before the index saw their
 * moves.
 *
 * `owner` is the owner of the lock in the way, if there is one. Then nothing is indexed, other transactions with a note
 * are left alone, and the folders stay for `recoverAll`. Otherwise `store.onRecovered` and `store.indexRepo` could wait
 * for the transaction that waits for this recovery. Recovery may be killed anywhere and repeated.
 *
 * @throws the first failure, after all transactions were tried
 */
async function recover(store: Store, process: string, owner?: LockOwner): Promise<void> {
  const home = join(store.run, process)
  const broken: UnfinishedTransaction[] = []
  for (const name of await listFolders(home)) {
    const folder = join(home, name)
    const ownership = parseOwner(readLock(ownerPath(folder)) ?? '')
    if (ownership) broken.push({ ...ownership, folder })
  }
  // A power cut may remove the folder, whose name is not synced, and leave the lock.
  if (owner && !broken.some(({ transaction }) => transaction === owner.transaction))
    broken.push({ ...owner, folder: join(home, owner.transaction) })
  const noted = broken.filter(({ note }) => note)
  const due = noted.filter(({ folder }) => owner === undefined || folder === join(home, owner.transaction))
  const failures: unknown[] = []
  for (const transaction of [...broken.filter(({ note }) => !note), ...due])
    await recoverTransaction(store, transaction).catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
  if (owner) return
  const named = new Map(
    broken
      .flatMap(({ locks }) => locks.flatMap((lock) => repositoryOf(store, lock) ?? []))
      .map((repo) => [repo.dir, repo]),
  )
  for (const repo of named.values()) await store.indexRepo(repo)
  // Another process may be making a file in this folder, to check that its owner is alive, so this retries.
  await rm(home, { recursive: true, force: true, maxRetries: 3 })
}

/** The repository of a lock in a token, or undefined for any other path. */
export function repositoryOf({ root }: Store, lock: string): Repo | undefined {
  const [dir] = /^.*?\.git(?=\/)/.exec(lock) ?? []
  return dir === undefined ? undefined : { dir: join(root, dir) }
}

/** Recovers every dead process that has a folder below `run`; calls `onFailure` for each failure. */
export async function recoverAll(store: Store, onFailure: (error: unknown) => void): Promise<void> {
  const processes = await readdir(store.run).catch((error: unknown) => {
    onFailure(asStorageError(error))
    return []
  })
  for (const process of processes) {
    if (process === store.process) continue
    try {
      await recoverDead(store, process)
    } catch (error) {
      onFailure(error)
    }
  }
}

async function recoverDead(store: Store, process: string): Promise<void> {
  const claim = store.claimDeadProcess(process)
  if (claim) await recover(store, process).finally(() => claim.release())
}

/** Recovers a dead process whose lock is in the way. The rest of what that process left is recovered soon after. */
export function recoverFor(store: Store): Recover {
  return async (owner) => {
    await recover(store, owner.process, owner)
    if (recovering.has(owner.process)) return
    recovering.add(owner.process)
    setTimeout(() => void recoverSoon(store, owner.process), recoverDelayMs).unref()
  }
}

/** After this delay, most operations that waited for the locks have ended. */
const recoverDelayMs = 50
const recovering = new Set<string>()

/** Leaves a failure to `recoverAll`. */
async function recoverSoon(store: Store, process: string): Promise<void> {
  recovering.delete(process)
  await recoverDead(store, process).catch(() => {})
}

/**
 * Finishes or undoes a transaction, but leaves its folder. May be repeated.
 *
 * @throws GitError storage_*, and any error of `store.onRecovered`
 */
export async function recoverTransaction(store: Store, broken: UnfinishedTransaction): Promise<void> {
  const { folder, note, locks } = broken
  const token = encodeOwner(broken)
  const held = locks.map((lock) => join(store.root, lock)).filter((path) => readLock(path) === token)
  const moves = (await readPlans(folder)).map((plan) => moveOf(store, plan))
  const packed = [...new Set(moves.map(({ repo }) => packedRefsLock(repo)))]
  removeHeld(packed.filter((path) => readLock(path) === token))
  const isHeld = new Set(held)
  // Values are written again from the plan under new names, so that every move can be repeated.
  const steps = moves.map((move, at): StagedMove => ({ ...move, value: join(folder, String(moves.length + at)) }))
  const [first] = moves
  const due = steps.filter((step) => isHeld.has(lockPath(step)))
  if (first && due.length > 0 && readRef(first.repo, first.ref) === first.to) await finish(store, folder, due)
  if (note) await store.onRecovered(note)
  removeHeld(held)
  if (held.length > 0) store.observer?.recovered()
}

async function finish(store: Store, folder: string, due: readonly StagedMove[]): Promise<void> {
  // Native Git may have created `a/b` although the plan has `a`: that move is no longer possible.
  const possible = due.filter((step) => step.to === null || readRef(step.repo, step.ref) || !findNameConflict(step))
  const released = await withPackedRefsLock(store, recoverFor(store), ownerPath(folder), possible, async () => {
    for (const { value } of possible) await rm(value, { force: true })
    await writeValues(possible)
    await executePlan(folder, possible)
  })
  if (!released) throw lockStays()
}

/** @throws GitError storage_error if a lock remains: the folder that names its owner must also remain */
function removeHeld(paths: readonly string[]): void {
  if (!paths.map(removeLock).every(Boolean)) throw lockStays()
}

function lockStays(): GitError {
  return new GitError('storage_error', 'A lock could not be removed')
}

/** Reads the plan of a transaction. It is empty if the transaction ended before the plan was complete. */
async function readPlans(folder: string): Promise<PlannedMove[]> {
  try {
    return JSON.parse(await readFile(planPath(folder), 'utf8')) as PlannedMove[] // only `writePlan` writes it
  } catch (error) {
    if (error instanceof SyntaxError || isAbsent(error)) return []
    throw asStorageError(error)
  }
}
