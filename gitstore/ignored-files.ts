/** Lists files that Git's ignore patterns exclude from a work tree or from given paths. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { GitError } from './errors.ts'
import { lexists } from './fs-exists.ts'
import { runGit } from './native.ts'
import { head } from './repo-folders.ts'

/** The time limit of one Git process. */
const timeoutMs = 120_000

/** The work tree that contains a folder. */
interface WorkTree {
  readonly dir: string
  /** A folder, or a file that names one. */
  readonly git: string
}

/** Finds the nearest folder that has a `.git`, from `folder` upwards. */
export function findWorkTree(folder: string): WorkTree | undefined {
  for (let dir = folder; ; dir = dirname(dir)) {
    const git = join(dir, '.git')
    if (lexists(join(git, 'HEAD')) || (lexists(git) && !lexists(join(git, '.')))) return { dir, git }
    if (dirname(dir) === dir) return undefined
  }
}

/**
 * Lists the files below `folder` that Git ignores there. The paths are relative to `folder`. The patterns are those of
 * `.gitignore` and `info/exclude`; configuration of the machine does not count. Tracked files and files in a repository
 * within the work tree are not listed.
 *
 * @throws GitError native_failed (facts.stderr), limit_exceeded
 */
export async function listIgnored(folder: string, { dir, git }: WorkTree, signal: AbortSignal): Promise<string[]> {
  const args = ['-c', 'core.fsmonitor=false', '-C', folder, 'ls-files', '-o', '-i', '--exclude-standard', '-z']
  const { code, stdout, stderr } = await runGit({ dir: git }, args, { env: { GIT_WORK_TREE: dir }, timeoutMs, signal })
  if (code !== 0) throw new GitError('native_failed', 'git cannot read the work tree', { stderr })
  return namesIn(stdout)
}

/**
 * Returns the paths that the patterns leave out. The patterns apply as in a `.gitignore` of the folder that the paths
 * are relative to. All paths are treated as files, and the file system is not searched.
 *
 * @throws GitError native_failed, limit_exceeded
 */
export async function matchPatterns(
  patterns: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  // The repository and the work tree are empty, so Git reads no other patterns.
  const scratch = await mkdtemp(join(tmpdir(), 'grove-patterns-'))
  try {
    for (const name of ['git/objects', 'git/refs', 'work']) await mkdir(join(scratch, name), { recursive: true })
    await writeFile(join(scratch, 'git/HEAD'), head)
    await writeFile(join(scratch, 'patterns'), patterns)
    const [work, file] = [join(scratch, 'work'), join(scratch, 'patterns')]
    // Without `./`, a leading colon would have a special meaning.
    const input = Buffer.from(paths.map((path) => `./${path}\0`).join(''))
    const { code, stdout, stderr } = await runGit(
      { dir: join(scratch, 'git') },
      ['-c', `core.excludesFile=${file}`, '-C', work, 'check-ignore', '--no-index', '--stdin', '-z'],
      { env: { GIT_WORK_TREE: work }, input, timeoutMs, signal },
    )
    // 1: no path matches.
    if (code > 1) throw new GitError('native_failed', 'git cannot read the patterns', { stderr })
    return namesIn(stdout).map((path) => path.slice(2))
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function namesIn(output: Buffer): string[] {
  return output
    .toString()
    .split('\0')
    .filter((name) => name !== '')
}
