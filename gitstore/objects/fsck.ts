/** Runs git fsck on a repository. */
import { lstat } from 'node:fs/promises'
import { isAbsent } from '../fs-exists.ts'
import { longestGitMs, runGit } from '../native.ts'
import type { Repo } from '../repo.ts'

/**
 * Returns Git's own sentences, or undefined if it finds no fault. Git reads every byte.
 *
 * @throws GitError native_failed: Git could not be started, or `signal` ended it
 */
export async function findDamage(repo: Repo, signal?: AbortSignal): Promise<string | undefined> {
  const how = ['--full', '--strict', '--no-dangling', '--no-reflogs', '--no-progress']
  const args = [...(await withoutAbsentIndexes(repo)), 'fsck', ...how]
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
  return [
    ...(noGraph ? ['-c', 'core.commitGraph=false'] : []),
    ...(noMultiPack ? ['-c', 'core.multiPackIndex=false'] : []),
  ]
}

/** Returns Git's first complaints, in one line. */
export function sentenceOf(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '' && !/^(notice|hint|warning): /.test(line))
  const shown = lines.slice(0, 3).join('; ') || 'it failed without a message'
  return lines.length > 3 ? `${shown}; and ${lines.length - 3} more` : shown
}
