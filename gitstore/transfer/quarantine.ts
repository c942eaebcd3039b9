/** Ends a push that is not wanted any more, and leaves nothing of its pack on the disk. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { codeOf } from '../errors.ts'
import { type GitProcess, killGroup } from '../native.ts'
import type { Repo } from '../repo.ts'

/** Milliseconds that git gets to end by itself. */
const endTimeoutMs = 5_000

/**
 * Git that reads the end of its input in the middle of a pack removes what has come of it; killed by a signal, of any kind,
 * it leaves that (since git 2.39). One that has not ended in time is killed, and its folder removed here.
 */
export function endPush(repo: Repo, child: GitProcess): void {
  child.stdin.end()
  const overdue = setTimeout(() => void killPush(repo, child), endTimeoutMs)
  child.once('close', () => clearTimeout(overdue))
}

async function killPush(repo: Repo, child: GitProcess): Promise<void> {
  const folders = child.pid === undefined ? [] : await quarantinesOf(repo, child.pid)
  const closed = new Promise((resolve) => child.once('close', resolve))
  killGroup(child)
  await closed
  // What cannot be removed now is, as every temporary file, once it is too old to be in use.
  await Promise.allSettled(folders.map((folder) => rm(folder, { recursive: true, force: true })))
}

/** The folders that git has told its children of. None but on Linux, where processes can be looked at (proc(5)). */
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

async function childrenOf(pid: number): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'latin1').catch(() => ''))
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean))
}

/** Git syncs what it writes and never the folders that it writes into. @throws GitError storage_error */
export async function syncReceived({ dir }: Repo): Promise<void> {
  const objects = join(dir, 'objects')
  const names = (await readdir(objects)).filter((name) => /^([0-9a-f]{2}|pack)$/.test(name))
  await Promise.all(
    names.map((name) =>
      syncDirectory(join(objects, name)).catch((error: unknown) => {
        // Empty, and removed by a `git gc` just now.
        if (codeOf(error) !== 'ENOENT') throw error
      }),
    ),
  )
  await syncDirectory(objects)
}
