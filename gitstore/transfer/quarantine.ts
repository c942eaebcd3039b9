/** The objects of a push: removes those of one that is cancelled, syncs the folders of one that is accepted. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { codeOf } from '../errors.ts'
import { type GitProcess, killGroup } from '../native.ts'
import type { Repo } from '../repo.ts'
import { childrenOf } from './process-tree.ts'

/** Milliseconds that git gets to end by itself. */
const endTimeoutMs = 5_000
/** Milliseconds until it is killed although its folder is not found: what /proc shows of a process can be as slow as its disk. */
const findTimeoutMs = 1_000

/**
 * Cancels a push. Git removes a partial pack when its input ends; when it is killed by any signal, it leaves the pack (since
 * git 2.39). A git that does not end in time is killed, and its folder is removed here.
 */
export function endPush(repo: Repo, child: GitProcess): void {
  child.stdin.end()
  const overdue = setTimeout(() => void killPush(repo, child), endTimeoutMs)
  child.once('close', () => clearTimeout(overdue))
}

/** Kills git at once, and removes what it has received. */
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

/** The quarantine folders in the environment of git's children. Only Linux shows these (proc(5)). */
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

/** Syncs the folders that git has written to, which git does not. @throws GitError storage_error */
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
