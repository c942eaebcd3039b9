/** Moves and lists bare repositories. A rename is the commit point of creation and of deletion. */
import { statSync } from 'node:fs'
import { opendir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from './durable.ts'
import { asStorageError, codeOf, GitError } from './errors.ts'
import { ignoreMissing } from './fs-exists.ts'
import type { Repo } from './repo.ts'
import { isUnfinished, unfinishedName } from './temporary-names.ts'

/** The prefix of branches, and the branch that HEAD names in every repository. */
export const branchRefs = 'refs/heads/'
export const main = `${branchRefs}main`
export const head = `ref: ${main}\n`
/** The same in every repository. */
export const config = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n'

/**
 * Renames a folder of one or more repositories, durably.
 *
 * @throws GitError repo_missing, repo_exists
 */
export async function moveRepo(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
    await syncDirectory(dirname(to))
    if (dirname(from) !== dirname(to)) await syncDirectory(dirname(from))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new GitError('repo_missing', 'The repository does not exist')
    if (codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST')
      throw new GitError('repo_exists', 'A repository of that name exists')
    throw asStorageError(error)
  }
}

/**
 * Removes a repository that nobody knows. If this process dies, the sweep removes the rest.
 *
 * @throws GitError repo_missing, storage_*
 */
export async function removeRepo(dir: string): Promise<void> {
  const leaving = join(dirname(dir), unfinishedName())
  await moveRepo(dir, leaving)
  await rm(leaving, { recursive: true, force: true })
}

/**
 * True if the objects folder exists. A repository that has lost another part is damaged, not gone.
 *
 * @throws GitError storage_*: a fault of the file system does not mean that the repository is missing
 */
export function repoExists(repo: Repo): boolean {
  try {
    return statSync(join(repo.dir, 'objects'), { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return false
    throw asStorageError(error)
  }
}

/** Returns the sorted names, without `.git`, of the repositories in a folder. A missing folder has no repositories. */
export async function listRepos(folder: string): Promise<string[]> {
  const names = (await ignoreMissing(readdir(folder))) ?? []
  return names.flatMap(repoName).sort()
}

/** Yields the same names unsorted, with a turn of the event loop after each thousand. */
export async function* eachRepo(folder: string): AsyncGenerator<string> {
  const opened = await ignoreMissing(opendir(folder, { bufferSize: namesPerTurn }))
  for await (const { name } of opened ?? []) yield* repoName(name)
}

const namesPerTurn = 1_000

/** Returns an empty list for an unfinished repository, and for any other name. */
function repoName(name: string): string[] {
  return name.endsWith('.git') && !isUnfinished(name) ? [name.slice(0, -'.git'.length)] : []
}
