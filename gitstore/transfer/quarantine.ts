/** Handles the objects of a push. Removes those of a cancelled push, and syncs the folders of an accepted one. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { codeOf } from '../errors.ts'
import { ignoreMissing } from '../fs-exists.ts'
import { type GitProcess, killGroup } from '../native.ts'
import type { Repo } from '../repo.ts'
import { noteWritten } from '../repo-bytes.ts'
import { childrenOf } from './process-tree.ts'

/** The name of the hook's file with the bytes of a push, in the mark. */
const receivedFile = 'bytes'
/** Milliseconds that Git has to end on its own. */
const endTimeoutMs = 5_000
/**
 * Milliseconds until Git is killed even if its folder is not found. For a process that waits for a slow disk, /proc can
 * also be slow.
 */
const findTimeoutMs = 1_000

/**
 * Cancels a push. Git removes a partial pack when its input ends. If any signal kills it, it leaves the pack (since git
 * 2.39). A Git process that does not end in time is killed, and its folder is removed here.
 */
export function endPush(repo: Repo, child: GitProcess): void {
  child.stdin.end()
  const overdue = setTimeout(() => void killPush(repo, child), endTimeoutMs)
  child.once('close', () => clearTimeout(overdue))
}

/** Kills Git at once, and removes the data that it has received. */
export async function killPush(repo: Repo, child: GitProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve))
  const overdue = setTimeout(() => killGroup(child), findTimeoutMs)
  const folders = child.pid === undefined ? [] : await quarantinesOf(repo, child.pid)
  clearTimeout(overdue)
  killGroup(child)
  await closed
  // A folder that cannot be removed now is removed later, as a stale file.
  await Promise.allSettled(folders.map((folder) => rm(folder, { recursive: true, force: true })))
}

/** Finds the quarantine folders in the environments of Git's children. Only Linux shows these (proc(5)). */
async function quarantinesOf({ dir }: Repo, pid: number): Promise<string[]> {
  const children = await childrenOf(pid)
  const environments = await Promise.all(
    children.map((child) => readFile(`/proc/${child}/environ`, 'latin1').catch(() => '')),
  )
  const named = environments.flatMap((text) => /(?:^|\0)GIT_QUARANTINE_PATH=([^\0]+)/.exec(text)?.[1] ?? [])
  const folders = named.map((path) => resolve(dir, path))
  const own = folders.filter((path) => dirname(path) === join(dir, 'objects') && /^tmp_objdir-/.test(basename(path)))
  return [...new Set(own)]
}

/** Counts the bytes that the hook of a push has found in quarantine. Without its file, maintenance finds them. */
export async function countReceived(repo: Repo, mark: string): Promise<void> {
  const text = (await ignoreMissing(readFile(join(mark, receivedFile), 'utf8'))) ?? ''
  if (/^\d{1,15}\n$/.test(text)) noteWritten(repo, Number(text))
}

/** Syncs the folders that Git has written to. Git does not do that. @throws GitError storage_error */
export async function syncReceived({ dir }: Repo): Promise<void> {
  const objects = join(dir, 'objects')
  const names = (await readdir(objects)).filter((name) => /^([0-9a-f]{2}|pack)$/.test(name))
  await Promise.all(
    names.map((name) =>
      syncDirectory(join(objects, name)).catch((error: unknown) => {
        // `git gc` has just removed it as empty.
        if (codeOf(error) !== 'ENOENT') throw error
      }),
    ),
  )
  await syncDirectory(objects)
}
