/**
 * Takes Git's own `<ref>.lock` by linking a complete file. A process that is killed therefore never leaves a lock that
 * is empty or without an owner.
 */

import { linkSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { uptime } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { exists, isAbsent, listFolders, listNames } from '../fs-exists.ts'
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'

/** The longest time that a waiter waits for one owner. */
const lockTimeoutMs = 1_000
/** The wait before the first check that the owner is alive. */
export const ownerCheckDelayMs = 30

/** The age at which a lock without an owner is stale. Git holds locks only for moments. */
const staleLockMs = 20 * 60_000

export interface RefName {
  readonly repo: Repo
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string
}

export function lockPath({ repo, ref }: RefName): string {
  return `${join(repo.dir, ref)}.lock`
}

/** The owner of a lock, and its transaction. */
export interface LockOwner {
  readonly process: string
  readonly transaction: string
  /** Passed to `store.onRecovered`. May be empty. */
  readonly note: string
  /** Every lock that the transaction may hold, as paths below the root. */
  readonly locks: readonly string[]
}

/** Returns the path of the token in a transaction's folder. Every lock that the transaction holds is a link to it. */
export function ownerPath(folder: string): string {
  return join(folder, 'token')
}

/** Finishes or undoes the transaction of `owner`, and the dead process's transactions without a note. */
export type Recover = (owner: LockOwner) => Promise<void>

/** The text of a lock: a line for people, then a line for recovery. */
export function encodeOwner({ process, transaction, note, locks }: LockOwner): string {
  return `grove ${process}/${transaction}\n${JSON.stringify({ note, locks })}\n`
}

/**
 * Parses the text of `encodeOwner`. Returns undefined for a lock of native Git, and for a token that a power cut left
 * incomplete.
 */
export function parseOwner(text: string): LockOwner | undefined {
  if (isLost(text)) return undefined
  const match = /^grove ([\w-]+)\/([\w-]+)\n(.+)\n$/.exec(text)
  if (!match?.[1] || !match[2] || !match[3]) return undefined
  const intent = JSON.parse(match[3]) as Pick<LockOwner, 'note' | 'locks'> // only encodeOwner writes it
  return { process: match[1], transaction: match[2], ...intent }
}

/**
 * Links `token`, a complete file of `encodeOwner`, to `path`. Waits while another transaction holds the lock.
 *
 * @throws GitError busy, repo_missing, ref_name_taken (a component of the name is itself a ref), storage_*; any error
 * of `recover`
 */
export async function linkLock(store: Store, recover: Recover, token: string, path: string, repo: Repo): Promise<void> {
  let owner = ''
  let since = performance.now()
  let foldersMade = 0
  const began = since
  for (;;) {
    try {
      linkSync(token, path)
      if (owner !== '') store.observer?.waitedForLock(secondsSince(began))
      return
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT' && foldersMade++ < 20) await makeRefFolder(repo, dirname(path))
      else if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A ref with a conflicting name exists')
      else if (code !== 'EEXIST') throw asStorageError(error)
    }
    const now = readLock(path)
    if (now === undefined) continue
    if (now !== owner) {
      owner = now
      since = performance.now()
    }
    const waited = performance.now() - since
    if (waited > ownerCheckDelayMs && (await removeIfStale(store, recover, path, owner, token))) continue
    if (waited > lockTimeoutMs) throw new GitError('busy', 'Another process holds this ref; nothing was changed')
    await sleep(1 + Math.random() * Math.min(10, 2 + waited / 10))
  }
}

export function secondsSince(began: number): number {
  return (performance.now() - began) / 1000
}

/** The text of a lock, or undefined if it does not exist. */
export function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw asStorageError(error)
  }
}

/**
 * Removes a stale lock, or one of this process or of a claimed dead process. Returns false if the lock
 * remains.
 */
export function removeLock(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    // The lock is gone, for example because the repository was moved away.
    return isAbsent(error)
  }
}

/**
 * True if a power cut may have taken content. Git's own lock is also empty before Git writes it. Blocks that were
 * never written read as zeros.
 */
function isLost(text: string): boolean {
  return text === '' || text.includes('\0')
}

/**
 * True if a lock with this text and without a live owner is stale. `mtimeMs` is its last write, and `now` is the time
 * of
 * the file system.
 */
export function isStaleLock(text: string, mtimeMs: number, now: number): boolean {
  const age = now - mtimeMs
  // A lock without its content that is older than the machine's start was left by a power cut.
  return age > staleLockMs || (age > uptime() * 1000 && isLost(text))
}

/**
 * Removes the stale lock at `path`, whose text is `token`. Returns true if the lock is gone.
 *
 * @param own a file that was just made, whose time is that of the file system's clock
 */
async function removeIfStale(
  store: Store,
  recover: Recover,
  path: string,
  token: string,
  own: string,
): Promise<boolean> {
  const owner = parseOwner(token)
  if (owner?.process === store.process) return false
  if (owner && (await recoverIfDead(store, recover, owner))) return true
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return true
  if (!isStaleLock(token, found.mtimeMs, statSync(own).mtimeMs)) return false
  if (owner && exists(join(store.run, owner.process))) return false
  removeLock(path)
  return true
}

/** Recovers the transaction of a dead process. Returns false if its process is alive. @throws any error of `recover` */
export async function recoverIfDead(store: Store, recover: Recover, owner: LockOwner): Promise<boolean> {
  const claim = owner.process === store.process ? undefined : store.claimDeadProcess(owner.process)
  if (!claim) return false
  await recover(owner).finally(() => claim.release())
  return true
}

/**
 * Makes the folders of a ref below `refs/`, but never `refs/` itself. A repository that was moved away must not come
 * back. `git pack-refs` removes empty folders concurrently; the caller retries. In a new repository, `refs/heads` and
 * its like do not exist yet. Their names are made durable here, once. The names below them are made durable with each
 * ref.
 */
async function makeRefFolder(repo: Repo, folder: string): Promise<void> {
  const parts = relative(repo.dir, folder).split(sep)
  for (let depth = 2; depth <= parts.length; depth++) {
    try {
      await mkdir(join(repo.dir, ...parts.slice(0, depth)))
      if (depth === 2) await syncDirectory(join(repo.dir, 'refs'))
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT' && !exists(join(repo.dir, 'refs')))
        throw new GitError('repo_missing', 'The repository does not exist')
      if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A ref with a conflicting name exists')
      if (code !== 'EEXIST' && code !== 'ENOENT') throw asStorageError(error)
    }
  }
  if (parts.length < 2 && !exists(folder)) throw new GitError('repo_missing', 'The repository does not exist')
}

/** Removes the empty folders at the path of a ref. Folders that are not empty stay. @throws GitError storage_*, busy */
export async function removeEmptyFolders(path: string): Promise<void> {
  try {
    for (const child of await readdir(path, { withFileTypes: true }))
      if (child.isDirectory()) await removeEmptyFolders(join(path, child.name))
    await rmdir(path)
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(String(codeOf(error)))) throw asStorageError(error)
  }
}

/**
 * True if a transaction of any process, alive or dead, names the folder. The folder is directly below the root. A
 * transaction names it in its locks or its note.
 *
 * @throws GitError storage_*
 */
export async function isOwnedByLiveProcess({ run }: Pick<Store, 'run'>, folder: string): Promise<boolean> {
  for (const process of await listNames(run))
    for (const transaction of await listNames(join(run, process)))
      if (readLock(ownerPath(join(run, process, transaction)))?.includes(folder)) return true
  return false
}

/** A change that has not ended. It is a transaction of refs, or a push whose objects have left quarantine. */
export interface RunningChange {
  readonly process: string
  /** Paths of its locks, below the root. Empty for a push, and for moves of repositories. */
  readonly locks: readonly string[]
}

/** Lists the changes of all processes, alive or dead. @throws GitError storage_* */
export async function listRunningChanges({ run }: Pick<Store, 'run'>): Promise<RunningChange[]> {
  const found: RunningChange[] = []
  for (const process of await listNames(run))
    for (const change of await listFolders(join(run, process)))
      found.push({ process, locks: parseOwner(readLock(ownerPath(join(run, process, change))) ?? '')?.locks ?? [] })
  return found
}
