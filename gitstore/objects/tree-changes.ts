/** Rebuilds a tree along the paths that change. */

import { GitError } from '../errors.ts'
import type { Oid, Repo } from '../repo.ts'
import { type Mode, readTree, type TreeEntry } from './trees.ts'

/** The part of an object batch that `applyChanges` uses. */
export interface TreeBuilder {
  readonly repo: Repo
  tree(entries: readonly TreeEntry[]): Promise<Oid>
}

export interface PathChange {
  readonly path: string
  /** The file's new content. null removes the file, if it exists. */
  readonly blob: Oid | null
}

/**
 * Applies the changes to a tree, as Git's index does. Rebuilds only the directories on the paths, and drops empty ones.
 * An executable file stays executable. Any other file that is written becomes 100644. The last change of a path counts.
 * A file may replace a directory, or the reverse, only if the changes remove the old content.
 *
 * @param onMissing called with each path that is to be removed but has no file
 * @returns the id of the new tree, which is the empty tree if nothing is left
 * @throws GitError path_conflict (facts.path), and the errors of readTree
 */
export async function applyChanges(
  batch: TreeBuilder,
  tree: Oid | null,
  changes: readonly PathChange[],
  onMissing: (path: string) => void = () => undefined,
): Promise<Oid> {
  const root: Branching = { below: new Map() }
  for (const { path, blob } of changes) {
    let node = root
    for (const name of path.split('/')) {
      if (name === '') throw new GitError('path_conflict', 'Not a path of a tree', { path })
      const next: Branching = node.below.get(name) ?? { below: new Map() }
      node.below.set(name, next)
      node = next
    }
    node.blob = blob
  }
  return (await rebuild(batch, tree, root, '', onMissing)) ?? batch.tree([])
}

/** The changes of one directory by name, of the entries and of everything below them. */
interface Branching {
  blob?: Oid | null
  readonly below: Map<string, Branching>
}

/** Returns the directory's new tree, or null if it is empty. */
async function rebuild(
  batch: TreeBuilder,
  tree: Oid | null,
  { below }: Branching,
  prefix: string,
  onMissing: (path: string) => void,
): Promise<Oid | null> {
  const before = tree === null ? [] : await readTree(batch.repo, tree)
  const entries = new Map(before.map((entry) => [entry.name, entry]))
  let changed = false
  for (const [name, change] of below) {
    const old = entries.get(name)
    if (change.blob === null && (!old || old.mode === '040000')) onMissing(prefix + name)
    const entry = await changedEntry(batch, old, name, change, prefix + name, onMissing)
    if (entry?.oid === old?.oid && entry?.mode === old?.mode) continue
    changed = true
    if (entry) entries.set(name, entry)
    else entries.delete(name)
  }
  if (entries.size === 0) return null
  return changed || tree === null ? batch.tree([...entries.values()]) : tree
}

async function changedEntry(
  batch: TreeBuilder,
  old: TreeEntry | undefined,
  name: string,
  change: Branching,
  path: string,
  onMissing: (path: string) => void,
): Promise<TreeEntry | undefined> {
  const oldDirectory = old?.mode === '040000' ? old : undefined
  const oldFile = old?.mode === '040000' ? undefined : old
  const directory =
    change.below.size === 0
      ? (oldDirectory?.oid ?? null)
      : await rebuild(batch, oldDirectory?.oid ?? null, change, `${path}/`, onMissing)
  const mode: Mode = oldFile?.mode === '100755' ? '100755' : '100644'
  const file = change.blob === undefined ? oldFile : change.blob === null ? undefined : { name, mode, oid: change.blob }
  if (directory !== null && file) throw new GitError('path_conflict', `${path} is a file and a directory`, { path })
  if (directory !== null) return { name, mode: '040000', oid: directory }
  return file
}
