/**
 * Checks the names of a ref transaction's moves, writes its plan and executes it.
 *
 * The first move decides. After a crash, recovery finishes the transaction if that move was made, and otherwise undoes
 * it. The first move is durable before the second. The last move, the ledger's, follows when all others are durable.
 * Intermediate moves are made together and share one sync, because recovery can repeat all of them from the plan.
 */

import { closeSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  allDone,
  replaceName,
  syncDirectory,
  syncFile,
  syncPath,
  takeSyncTurn,
  writeOpen,
  writeSynced,
} from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { isNoFile } from '../fs-exists.ts'
import type { Oid } from '../repo.ts'
import type { Store } from '../store.ts'
import { hasPackedBelow, packedRefsLock, readPackedRefs, removePackedRefs } from './packed-refs.ts'
import {
  linkLock,
  lockPath,
  ownerPath,
  type Recover,
  type RefName,
  removeEmptyFolders,
  removeLock,
} from './ref-lock.ts'
import { hasLooseBelow, readRef } from './refs.ts'

export interface Move extends RefName {
  /** The new value; null deletes the ref. */
  readonly to: Oid | null
}

/** A move in `moves.json`. */
export interface PlannedMove {
  /** The repository's path below the store's root. */
  readonly dir: string
  readonly ref: string
  readonly to: Oid | null
}

/** A move, and the path of the file that becomes the ref. */
export interface StagedMove extends Move {
  readonly value: string
}

/** Files that are open at once, and checks between two turns of the event loop. */
const maxOpenFiles = 64
/** The longest wait until a folder at the path of a ref is empty. */
const folderTimeoutMs = 1_000

function planOf(store: Store, { repo, ref, to }: Move): PlannedMove {
  return { dir: relative(store.root, repo.dir), ref, to }
}

export function moveOf(store: Store, { dir, ref, to }: PlannedMove): Move {
  return { repo: { dir: join(store.root, dir) }, ref, to }
}

/**
 * The names that cannot be refs together with this one: `refs/heads/a/b/c` → `refs/heads/a`, `refs/heads/a/b`. The
 * service's own refs have none.
 */
export function namesAbove(ref: string): string[] {
  if (!/^refs\/(heads|tags)\//.test(ref)) return []
  const parts = ref.split('/')
  return parts.slice(3).map((_, at) => parts.slice(0, at + 3).join('/'))
}

/**
 * Refuses new refs whose names conflict: `a` forbids `a/b` and the other way round. The other ref may be packed or
 * loose, or may be part of the same transaction.
 *
 * @param locked paths of the locks that are held; a new ref needs those of the names above it
 * @param current reads a ref under its lock
 * @throws GitError ref_name_taken (facts.ref), busy (facts.ref: the ref was deleted during the wait for its lock)
 */
export async function refuseNameConflicts(
  moves: readonly Move[],
  locked: readonly string[],
  current: (name: RefName) => Oid | null,
): Promise<void> {
  const held = new Set(locked)
  const wanted = new Set(moves.flatMap((move) => (move.to === null ? [] : lockPath(move))))
  for (const [at, move] of moves.entries()) {
    if (at % maxOpenFiles === maxOpenFiles - 1) await takeSyncTurn()
    const { repo, ref, to } = move
    if (to === null || current(move)) continue
    const above = namesAbove(ref)
    const taken = findNameConflict(move) ?? above.find((name) => wanted.has(lockPath({ repo, ref: name })))
    if (taken) throw new GitError('ref_name_taken', `The name conflicts with ${taken}`, { ref })
    if (!above.every((name) => held.has(lockPath({ repo, ref: name }))))
      throw new GitError('busy', 'The ref was deleted in the meantime; nothing was changed', { ref })
  }
}

/** The ref whose name excludes the new ref, or undefined if no name does. */
export function findNameConflict({ repo, ref }: RefName): string | undefined {
  const above = namesAbove(ref).find((name) => readRef(repo, name))
  if (above) return above
  return hasLooseBelow(repo, ref) || hasPackedBelow(repo, ref) ? `${ref}/` : undefined
}

/**
 * Writes and syncs the new values. Writes a whole group before it syncs the first, so that the journal takes them
 * together.
 */
export async function writeValues(steps: readonly StagedMove[]): Promise<void> {
  const files = steps.filter(({ to }) => to !== null)
  for (let at = 0; at < files.length; at += maxOpenFiles) {
    await takeSyncTurn()
    const open: number[] = []
    try {
      for (const { to, value } of files.slice(at, at + maxOpenFiles))
        open.push(await writeOpen(value, `${to}\n`, 0o644))
      await allDone(open.map(syncFile))
    } finally {
      for (const file of open) closeSync(file)
    }
  }
}

/** The plan of a transaction, in its folder. */
export function planPath(folder: string): string {
  return join(folder, 'moves.json')
}

/**
 * Writes the plan and its values. Also syncs the names of its folder and its locks, so that recovery finds it after a
 * power cut.
 */
export async function writePlan(store: Store, folder: string, steps: readonly StagedMove[]): Promise<void> {
  const plans = steps.map((step) => planOf(store, step))
  const plan = writeSynced(planPath(folder), JSON.stringify(plans))
  await allDone([writeValues(steps), plan, syncPath(ownerPath(folder))])
  await allDone([...[folder, dirname(folder), store.run].map(syncDirectory), syncRefFolders(steps)])
}

/** Makes the moves of a plan. @throws GitError ref_name_taken (facts.ref), storage_* */
export async function executePlan(folder: string, steps: readonly StagedMove[]): Promise<void> {
  const last = steps.length > 1 ? steps.slice(-1) : []
  for (const group of [steps.slice(0, 1), steps.slice(1, steps.length - last.length), last]) {
    if (group.length > 0) await carryOutGroup(folder, group)
  }
}

async function carryOutGroup(folder: string, steps: readonly StagedMove[]): Promise<void> {
  const renamed = steps.filter(({ to }) => to !== null)
  for (let at = 0; at < renamed.length; at += maxOpenFiles)
    await allDone(renamed.slice(at, at + maxOpenFiles).map(renameRef))
  const deleted = steps.filter(({ to }) => to === null)
  if (deleted.length > 0) await deleteRefs(folder, deleted)
  await syncRefFolders(steps)
}

/** Renames a value to its ref. @throws GitError ref_name_taken (facts.ref), storage_* */
export async function renameRef({ repo, ref, value }: StagedMove): Promise<void> {
  const path = join(repo.dir, ref)
  const began = performance.now()
  for (let attempt = 0; ; attempt++) {
    try {
      await replaceName(value, path)
      return
    } catch (error) {
      if (codeOf(error) === 'ENOTDIR') throw nameTaken(ref)
      if (!foldersInTheWay.includes(codeOf(error))) throw asStorageError(error)
    }
    // Packing or deleting a branch below leaves its folder. A branch that is being deleted has its lock there.
    await removeEmptyFolders(path)
    if (hasLooseBelow(repo, ref) || performance.now() - began > folderTimeoutMs) throw nameTaken(ref)
    if (attempt > 0) await sleep(5)
  }
}

function nameTaken(ref: string): GitError {
  return new GitError('ref_name_taken', `A branch with a name that conflicts with ${ref} exists`, { ref })
}

const foldersInTheWay: readonly unknown[] = ['EISDIR', 'ENOTEMPTY', 'EEXIST']

/** The caller holds `packed-refs.lock` of each repository. */
async function deleteRefs(folder: string, names: readonly RefName[]): Promise<void> {
  for (const dir of new Set(names.map(({ repo }) => repo.dir))) {
    const packed = readPackedRefs({ dir }).refs
    const refs = names.filter(({ repo, ref }) => repo.dir === dir && packed.get(ref)).map(({ ref }) => ref)
    if (refs.length > 0) await removePackedRefs({ dir }, new Set(refs), join(folder, 'packed-refs'))
  }
  for (const { repo, ref } of names) {
    await unlink(join(repo.dir, ref)).catch((error: unknown) => {
      // A branch below this name has left a folder.
      if (!isNoFile(error)) throw asStorageError(error)
    })
  }
}

/**
 * Syncs the folders of refs, each once. For a ref such as `refs/heads/a/b`, the folders above may be new and are also
 * synced. `git pack-refs` removes folders that it has emptied, and the ref is then in packed-refs.
 */
export async function syncRefFolders(names: readonly RefName[]): Promise<void> {
  const folders = new Map<string, string>()
  for (const { repo, ref } of names) {
    const parts = ref.split('/')
    for (let depth = parts.length - 1; depth >= Math.min(2, parts.length - 1); depth--)
      folders.set(join(repo.dir, ...parts.slice(0, depth)), repo.dir)
  }
  const sync = ([path, dir]: readonly [string, string]) =>
    syncDirectory(path).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
      return syncDirectory(dir)
    })
  const all = [...folders]
  for (let at = 0; at < all.length; at += maxOpenFiles) await allDone(all.slice(at, at + maxOpenFiles).map(sync))
}

/**
 * Holds `packed-refs.lock` of each repository in which `moves` delete a ref, packed or not. The lock is held until the
 * loose file is also gone. Otherwise a `git pack-refs` that has read the file would restore the ref. Returns false if
 * such a lock could not be removed.
 */
export async function withPackedRefsLock(
  store: Store,
  recover: Recover,
  token: string,
  moves: readonly Move[],
  work: () => Promise<void>,
): Promise<boolean> {
  const dirs = [...new Set(moves.filter(({ to }) => to === null).map(({ repo }) => repo.dir))].sort()
  const locked: string[] = []
  try {
    for (const dir of dirs) {
      const lock = packedRefsLock({ dir })
      await linkLock(store, recover, token, lock, { dir })
      locked.push(lock)
    }
    await work()
  } catch (error) {
    locked.forEach(removeLock)
    throw error
  }
  return locked.map(removeLock).every(Boolean)
}
