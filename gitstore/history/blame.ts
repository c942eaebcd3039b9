/**
 * Finds the commit that each line of a file comes from. Uses Git's own blame. The repository's configuration has no
 * influence.
 */

import { GitError } from '../errors.ts'
import { askGit, type GitReading } from '../git-questions.ts'
import { decodeName } from '../objects/tree-names.ts'
import type { Oid, Repo } from '../repo.ts'

/** Consecutive lines that one commit wrote. Line numbers begin at 1. */
export interface BlamedRange {
  readonly first: number
  readonly count: number
  readonly oid: Oid
  /** The number of the first line in that commit. `originalPath` is the file's path there. */
  readonly originalFirst: number
  readonly originalPath: string
}

const maxOutputBytes = 64 * 1024 * 1024

/**
 * Returns the lines of the file at `path` in `head`, as `git blame` reports them. They are in order. Follows the file
 * through renames of the whole file. The file must exist.
 *
 * @throws the errors of askGit
 */
export async function readBlame(
  repo: Repo,
  head: Oid,
  path: string,
  bounds: Pick<GitReading, 'timeoutMs' | 'signal'>,
): Promise<BlamedRange[]> {
  const form = ['--incremental', '--no-textconv', '--no-progress', '--diff-algorithm=myers']
  // The empty option clears the configuration's list of commits to ignore.
  const args = ['blame', ...form, '--ignore-revs-file=', head, '--', path]
  const output = await askGit(repo, args, { ...bounds, maxOutputBytes })
  const ranges: BlamedRange[] = []
  let record: RegExpExecArray | undefined
  for (let at = 0, end = output.indexOf(0x0a); end >= 0; at = end + 1, end = output.indexOf(0x0a, at)) {
    const line = output.subarray(at, end)
    if (!record) {
      record = rangeHead.exec(line.toString('latin1')) ?? undefined
      if (!record) throw malformed()
    } else if (line.subarray(0, fileName.length).equals(fileName)) {
      const [, oid = '', originalFirst, first, count] = record
      const originalPath = decodeName(unquoted(line.subarray(fileName.length)))
      ranges.push({
        oid,
        originalFirst: Number(originalFirst),
        first: Number(first),
        count: Number(count),
        originalPath,
      })
      record = undefined
    }
  }
  if (record) throw malformed()
  return ranges.sort((a, b) => a.first - b.first)
}

/** Source: git-blame(1), "INCREMENTAL OUTPUT". */
const rangeHead = /^([0-9a-f]{40}) (\d+) (\d+) (\d+)$/
const fileName = Buffer.from('filename ')

const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }

/** Source: unquote_c_style, quote.c. */
function unquoted(name: Buffer): Buffer {
  if (name[0] !== 0x22) return name
  const text = name.toString('latin1', 1, name.length - 1)
  const plain = text.replace(/\\([0-3][0-7]{2}|.)/g, (_, code: string) =>
    String.fromCharCode(code.length === 3 ? Number.parseInt(code, 8) : (escapes[code] ?? 0)),
  )
  return Buffer.from(plain, 'latin1')
}

function malformed(): GitError {
  return new GitError('native_failed', 'git blame writes a line of another form')
}
