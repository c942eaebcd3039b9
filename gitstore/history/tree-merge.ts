/** Merges trees in this process if no path was changed on both sides. Most commits of a rebase are such. */
import { GitError } from '../errors.ts'
import type { TreeBuilder } from '../objects/tree-changes.ts'
import { emptyTree, readTree, type TreeEntry } from '../objects/trees.ts'
import type { Oid } from '../repo.ts'

export interface Trees {
  readonly base: Oid
  readonly ours: Oid
  readonly theirs: Oid
}

/** Counts down the tree entries that are read and written. Several merges may share it. */
export interface Budget {
  entries: number
}

const folder = '040000'

/**
 * Returns the tree that `git merge-tree` makes, or undefined if Git must decide. Git must decide if both sides differ
 * from the base at a path, unless both wrote the same file. That condition also covers renames. A rename on one side
 * concerns the other only if the other changed the old or the new name. A renamed folder concerns it only if it changed
 * something in the folder.
 *
 * @throws GitError limit_exceeded (the budget is used up), and the errors of readTree
 */
export async function mergeTrees(batch: TreeBuilder, trees: Trees, budget: Budget): Promise<Oid | undefined> {
  if (trees.ours === trees.theirs) return trees.ours
  const merged = await mergeFolder(batch, trees, budget)
  return merged === null ? batch.tree([]) : merged
}

/** Returns null if nothing is left in the folder, and undefined if Git must decide. */
async function mergeFolder(
  batch: TreeBuilder,
  { base, ours, theirs }: Trees,
  budget: Budget,
): Promise<Oid | null | undefined> {
  if (base === theirs) return ours
  if (base === ours) return theirs
  const [before, mine, others] = await entriesOf(batch, [base, ours, theirs], budget)
  if (!before || !mine || !others) return undefined
  const merged = new Map(mine)
  let changed = false
  for (const name of new Set([...before.keys(), ...others.keys()])) {
    const [b, o, t] = [before.get(name), mine.get(name), others.get(name)]
    if (isSame(b, t)) continue
    const entry = isSame(b, o) ? { now: t } : await mergeEntry(batch, b, o, t, budget)
    if (entry === undefined) return undefined
    if (isSame(o, entry.now)) continue
    changed = true
    if (entry.now) merged.set(name, entry.now)
    else merged.delete(name)
  }
  if (!changed) return ours
  if (merged.size === 0) return null
  spend(budget, merged.size)
  return batch.tree([...merged.values()])
}

/** Merges an entry that both sides have changed. Undefined if Git must decide. */
async function mergeEntry(
  batch: TreeBuilder,
  base: TreeEntry | undefined,
  ours: TreeEntry | undefined,
  theirs: TreeEntry | undefined,
  budget: Budget,
): Promise<{ readonly now: TreeEntry | undefined } | undefined> {
  // One side may have renamed an entry that both have deleted.
  if (!ours || !theirs) return undefined
  const folders = ours.mode === folder && theirs.mode === folder && (!base || base.mode === folder)
  if (!folders) return isSame(ours, theirs) && ours.mode !== folder ? { now: ours } : undefined
  const oid = await mergeFolder(batch, { base: base?.oid ?? emptyTree, ours: ours.oid, theirs: theirs.oid }, budget)
  if (oid === undefined) return undefined
  return { now: oid === null ? undefined : { ...ours, oid } }
}

function isSame(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  return one?.oid === other?.oid && one?.mode === other?.mode
}

async function entriesOf(
  batch: TreeBuilder,
  oids: readonly Oid[],
  budget: Budget,
): Promise<ReadonlyMap<string, TreeEntry>[]> {
  const maps: ReadonlyMap<string, TreeEntry>[] = []
  for (const oid of oids) {
    const entries = await readTree(batch.repo, oid)
    spend(budget, entries.length)
    maps.push(new Map(entries.map((entry) => [entry.name, entry])))
  }
  return maps
}

function spend(budget: Budget, entries: number): void {
  budget.entries -= entries
  if (budget.entries < 0) throw new GitError('limit_exceeded', 'The trees to merge have too many entries')
}
