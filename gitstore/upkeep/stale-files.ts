/**
 * Finds and removes files that dead processes left in a repository. They are Git's locks, temporary files and
 * quarantines.
 */
import { readdirSync, statSync } from 'node:fs'
import { rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, isAbsent } from '../fs-exists.ts'
import { keepText } from '../history/rewrite.ts'
import { longestGitMs } from '../native.ts'
import { isStaleLock, parseOwner, readLock } from '../refs/ref-lock.ts'
import type { Repo } from '../repo.ts'
import type { Store } from '../store.ts'
import { isTemporary } from '../temporary-names.ts'
import { createYielder, type Yielder } from '../yielder.ts'

/** The age at which no process uses a file any more. A push may write nothing for as long as Git may run. */
const staleAfterMs = 2 * longestGitMs

/** Returns the file system's time in ms since 1970. It may differ from this machine's clock. */
export async function fileSystemTime(store: Store): Promise<number> {
  const probe = join(store.run, store.process, 'clock')
  await writeFile(probe, '')
  const { mtimeMs } = await stat(probe)
  await unlink(probe)
  return mtimeMs
}

/**
 * Lists stale locks, temporary files, quarantines, and keep files of pushes. A folder is as old as the youngest file in
 * it. Skips locks whose owner's run folder exists, because recovery removes those. A power cut may remove the folder
 * and leave the lock.
 *
 * @param run the store's folder of live processes
 * @param now the result of `fileSystemTime`
 */
export function listStaleFiles(run: string, { dir }: Repo, now: number): AsyncGenerator<string> {
  return staleFilesIn(run, dir, now, false, createYielder())
}

/**
 * Yields each file in the turn of the event loop that finds it stale. If `inRefs`, names are those of branches and
 * tags.
 */
async function* staleFilesIn(
  run: string,
  dir: string,
  now: number,
  inRefs: boolean,
  pace: Yielder,
): AsyncGenerator<string> {
  for (const { path, name, isFolder } of entriesOf(dir)) {
    if (pace.shouldYield(1)) await pace.yieldToEventLoop()
    if (isTemporary(name, inRefs)) {
      if (isFolder ? now - lastWriteIn(path) > staleAfterMs : isOld(path, now)) yield path
    } else if (isFolder) yield* staleFilesIn(run, path, now, inRefs || name === 'refs', pace)
    else if (name.endsWith('.lock')) {
      if (isStale(run, path, now)) yield path
    } else if (name.endsWith('.keep') && isOld(path, now) && isTemporaryKeep(path)) yield path
  }
}

/** Removes the stale files and returns their paths. */
export async function removeStaleFiles({ run }: Store, repo: Repo, now: number): Promise<string[]> {
  const removed: string[] = []
  for await (const path of listStaleFiles(run, repo, now)) {
    await rm(path, { recursive: true, force: true })
    removed.push(path)
  }
  return removed
}

/** Removes an unfinished folder, if everything in it is older than `staleAfterMs`. */
export async function removeIfStale(path: string, now: number): Promise<boolean> {
  if (now - lastWriteIn(path) <= staleAfterMs) return false
  await rm(path, { recursive: true, force: true })
  return true
}

function isStale(run: string, lock: string, now: number): boolean {
  const found = statSync(lock, { throwIfNoEntry: false })
  const text = readLock(lock)
  if (found === undefined || text === undefined || !isStaleLock(text, found.mtimeMs, now)) return false
  const owner = parseOwner(text)
  return owner === undefined || !exists(join(run, owner.process))
}

/**
 * True if the file is Git's, or that of an erasure. It keeps a pack until refs have moved. An operator's file has
 * another text, or none.
 */
function isTemporaryKeep(path: string): boolean {
  const text = readLock(path)
  return text?.startsWith('receive-pack ') === true || text === keepText
}

function isOld(path: string, now: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && now - found.mtimeMs > staleAfterMs
}

/** The time of the last write to the folder or to anything in it. Infinite if the folder is missing. */
function lastWriteIn(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return Number.POSITIVE_INFINITY
  return Math.max(
    found.mtimeMs,
    ...(found.isDirectory() ? entriesOf(path).map((entry) => lastWriteIn(entry.path)) : []),
  )
}

interface Entry {
  readonly path: string
  readonly name: string
  readonly isFolder: boolean
}

/** Lists the entries of a folder. Empty if it is missing or is a file. */
export function entriesOf(dir: string): Entry[] {
  try {
    const entries = readdirSync(dir, { withFileTypes: true })
    return entries.map((entry) => ({ path: join(dir, entry.name), name: entry.name, isFolder: entry.isDirectory() }))
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}
