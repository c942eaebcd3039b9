/** What dead processes leave in a repository: git's own locks, temporary files, quarantines. */
import { readdirSync, statSync } from 'node:fs'
import { rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import { longestGitMs } from '../native.ts'
import { isThere } from '../presence.ts'
import { isAbandonedLock, parseToken, readLock } from '../refs/ref-lock.ts'
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'
import { isTemporary } from '../temporary-names.ts'

/** Milliseconds after which nobody can be at work on a file any more: a push may be silent for as long as git may run. */
const abandoned = 2 * longestGitMs

/** The time by the clock that the store's file system gives its files, which need not be this machine's: ms since 1970. */
export async function fileSystemTime(store: Store): Promise<number> {
  const probe = join(store.run, store.process, 'clock')
  await writeFile(probe, '')
  const { mtimeMs } = await stat(probe)
  await unlink(probe)
  return mtimeMs
}

/**
 * Every lock, temporary file, quarantine and mark of a push that is too old to be anybody's; a folder is as old as the
 * youngest file in it. A lock that names an owner whose folder is there is none of them: whoever recovers that one's
 * transactions removes it. A power cut may have taken the folder and left the lock.
 *
 * @param run the store's folder of live processes
 * @param now as `fileSystemTime` has it
 */
export function* listLeftovers(run: string, { dir }: Repo, now: number): Iterable<string> {
  yield* leftoversIn(run, dir, now, false)
}

/** `inRefs`: names are those of branches and tags, which may be called as a temporary file is, but never begin with a dot. */
function* leftoversIn(run: string, dir: string, now: number, inRefs: boolean): Iterable<string> {
  for (const { path, name, isFolder } of entriesOf(dir)) {
    if (isTemporary(name, inRefs)) {
      if (isFolder ? now - youngestIn(path) > abandoned : isOld(path, now)) yield path
    } else if (isFolder) yield* leftoversIn(run, path, now, inRefs || name === 'refs')
    else if (name.endsWith('.lock')) {
      const found = statSync(path, { throwIfNoEntry: false })
      if (found && isAbandonedLock(found, now) && !hasOwner(run, path)) yield path
    } else if (name.endsWith('.keep') && isOld(path, now) && marksPush(path)) yield path
  }
}

/** Removes them; the answer names what was removed. */
export async function removeLeftovers({ run }: Store, repo: Repo, now: number): Promise<string[]> {
  const removed: string[] = []
  for (const path of listLeftovers(run, repo, now)) {
    await rm(path, { recursive: true, force: true })
    removed.push(path)
  }
  return removed
}

/** Removes a folder that was being made, if nothing in it is younger than `abandoned`. */
export async function removeIfAbandoned(path: string, now: number): Promise<boolean> {
  if (now - youngestIn(path) <= abandoned) return false
  await rm(path, { recursive: true, force: true })
  return true
}

function hasOwner(run: string, lock: string): boolean {
  const owner = parseToken(readLock(lock) ?? '')
  return owner !== undefined && isThere(join(run, owner.process))
}

/** With it git keeps the pack of a push until its refs have moved; an operator's mark says something else, or nothing. */
function marksPush(path: string): boolean {
  return readLock(path)?.startsWith('receive-pack ') === true
}

function isOld(path: string, now: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && now - found.mtimeMs > abandoned
}

/** When something in the folder, or the folder itself, was last written; the far future where it is gone. */
function youngestIn(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return Number.POSITIVE_INFINITY
  return Math.max(found.mtimeMs, ...(found.isDirectory() ? entriesOf(path).map((entry) => youngestIn(entry.path)) : []))
}

interface Entry {
  readonly path: string
  readonly name: string
  readonly isFolder: boolean
}

/** None where the folder is gone, or a file stands in its place. */
export function entriesOf(dir: string): Entry[] {
  try {
    const entries = readdirSync(dir, { withFileTypes: true })
    return entries.map((entry) => ({ path: join(dir, entry.name), name: entry.name, isFolder: entry.isDirectory() }))
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}
