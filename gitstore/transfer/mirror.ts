/** Copies a repository between folders with Git. Copies every ref and its objects, but no configuration. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory } from '../durable.ts'
import { GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { createRepoBy } from '../new-repos.ts'
import { sentenceOf } from '../objects/fsck.ts'
import type { Repo } from '../repo.ts'

const mirrorTimeoutMs = 60 * 60_000

/**
 * The command that reads the source. Git runs no hooks and no programs that the source's configuration names. The
 * settings allow another user's repository, and show every ref, even if that configuration hides it.
 */
const uploadPack = 'GIT_ALLOW_PROTOCOL= git -c safe.directory=* -c transfer.hideRefs=!refs upload-pack'

/**
 * Creates a bare repository at `dir` with the refs and objects of `from`. It is durable, and created completely or not
 * at all. `signal` ends Git.
 *
 * @throws GitError repo_exists, repo_missing (the folder to hold it does not exist), storage_*
 * @throws GitError native_failed, with Git's message, if `from` is damaged or missing
 */
export function createMirror(from: Repo, dir: string, signal?: AbortSignal): Promise<Repo> {
  // This makes one pack, instead of a file for each object: Git would unpack fewer than 100.
  return createRepoBy(dir, (repo) => fetchAll(from, repo, ['-c', 'fetch.unpackLimit=1'], signal))
}

/**
 * Updates every ref of the bare repository `to` to that of `from`, durably. Deletes refs that `from` does not have. Git
 * reads the refs first and then their objects, so a concurrent commit is copied completely or not at all. If an object
 * in `from` is missing, or damaged in a pack, no ref moves. Takes about 20 ms. Git obeys the configuration of `to`.
 *
 * @throws GitError native_failed with Git's message, storage_*
 */
export function fetchMirror(from: Repo, to: Repo, signal?: AbortSignal): Promise<void> {
  return fetchAll(from, to, [], signal)
}

async function fetchAll(from: Repo, to: Repo, config: readonly string[], signal?: AbortSignal): Promise<void> {
  const options = ['--quiet', '--prune', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance']
  const { code, stderr } = await runGit(
    to,
    [
      ...[...config, 'fetch', ...options, `--upload-pack=${uploadPack}`],
      ...['--end-of-options', from.dir, '+refs/*:refs/*'],
    ],
    { env: { GIT_ALLOW_PROTOCOL: 'file' }, timeoutMs: mirrorTimeoutMs, ...(signal && { signal }) },
  )
  if (code !== 0) throw new GitError('native_failed', `git fetch: ${sentenceOf(stderr)}`, { stderr })
  await syncFolders(to.dir)
}

/** Syncs folders. Git syncs files, never folders. */
async function syncFolders(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true })
  for (const entry of entries) if (entry.isDirectory()) await syncFolders(join(dir, entry.name))
  await syncDirectory(dir)
}
