/** Takes git's own `<ref>.lock` by linking a complete file, so that no kill leaves a lock that is empty or without an owner. */

import { linkSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { mkdir, readdir, rmdir } from 'node:fs/promises'
import { uptime } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { syncDirectory } from '../durable.ts'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { exists, isAbsent, listNames } from '../fs-exists.ts'
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'

/** The longest time that a waiter waits for one owner. */
const lockTimeoutMs = 1_000
/** The wait before the first check whether the owner lives. */
const ownerCheckDelayMs = 30

/** Age at which a lock without an owner is stale: git holds locks for moments. */
const staleLockMs = 20 * 60_000

export interface RefName {
  readonly repo: Repo
  /** In full: `refs/heads/main`. */
  readonly ref: string
}

export function lockPath({ repo, ref }: RefName): string {
  return `${join(repo.dir, ref)}.lock`
}

/** The owner of a lock, and its transaction. */
export interface LockOwner {
  readonly process: string
  readonly transaction: string
  /** For `store.recovered`; may be empty. */
  readonly note: string
  /** Every lock that the transaction may hold: paths below the root. */
  readonly locks: readonly string[]
}

/** The token of a transaction, in its folder: every lock that it holds is a link to it. */
export function ownerPath(folder: string): string {
  return join(folder, 'token')
}

/** Finishes or undoes the transactions of a dead process, among them that of the lock's `owner`. */
export type Recover = (owner: LockOwner) => Promise<void>

/** The text of a lock: a line for people, the rest for recovery. */
export function encodeOwner({ process, transaction, note, locks }: LockOwner): string {
  return `grove ${process}/${transaction}\n${JSON.stringify({ note, locks })}\n`
}

/** Parses `encodeOwner`; undefined for a lock of native git, and for a token of which a power cut has taken a part. */
export function parseOwner(text: string): LockOwner | undefined {
  if (isLost(text)) return undefined
  const match = /^grove ([\w-]+)\/([\w-]+)\n(.+)\n$/.exec(text)
  if (!match?.[1] || !match[2] || !match[3]) return undefined
  const intent = JSON.parse(match[3]) as Pick<LockOwner, 'note' | 'locks'> // written by encodeOwner alone
  return { process: match[1], transaction: match[2], ...intent }
}

/**
 * Links `token` (a complete file with `encodeOwner`) to `path`; waits while others hold the lock.
 *
 * @throws GitError busy, repo_missing, ref_name_taken (a component of the name is a ref itself)
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
      else if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A branch of that name stands in the way')
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

/** The text of a lock, or undefined where there is none. */
export function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw asStorageError(error)
  }
}

/** Removes a lock of this process, or of a dead process that it has claimed; false where the lock remains. */
export function removeLock(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    // The repository was moved away with its lock.
    return isAbsent(error)
  }
}

/** Whether a power cut has taken the content, or a part of it: blocks that were never written are read as zeros. */
function isLost(text: string): boolean {
  return text === '' || text.includes('\0')
}

/** Whether a lock of that text, without an owner and last written at `mtimeMs`, is stale at the time `now` of the file system. */
export function isStaleLock(text: string, mtimeMs: number, now: number): boolean {
  const age = now - mtimeMs
  // What is lost and older than the machine's start had its holder ended by a power cut.
  return age > staleLockMs || (age > uptime() * 1000 && isLost(text))
}

/**
 * Removes the stale lock at `path`, whose text is `token`; true where the lock is gone.
 *
 * @param own a file that was just made: its time is that of the file system's clock
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
  if (owner) {
    const claim = store.claimDeadProcess(owner.process)
    if (claim) {
      try {
        await recover(owner)
      } finally {
        claim.release()
      }
      return true
    }
  }
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return true
  if (!isStaleLock(token, found.mtimeMs, statSync(own).mtimeMs)) return false
  if (owner && exists(join(store.run, owner.process))) return false
  removeLock(path)
  return true
}

/**
 * Makes the folders of a ref below `refs/`, never `refs/` itself: a repository that was moved away must not come
 * back. `git pack-refs` removes empty folders concurrently; the caller retries. A new repository has none; the names of
 * `refs/heads` and its like are made durable here, once, those below with each ref.
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
      if (code === 'ENOTDIR') throw new GitError('ref_name_taken', 'A branch of that name stands in the way')
      if (code !== 'EEXIST' && code !== 'ENOENT') throw asStorageError(error)
    }
  }
  if (parts.length < 2 && !exists(folder)) throw new GitError('repo_missing', 'The repository does not exist')
}

/** Removes empty folders at the path of a ref; a folder that is not empty stays. @throws GitError storage_*, busy */
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
 * Whether a transaction of any process, living or dead, names the folder, directly below the root, in its locks or its note.
 *
 * @throws GitError storage_*
 */
export async function isOwnedByLiveProcess({ run }: Pick<Store, 'run'>, folder: string): Promise<boolean> {
  for (const process of await listNames(run))
    for (const transaction of await listNames(join(run, process)))
      if (readLock(ownerPath(join(run, process, transaction)))?.includes(folder)) return true
  return false
}
