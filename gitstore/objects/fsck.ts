/** Runs git fsck on a repository. */
import { longestGitMs, runGit } from '../native.ts'
import type { Repo } from '../repo.ts'

/**
 * Git's own sentences, or undefined where it finds nothing wrong. `full` reads every byte; `connectivity` that every object
 * which a ref needs is there.
 *
 * @throws GitError native_failed: git could not be started, or was ended by `signal`
 */
export async function findDamage(
  repo: Repo,
  depth: 'full' | 'connectivity',
  signal?: AbortSignal,
): Promise<string | undefined> {
  const how = depth === 'full' ? ['--full', '--strict'] : ['--connectivity-only']
  const args = ['fsck', ...how, '--no-dangling', '--no-reflogs', '--no-progress']
  const { code, stdout, stderr } = await runGit(repo, args, { timeoutMs: longestGitMs, ...(signal && { signal }) })
  return code === 0 ? undefined : `git fsck: ${sentenceOf(`${stderr}\n${stdout}`.replaceAll(`${repo.dir}/`, ''))}`
}

/** The first complaints of git, in one line. */
export function sentenceOf(said: string): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '' && !/^(notice|hint|warning): /.test(line))
  const shown = lines.slice(0, 3).join('; ') || 'it failed without a message'
  return lines.length > 3 ? `${shown}; and ${lines.length - 3} more` : shown
}
