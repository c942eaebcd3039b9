/** Finds the files that options, `.groveignore` or Git exclude from an import. */
import { join } from 'node:path'
import { isGitError } from '../../../../gitstore/errors.ts'
import { findWorkTree, listIgnored, matchPatterns } from '../../../../gitstore/ignored-files.ts'
import { readRegular } from '../../../../gitstore/regular-files.ts'

export interface Exclusions {
  /** Patterns as in `.gitignore`. */
  readonly exclude: readonly string[]
  readonly signal: AbortSignal
}

const ignoreFile = '.groveignore'
/** Maximum size of the ignore file, in bytes. */
const maxIgnoreFile = 1_048_576

/** The error if exclusions cannot be read. Nothing is imported, because excluded files may be secrets. */
export class UnreadableExclusionsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UnreadableExclusionsError'
  }
}

/**
 * Returns the excluded paths. @throws UnreadableExclusionsError, GitError busy, limit_exceeded or native_failed, and system errors
 */
export async function excludedFiles(
  dir: string,
  paths: readonly string[],
  { exclude, signal }: Exclusions,
): Promise<Set<string>> {
  const own = await readRegular(join(dir, ignoreFile), maxIgnoreFile, dir)
  if (typeof own === 'string') throw new UnreadableExclusionsError(`${ignoreFile} cannot be read: it ${own}`)
  const patterns = `${own?.toString() ?? ''}\n${exclude.join('\n')}`
  const excluded = new Set(patterns.trim() === '' ? [] : await matchPatterns(patterns, paths, signal))
  const workTree = findWorkTree(dir)
  if (workTree === undefined) return excluded
  try {
    for (const path of await listIgnored(dir, workTree, signal)) excluded.add(path)
  } catch (error) {
    if (!isGitError(error, 'native_failed') || signal.aborted) throw error
    const reason = String(error.facts.stderr ?? '').split('\n')[0] || error.message
    throw new UnreadableExclusionsError(`Git cannot list the files that it ignores in ${workTree.dir}: ${reason}`, {
      cause: error,
    })
  }
  return excluded
}
