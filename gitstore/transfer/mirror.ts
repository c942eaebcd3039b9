/** Copies a repository from folder to folder as git does it: every ref and what it needs, nothing of its configuration. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { sentenceOf } from '../objects/fsck.ts'
import type { Repo } from '../repo.ts'
import { createRepo } from '../repos.ts'

const mirrorTimeoutMs = 60 * 60_000

/**
 * What reads the source. Git runs no hook and no program that a repository's own configuration names for it; the settings
 * here let it read what belongs to another user, and show every ref whatever that configuration hides.
 */
const uploadPack = 'git -c safe.directory=* -c transfer.hideRefs=!refs -c protocol.allow=never upload-pack'

/**
 * Makes a bare repository at `dir` that has what `from` has, durably; whole or not at all. `signal` ends git at once.
 *
 * @throws GitError repo_exists, repo_missing (the folder to hold it does not exist), storage_*; native_failed in git's
 *   words where `from` is damaged or gone
 */
export function createMirror(from: Repo, dir: string, signal?: AbortSignal): Promise<Repo> {
  return createRepo(dir, async (repo) => {
    await fetchMirror(from, repo, signal)
    return new Map()
  })
}

/**
 * Brings every ref of the bare repository `to` up to `from`, durably; those that `from` does not have go. Git reads the
 * refs first and the objects after them, so what others commit meanwhile is there or not, and never half there. What
 * `from` has in packs and damaged, or does not have, moves no ref. About 20 ms.
 *
 * @throws GitError native_failed in git's words, storage_*
 */
export async function fetchMirror(from: Repo, to: Repo, signal?: AbortSignal): Promise<void> {
  const options = ['--quiet', '--prune', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance']
  const { code, stderr } = await runGit(
    to,
    [
      ...['-c', 'protocol.file.allow=always', 'fetch', ...options, `--upload-pack=${uploadPack}`],
      ...['--end-of-options', from.dir, '+refs/*:refs/*'],
    ],
    { timeoutMs: mirrorTimeoutMs, ...(signal && { signal }) },
  )
  if (code !== 0) throw new GitError('native_failed', `git fetch: ${sentenceOf(stderr)}`, { stderr })
  await syncFolders(to.dir)
}

/** Git syncs what it writes, never the names. */
async function syncFolders(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true })
  for (const entry of entries) if (entry.isDirectory()) await syncFolders(join(dir, entry.name))
  await syncDirectory(dir)
}
