/** Runs git fsck on a repository. */
import { lstat } from 'node:fs/promises'
import { isAbsent } from '../fs-exists.ts'
import { longestGitMs, runGit } from '../native.ts'
import type { Repo } from '../repo.ts'

/**
 * Git's own sentences, or undefined where it finds nothing wrong. It reads every byte.
 *
 * @throws GitError native_failed: git could not be started, or was ended by `signal`
 */
export async function findDamage(repo: Repo, signal?: AbortSignal): Promise<string | undefined> {
  const how = ['--full', '--strict', '--no-dangling', '--no-reflogs', '--no-progress']
  const args = [...(await withoutAbsentIndexes(repo)), 'fsck', ...how]
  const { code, stdout, stderr } = await runGit(repo, args, { timeoutMs: longestGitMs, ...(signal && { signal }) })
  return code === 0 ? undefined : `git fsck: ${sentenceOf(`${stderr}\n${stdout}`.replaceAll(`${repo.dir}/`, ''))}`
}

/** git fsck starts a git for the commit-graph and one for the multi-pack-index, also where there are none: most of its time in a small repository. */
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

/** The first complaints of git, in one line. */
export function sentenceOf(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '' && !/^(notice|hint|warning): /.test(line))
  const shown = lines.slice(0, 3).join('; ') || 'it failed without a message'
  return lines.length > 3 ? `${shown}; and ${lines.length - 3} more` : shown
}
