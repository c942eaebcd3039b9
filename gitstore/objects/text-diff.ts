/** What differs between two trees as text: hunks, or a patch. Made by `git diff-tree`, whatever the repository's configuration. */

import { askGit, type GitReading } from '../git-reader.ts'
import type { Oid, Repo } from '../repo.ts'
import { type DiffLimits, type FileDiff, PatchReader } from './patch-reader.ts'
import { emptyTree } from './trees.ts'

/** Bytes above which git compares a file as binary, without reading it for hunks. */
export const maxTextBytes = 8 * 1024 * 1024
/** Files that came and files that went, of which each is compared with each; beyond, only the same bytes are a rename. */
const maxRenames = 200
/** Bytes of all output that is read for hunks: about 2 s. */
const maxReadBytes = 256 * 1024 * 1024

export interface TreePair {
  /** null: no tree, everything is added. */
  readonly from: Oid | null
  readonly to: Oid
  /** Only this file, or what lies in this folder. A rename into it is then an addition. */
  readonly path?: string | undefined
}

export interface Hunks {
  /** By the bytes of their paths, the first ones. */
  readonly files: readonly FileDiff[]
  /** Of all files that differ. */
  readonly total: number
}

type Bounds = Pick<GitReading, 'timeoutMs' | 'signal'>

/**
 * The files that differ with their hunks of three lines of context, as `git diff -M` makes them; a part of both beyond
 * `limits`.
 *
 * @throws GitError as askGit
 */
export async function readHunks(repo: Repo, pair: TreePair, limits: DiffLimits, bounds: Bounds): Promise<Hunks> {
  const reader = new PatchReader(limits)
  let isEnough = false
  const take = (chunk: Buffer): boolean => {
    isEnough = !reader.take(chunk)
    return !isEnough
  }
  await diffTree(repo, ['-z', '--raw', '--no-abbrev'], pair, { ...bounds, maxOutputBytes: maxReadBytes, take })
  if (!isEnough) reader.end()
  return { files: reader.files, total: reader.total }
}

/**
 * A patch that `git apply` takes, with binary files: it makes `to` of `from`.
 *
 * @throws GitError as askGit: limit_exceeded where it has more than `maxBytes`
 */
export function readPatch(repo: Repo, pair: TreePair, maxBytes: number, bounds: Bounds): Promise<Buffer> {
  return diffTree(repo, ['--binary', '--full-index'], pair, { ...bounds, maxOutputBytes: maxBytes })
}

function diffTree(repo: Repo, form: readonly string[], { from, to, path }: TreePair, reading: GitReading) {
  const args = [
    ...['diff-tree', '-r', '--patch', '--unified=3', '--inter-hunk-context=0', '--diff-algorithm=myers'],
    ...['--indent-heuristic', `--find-renames=50%`, `-l${maxRenames}`, '--no-color', '--no-ext-diff', '--no-textconv'],
    ...['--submodule=short', '--ignore-submodules=none', '--src-prefix=a/', '--dst-prefix=b/', '-O/dev/null'],
    ...form,
  ]
  const trees = ['--end-of-options', from ?? emptyTree, to]
  const settings = [`core.bigFileThreshold=${maxTextBytes}`]
  return askGit(repo, [...args, ...trees, '--', ...(path === undefined ? [] : [path])], { ...reading, settings })
}
