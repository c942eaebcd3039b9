/** Files that patterns of git leave out: those of a work tree, and patterns given apart. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { GitError } from './errors.ts'
import { lexists } from './fs-exists.ts'
import { runGit } from './native.ts'
import { head } from './repo-folders.ts'

/** For one git. */
const timeoutMs = 120_000

/** The work tree in which a folder lies. */
interface WorkTree {
  readonly dir: string
  /** A folder, or a file that names one. */
  readonly git: string
}

/** The nearest folder, from `folder` upwards, that has a `.git`. */
export function findWorkTree(folder: string): WorkTree | undefined {
  for (let dir = folder; ; dir = dirname(dir)) {
    const git = join(dir, '.git')
    if (lexists(join(git, 'HEAD')) || (lexists(git) && !lexists(join(git, '.')))) return { dir, git }
    if (dirname(dir) === dir) return undefined
  }
}

/**
 * The files below `folder` that git ignores there, by their paths from it: by `.gitignore` and `info/exclude`; none that is
 * tracked, and none in a repository within the work tree. Configuration of the machine does not count.
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
 * Those of `paths` that the patterns leave out, as a `.gitignore` with these lines would beside them. The paths are of files;
 * nothing is looked for.
 *
 * @throws GitError native_failed, limit_exceeded
 */
export async function matchPatterns(
  patterns: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  // A repository and a work tree that hold nothing: git reads no other patterns.
  const scratch = await mkdtemp(join(tmpdir(), 'grove-patterns-'))
  try {
    for (const name of ['git/objects', 'git/refs', 'work']) await mkdir(join(scratch, name), { recursive: true })
    await writeFile(join(scratch, 'git/HEAD'), head)
    await writeFile(join(scratch, 'patterns'), patterns)
    const [work, file] = [join(scratch, 'work'), join(scratch, 'patterns')]
    // A path that begins with a colon would have a meaning of its own.
    const input = Buffer.from(paths.map((path) => `./${path}\0`).join(''))
    const { code, stdout, stderr } = await runGit(
      { dir: join(scratch, 'git') },
      ['-c', `core.excludesFile=${file}`, '-C', work, 'check-ignore', '--no-index', '--stdin', '-z'],
      { env: { GIT_WORK_TREE: work }, input, timeoutMs, signal },
    )
    // 1: none is left out.
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
