/** Merges trees with `git merge-tree`, for changes that only Git can combine. Moves no ref. */
import { GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { newObjectBatch, type ObjectBatch } from '../objects/object-batch.ts'
import { comparePaths } from '../objects/tree-names.ts'
import { emptyTree, readTree } from '../objects/trees.ts'
import { isOid, type Oid, type Repo } from '../repo.ts'
import type { ScratchObjects } from './scratch-objects.ts'
import type { Trees } from './tree-merge.ts'

/** The merged tree, or the paths that conflict, sorted by their bytes. */
export type Merged = { readonly tree: Oid } | { readonly conflicts: readonly string[] }

export interface GitBounds {
  /** Ends a running Git process. */
  readonly signal?: AbortSignal
  /** Milliseconds for one Git process. Default: a minute. */
  readonly timeoutMs?: number
}

/**
 * Merges with Git and adds the new objects to the batch. Takes about 25 ms.
 *
 * @throws GitError native_failed (out of time with facts.timedOut), busy, and the errors of `scratch`
 */
export async function nativeMerge(
  batch: ObjectBatch,
  scratch: ScratchObjects,
  { base, ours, theirs }: Trees,
  bounds: GitBounds,
): Promise<Merged> {
  const repo = await scratch.open()
  for (const [oid, object] of batch.repo.pending ?? []) if (object.type !== 'commit') await scratch.put(oid, object)
  // merge-tree takes its base from history (--merge-base came with git 2.40). Three commits give it the three trees.
  const root = await createPlaceholder(scratch, repo, base, [])
  const sides = [
    await createPlaceholder(scratch, repo, ours, [root]),
    await createPlaceholder(scratch, repo, theirs, [root]),
  ]
  const options = ['--write-tree', '-z', '--name-only', '--no-messages', '--allow-unrelated-histories']
  const { code, stdout, stderr } = await runGit(repo, ['-c', 'core.fsync=none', 'merge-tree', ...options, ...sides], {
    // The merge depends only on the trees. Git 2.43 and newer would read the attributes of HEAD.
    env: { ...repo.env, GIT_ATTR_SOURCE: emptyTree },
    ...bounds,
  })
  const [tree = '', ...paths] = stdout.toString('utf8').split('\0').filter(Boolean)
  if (code === 0 && isOid(tree)) {
    await adopt(batch, scratch, tree)
    return { tree }
  }
  if (code !== 1 || !isOid(tree)) throw new GitError('native_failed', `git merge-tree ended with ${code}`, { stderr })
  return { conflicts: [...new Set(paths)].sort(comparePaths) }
}

const placeholderPerson = { name: 'grove', email: 'grove', timestamp: 0, timezoneOffset: 0 }

/** Creates a commit only for merge-tree. */
async function createPlaceholder(scratch: ScratchObjects, repo: Repo, tree: Oid, parents: Oid[]): Promise<Oid> {
  const batch = newObjectBatch({ dir: repo.dir })
  const oid = await batch.commit({
    tree,
    parents,
    author: placeholderPerson,
    committer: placeholderPerson,
    message: '',
  })
  const object = batch.repo.pending?.get(oid)
  if (object) await scratch.put(oid, object)
  return oid
}

/** Adds the new objects of the merge, at `root` and below it, to the batch. */
async function adopt(batch: ObjectBatch, scratch: ScratchObjects, root: Oid): Promise<void> {
  if (batch.repo.pending?.has(root)) return
  const made = await scratch.find(root)
  if (!made) return
  await batch.object(made.type, made.content)
  if (made.type !== 'tree') return
  for (const { mode, oid } of await readTree(batch.repo, root)) {
    if (mode !== '160000') await adopt(batch, scratch, oid)
  }
}
