/** Runs git fsck on a repository. */
import { lstat } from 'node:fs/promises'
import { isAbsent } from '../fs-exists.ts'
import { longestGitMs, runGit } from '../native.ts'
import type { Repo } from '../repo.ts'

const fsck = ['fsck', '--full', '--strict', '--no-dangling', '--no-reflogs', '--no-progress']
const noIndexes = ['-c', 'core.commitGraph=false', '-c', 'core.multiPackIndex=false']

/** Prints the positions of the repositories in which git fsck fails. */
const eachFsck = `!f() {
  n=0
  for d
  do
    GIT_DIR=$d git ${fsck.join(' ')} >/dev/null 2>&1 || echo $n
    n=$((n+1))
  done
}
f`

/**
 * Returns repositories in which Git finds no fault. Some of the others may also be intact. Git starts from a shell, because
 * starting it from a large process takes longer than a check of a small repository.
 *
 * @throws GitError native_failed: `signal` ended it
 */
export async function findIntact(repos: readonly Repo[], signal: AbortSignal): Promise<readonly Repo[]> {
  const flags = await Promise.all(repos.map(withoutAbsentIndexes))
  const plain = repos.filter((_, at) => flags[at]?.length === noIndexes.length)
  const [first] = plain
  if (first === undefined) return []
  const args = [...noIndexes, '-c', `alias.each=${eachFsck}`, 'each', ...plain.map(({ dir }) => dir)]
  const { code, stdout } = await runGit(first, args, { timeoutMs: longestGitMs, signal })
  const suspects = new Set(stdout.toString().split('\n'))
  return code === 0 ? plain.filter((_, at) => !suspects.has(String(at))) : []
}

/**
 * True if Git finds no fault in any object of the repositories. One process reads all of them. It does not check that
 * each repository has the objects that its own refs reach.
 *
 * @throws GitError native_failed: `signal` ended it
 */
export async function areObjectsIntact(repos: readonly Repo[], signal: AbortSignal): Promise<boolean> {
  const [first, ...others] = repos.map(({ dir }) => dir)
  // Git divides the list at colons.
  if (first === undefined || others.some((dir) => dir.includes(':'))) return false
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: others.map((dir) => `${dir}/objects`).join(':') }
  const args = [...noIndexes, ...fsck]
  const { code, stderr } = await runGit({ dir: first }, args, { env, timeoutMs: longestGitMs, signal })
  // Git skips a folder that it cannot open, and says so.
  return code === 0 && !/^error: /m.test(stderr)
}

/**
 * Returns Git's own sentences, or undefined if it finds no fault. Git reads every byte.
 *
 * @throws GitError native_failed: Git could not be started, or `signal` ended it
 */
export async function findDamage(repo: Repo, signal?: AbortSignal): Promise<string | undefined> {
  const args = [...(await withoutAbsentIndexes(repo)), ...fsck]
  const { code, stdout, stderr } = await runGit(repo, args, { timeoutMs: longestGitMs, ...(signal && { signal }) })
  return code === 0 ? undefined : `git fsck: ${sentenceOf(`${stderr}\n${stdout}`.replaceAll(`${repo.dir}/`, ''))}`
}

/**
 * Turns off checks of indexes that do not exist. Otherwise git fsck starts a process for the commit-graph and one for
 * the multi-pack-index. In a small repository that takes most of its time.
 */
async function withoutAbsentIndexes({ dir }: Repo): Promise<string[]> {
  const areAbsent = async (...names: string[]) =>
    (await Promise.all(names.map((name) => lstat(`${dir}/objects/${name}`).then(() => false, isAbsent)))).every(Boolean)
  const [noGraph, noMultiPack] = await Promise.all([
    areAbsent('info/commit-graph', 'info/commit-graphs'),
    areAbsent('pack/multi-pack-index', 'pack/multi-pack-index.d'),
  ])
  return [...(noGraph ? noIndexes.slice(0, 2) : []), ...(noMultiPack ? noIndexes.slice(2) : [])]
}

/** Returns Git's first complaints, in one line. */
export function sentenceOf(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '' && !/^(notice|hint|warning): /.test(line))
  const shown = lines.slice(0, 3).join('; ') || 'it failed without a message'
  return lines.length > 3 ? `${shown}; and ${lines.length - 3} more` : shown
}
