/** Finds the files that were renamed between two trees, as `git diff -M` finds them. */

import { createCache } from '../caching/caches.ts'
import { isGitError } from '../errors.ts'
import { askGit, type GitReading } from '../git-questions.ts'
import * as limits from '../limits.ts'
import type { Oid, Repo } from '../repo.ts'
import { decodeName } from './tree-names.ts'

/** Bytes of Git's output: 100,000 renames of long paths. */
const maxOutputBytes = 64 * 1024 * 1024
/** Milliseconds before Git is asked again about trees that took too long. */
const failureMs = 600_000

/** New paths by trees and old path; '' if the file was not renamed. */
const renames = createCache<string>('renames', {
  sizeCalculation: (path, key) => 2 * (path.length + key.length) + 200,
})

/**
 * Returns the new path of each of `paths` that was renamed. Similarity is at least 50 %. If over 200 files were added or
 * removed, only files with the same bytes, or with the same name in another folder, are renames. If Git exceeds its
 * limits, renames are missing.
 *
 * @throws the errors of askGit except limit_exceeded; the signal's reason
 */
export async function findRenames(
  repo: Repo,
  { from, to }: { readonly from: Oid; readonly to: Oid },
  paths: readonly string[],
  bounds: Pick<GitReading, 'timeoutMs' | 'signal'>,
): Promise<Map<string, string>> {
  const keyOf = (path: string) => `${from}:${to}:${path}`
  const found = new Map<string, string>()
  const unknown = new Set<string>()
  for (const path of paths) {
    const known = renames.get(keyOf(path))
    if (known === undefined) unknown.add(path)
    else if (known !== '') found.set(path, known)
  }
  if (unknown.size === 0) return found
  const { asked, isComplete } = await askRenames(repo, from, to, unknown, bounds)
  for (const path of unknown) {
    const renamed = asked.get(path)
    renames.set(keyOf(path), renamed ?? '', isComplete ? {} : { ttl: failureMs })
    if (renamed !== undefined) found.set(path, renamed)
  }
  return found
}

/** Source: git-diff-tree(1), `--name-status -z`: status, old path and new path, each ended by NUL. */
async function askRenames(
  repo: Repo,
  from: Oid,
  to: Oid,
  wanted: ReadonlySet<string>,
  bounds: Pick<GitReading, 'timeoutMs' | 'signal'>,
): Promise<{ asked: Map<string, string>; isComplete: boolean }> {
  const asked = new Map<string, string>()
  const form = ['-z', '--name-status', '--diff-filter=R', '--no-ext-diff', '--no-textconv', '-O/dev/null']
  const args = [
    'diff-tree',
    '-r',
    '--find-renames=50%',
    `-l${limits.renamedFiles}`,
    ...form,
    '--end-of-options',
    from,
    to,
    '--',
  ]
  let part: Buffer = Buffer.alloc(0)
  let record: Buffer[] = []
  const take = (chunk: Buffer): boolean => {
    part = part.length === 0 ? chunk : Buffer.concat([part, chunk])
    let at = 0
    for (let end = part.indexOf(0); end >= 0; at = end + 1, end = part.indexOf(0, at)) {
      record.push(part.subarray(at, end))
      const [, old, renamed] = record
      if (!old || !renamed) continue
      const path = decodeName(old)
      if (wanted.has(path)) asked.set(path, decodeName(renamed))
      record = []
    }
    part = Buffer.from(part.subarray(at))
    record = record.map((field) => Buffer.from(field))
    return asked.size < wanted.size
  }
  const settings = [`core.bigFileThreshold=${limits.comparedFileBytes}`]
  try {
    await askGit(repo, args, { ...bounds, maxOutputBytes, settings, take })
    return { asked, isComplete: true }
  } catch (error) {
    if (isGitError(error, 'limit_exceeded')) return { asked, isComplete: false }
    throw error
  }
}
