/** Questions to git about what a repository holds: bounded in time and output, with the errors of our own readers. */

import { GitError } from './errors.ts'
import { exists } from './fs-exists.ts'
import { runGit } from './native.ts'
import type { Repo } from './repo.ts'

/** What one reader may hold in memory beside the objects that it compares: the packs that it maps, the bases of deltas. */
const memory = ['core.packedGitWindowSize=1m', 'core.packedGitLimit=32m', 'core.deltaBaseCacheLimit=8m']

/**
 * No attributes of a tree and no name beyond ASCII as it is: what git says follows from the objects alone. Git before 2.41
 * does not know the variable, and reads no attributes of trees in a bare repository.
 */
const env = { GIT_ATTR_SOURCE: '4b825dc642cb6eb9a060e54bf8d69288fbee4904', GIT_LITERAL_PATHSPECS: '1' }
const settings = ['core.attributesFile=/dev/null', 'core.quotePath=true', 'diff.suppressBlankEmpty=false']

export interface GitReading {
  /** Settings of this question, `name=value`. */
  readonly settings?: readonly string[]
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  /** As runGit's. */
  readonly take?: (chunk: Buffer) => boolean
  readonly signal?: AbortSignal
}

/**
 * What git writes. The arguments must be such that git can refuse them only where it cannot read the repository.
 *
 * @throws GitError limit_exceeded (time, facts.timedOut; output), object_damaged (facts.stderr), repo_missing, busy,
 *   native_failed; the signal's reason; what `take` throws
 */
export async function askGit(repo: Repo, args: readonly string[], reading: GitReading): Promise<Buffer> {
  const { settings: own = [], signal, ...limits } = reading
  const given = [...memory, ...settings, ...own].flatMap((setting) => ['-c', setting])
  try {
    const { code, stdout, stderr } = await runGit(repo, [...given, ...args], {
      ...limits,
      env,
      ...(signal && { signal }),
    })
    if (code === 0) return stdout
    if (code !== 128) throw new GitError('native_failed', `git ended with ${code}`, { args, stderr })
    if (!exists(`${repo.dir}/objects`)) throw new GitError('repo_missing', 'The repository does not exist')
    throw new GitError('object_damaged', 'git cannot read what it needs', { args, stderr })
  } catch (error) {
    // A git that the signal ended fails with an error of its own.
    signal?.throwIfAborted()
    if (error instanceof GitError && error.facts.timedOut === true)
      throw new GitError('limit_exceeded', `git ran for ${reading.timeoutMs} ms`, error.facts)
    throw error
  }
}
