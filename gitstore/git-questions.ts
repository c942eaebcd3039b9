/**
 * Queries the content of a repository with Git processes, within limits of time and output. Their failures become the
 * same errors that our own readers throw.
 */

import { GitError } from './errors.ts'
import { exists } from './fs-exists.ts'
import { runGit } from './native.ts'
import type { ObjectPlaces, Repo } from './repo.ts'

/**
 * Bounds the memory of one Git reader for mapped packs and the bases of deltas. The objects that it compares need more.
 */
const memory = ['core.packedGitWindowSize=1m', 'core.packedGitLimit=32m', 'core.deltaBaseCacheLimit=8m']

/**
 * Makes Git's output depend only on the objects. Attributes of a tree are ignored, and names beyond ASCII are quoted.
 * Git before 2.41 ignores GIT_ATTR_SOURCE, but reads no attributes of trees in a bare repository.
 */
const env = { GIT_ATTR_SOURCE: '4b825dc642cb6eb9a060e54bf8d69288fbee4904', GIT_LITERAL_PATHSPECS: '1' }
const settings = ['core.attributesFile=/dev/null', 'core.quotePath=true', 'diff.suppressBlankEmpty=false']

export interface GitReading {
  /** Settings for this query only, as `name=value`. */
  readonly settings?: readonly string[]
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  /** The same as `take` of runGit. */
  readonly take?: (chunk: Buffer) => boolean
  readonly signal?: AbortSignal
  /** A folder of objects that Git also reads, from `withPendingStored`. */
  readonly objects?: ObjectPlaces
}

/**
 * Returns the output of Git. The arguments must be valid, so that exit code 128 means that Git cannot read the
 * repository.
 *
 * @throws GitError limit_exceeded (time with facts.timedOut, or output), object_damaged (facts.stderr), repo_missing,
 *   busy, native_failed
 * @throws the signal's reason, and any error of `take`
 */
export async function askGit(repo: Repo, args: readonly string[], reading: GitReading): Promise<Buffer> {
  const { settings: own = [], signal, objects, ...limits } = reading
  const given = [...memory, ...settings, ...own].flatMap((setting) => ['-c', setting])
  try {
    const { code, stdout, stderr } = await runGit(repo, [...given, ...args], {
      ...limits,
      env: { ...env, ...objects },
      ...(signal && { signal }),
    })
    if (code === 0) return stdout
    if (code !== 128) throw new GitError('native_failed', `git ended with ${code}`, { args, stderr })
    if (!exists(`${repo.dir}/objects`)) throw new GitError('repo_missing', 'The repository does not exist')
    throw new GitError('object_damaged', 'git cannot read what it needs', { args, stderr })
  } catch (error) {
    // A Git process that the signal ended fails with another error.
    signal?.throwIfAborted()
    if (error instanceof GitError && error.facts.timedOut === true)
      throw new GitError('limit_exceeded', `git ran for ${reading.timeoutMs} ms`, error.facts)
    throw error
  }
}
