/** Lists the files that differ between two trees. */

import { GitError } from '../errors.ts'
import * as limits from '../limits.ts'
import type { Oid, Repo } from '../repo.ts'
import { createYielder } from '../yielder.ts'
import { compareEntries, type Mode, readTree, type TreeEntry } from './trees.ts'

interface Side {
  readonly mode: Mode
  readonly oid: Oid
}

export interface TreeChange {
  readonly path: string
  /** null if the file is new. */
  readonly old: Side | null
  /** null if the file was deleted. */
  readonly new: Side | null
}

const maxDepth = 128

interface DiffLimits {
  /** Names in all trees that are read. */
  readonly entries: number
  /** Characters of all paths that differ. */
  readonly characters: number
  /** Called with the names in each pair of trees that is read. */
  readonly counted?: (entries: number) => void
}

/**
 * Lists the files that differ, sorted by the bytes of the path: `git diff-tree -r --no-renames`. Opens only subtrees
 * that differ. A gitlink counts as a file. A file that became a directory is one deletion and the directory's
 * additions. null means that there is no tree.
 *
 * @throws GitError limit_exceeded, and the errors of readTree
 */
export async function diffTrees(
  repo: Repo,
  from: Oid | null,
  to: Oid | null,
  pace = createYielder(),
  most: DiffLimits = { entries: limits.diffEntries, characters: limits.treePathCharacters },
): Promise<TreeChange[]> {
  const changes: TreeChange[] = []
  let opened = 0
  let characters = 0
  await compare(from, to, '', 1)
  return changes

  async function compare(from: Oid | null, to: Oid | null, prefix: string, depth: number) {
    if (from === to) return
    const before = from === null ? [] : await readTree(repo, from, pace)
    const after = to === null ? [] : await readTree(repo, to, pace)
    opened += before.length + after.length
    most.counted?.(before.length + after.length)
    if (opened > most.entries)
      throw new GitError('limit_exceeded', `More than ${most.entries} entries differ`, { maxEntries: most.entries })
    if (depth > maxDepth) throw new GitError('limit_exceeded', `Deeper than ${maxDepth}`, { maxDepth })
    for (const [a, b] of pairs(before, after)) {
      if (pace.shouldYield(1)) await pace.yieldToEventLoop()
      if (a?.oid === b?.oid && a?.mode === b?.mode) continue
      const path = prefix + (a?.name ?? b?.name)
      characters += path.length
      if (characters > most.characters)
        throw new GitError('limit_exceeded', `Paths of over ${most.characters} characters`, {
          maxPathCharacters: most.characters,
        })
      const [oldFile, newFile] = [fileSide(a), fileSide(b)]
      if (oldFile || newFile) changes.push({ path, old: oldFile, new: newFile })
      else await compare(a?.oid ?? null, b?.oid ?? null, `${path}/`, depth + 1)
    }
  }
}

/** Pairs entries of the same name and kind (file or directory), in Git's order. */
function* pairs(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
): Iterable<readonly [TreeEntry | undefined, TreeEntry | undefined]> {
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    const [a, b] = [before[i], after[j]]
    const order = a && b ? compareEntries(a, b) : a ? -1 : 1
    yield [order <= 0 ? a : undefined, order >= 0 ? b : undefined]
    if (order <= 0) i++
    if (order >= 0) j++
  }
}

function fileSide(entry: TreeEntry | undefined): Side | null {
  return entry && entry.mode !== '040000' ? { mode: entry.mode, oid: entry.oid } : null
}
