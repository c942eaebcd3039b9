/** Which files differ between two trees. */

import { GitError } from './errors.ts'
import type { Oid, Repo } from './repo.ts'
import { comparePaths, type Mode, readTree, type TreeEntry } from './trees.ts'

interface Side {
  readonly mode: Mode
  readonly oid: Oid
}

export interface Change {
  readonly path: string
  /** null: the file is new. */
  readonly old: Side | null
  /** null: the file is gone. */
  readonly new: Side | null
}

/** Twice what a tree may hold, so that any two can be compared; it stops trees whose 12 objects make 10^10 paths. */
const maxEntries = 200_000
const maxDepth = 128

/**
 * The files that differ, sorted by the bytes of the path: `git diff-tree -r --no-renames`. Only subtrees that differ are
 * opened. A gitlink counts as a file; a file that became a directory is one deletion and its additions. null is no tree.
 *
 * @throws GitError limit_exceeded, and as readTree
 */
export async function diffTrees(repo: Repo, from: Oid | null, to: Oid | null): Promise<Change[]> {
  const changes: Change[] = []
  let opened = 0
  await compare(from, to, '', 1)
  return changes.sort((a, b) => comparePaths(a.path, b.path))

  async function compare(from: Oid | null, to: Oid | null, prefix: string, depth: number) {
    if (from === to) return
    const before = await entriesByName(from)
    const after = await entriesByName(to)
    opened += before.size + after.size
    if (opened > maxEntries)
      throw new GitError('limit_exceeded', `More than ${maxEntries} entries differ`, { maxEntries })
    if (depth > maxDepth) throw new GitError('limit_exceeded', `Deeper than ${maxDepth}`, { maxDepth })
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const a = before.get(name)
      const b = after.get(name)
      if (a?.oid === b?.oid && a?.mode === b?.mode) continue
      const [oldFile, newFile] = [fileSide(a), fileSide(b)]
      if (oldFile || newFile) changes.push({ path: prefix + name, old: oldFile, new: newFile })
      await compare(directoryOid(a), directoryOid(b), `${prefix}${name}/`, depth + 1)
    }
  }

  async function entriesByName(tree: Oid | null) {
    return new Map(tree === null ? [] : (await readTree(repo, tree)).map((entry) => [entry.name, entry]))
  }
}

function fileSide(entry: TreeEntry | undefined): Side | null {
  return entry && entry.mode !== '040000' ? { mode: entry.mode, oid: entry.oid } : null
}

function directoryOid(entry: TreeEntry | undefined): Oid | null {
  return entry?.mode === '040000' ? entry.oid : null
}
