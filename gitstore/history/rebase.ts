/** Rebases commits onto another head without a work tree. Moves no ref. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { asStorageError, codeOf, GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { type Commit, type Person, readCommit, readMessage } from '../objects/commits.ts'
import { readLoose } from '../objects/loose.ts'
import { newObjectBatch, type ObjectBatch } from '../objects/object-batch.ts'
import { encodeLoose } from '../objects/object-format.ts'
import { comparePaths } from '../objects/tree-names.ts'
import { emptyTree, readTree } from '../objects/trees.ts'
import { isOid, type Oid, type PendingObject, type Repo } from '../repo.ts'
import { scratchFolder } from '../temporary-names.ts'
import { type Budget, mergeTrees, type Trees } from './tree-merge.ts'

export interface Rebasing {
  /** The commits that the source has and `onto` lacks, oldest first. */
  readonly commits: readonly Oid[]
  readonly onto: Oid
  readonly committer: Person
  /** Ends the rebase between two commits, and a running Git process at once. */
  readonly signal?: AbortSignal
}

/** The limit of tree entries read and written here by one rebase. About 2 s of CPU time. */
const maxTreeEntries = 1_000_000

/** Bytes of new trees and commits that are held in memory before they are saved. */
const maxUnsavedBytes = 16 * 1024 * 1024

/**
 * Rebases `commits` onto `onto`, each with a three-way merge of trees. Like `git rebase`, it skips merge commits and
 * keeps author and message. It drops commits that have become empty, and keeps commits that already were. Saves the new
 * objects and returns the last commit, or `onto` if none is left. Every commit must be on disk. A commit takes about 25
 * ms if it changes a path that the other side has also changed, and 1 ms otherwise.
 *
 * @throws GitError merge_conflict (facts.paths: sorted; facts.commit: the commit that conflicts), limit_exceeded (trees
 *   too large), native_failed, and the errors of ObjectBatch.save
 * @throws the signal's reason
 */
export async function rebase(repo: Repo, { commits, onto, committer, signal }: Rebasing): Promise<Oid> {
  let batch = newObjectBatch(repo)
  const scratch = scratchObjectsOf(repo)
  const budget: Budget = { entries: maxTreeEntries }
  try {
    let head = onto
    let ours = (await readCommit(repo, onto)).tree
    for (const oid of commits) {
      signal?.throwIfAborted()
      await nextTurn()
      const commit = await readCommit(repo, oid)
      const [parent, second] = commit.parents
      if (second !== undefined) continue
      const base = parent === undefined ? emptyTree : (await readCommit(repo, parent)).tree
      const trees = { base, ours, theirs: commit.tree }
      const tree =
        (await mergeTrees(batch, trees, budget)) ?? (await nativeMerge(batch, scratch, commit, trees, signal))
      if (tree === ours && base !== commit.tree) continue
      const message = await readMessage(repo, oid)
      head = await batch.commit({ tree, parents: [head], author: commit.author, committer, message })
      ours = tree
      if (sizeOf(batch) <= maxUnsavedBytes) continue
      await batch.save()
      batch = newObjectBatch(repo)
    }
    await batch.save()
    return head
  } catch (error) {
    // A Git process that the signal ended fails with another error.
    signal?.throwIfAborted()
    throw error
  } finally {
    await scratch.remove()
  }
}

function sizeOf(batch: ObjectBatch): number {
  let bytes = 0
  for (const { content } of batch.repo.pending?.values() ?? []) bytes += content.length
  return bytes
}

/** Merges with Git and adds the new objects to the batch. @throws GitError merge_conflict, native_failed */
async function nativeMerge(
  batch: ObjectBatch,
  scratch: ScratchObjects,
  commit: Commit,
  { base, ours, theirs }: Trees,
  signal: AbortSignal | undefined,
): Promise<Oid> {
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
    env: repo.env,
    ...(signal && { signal }),
  })
  const [tree = '', ...paths] = stdout.toString('utf8').split('\0').filter(Boolean)
  if (code === 0 && isOid(tree)) {
    await adopt(batch, scratch, tree)
    return tree
  }
  if (code !== 1 || !isOid(tree)) throw new GitError('native_failed', `git merge-tree ended with ${code}`, { stderr })
  const conflicts = [...new Set(paths)].sort(comparePaths)
  throw new GitError('merge_conflict', 'The changes conflict', { paths: conflicts, commit: commit.oid })
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

interface ScratchRepo extends Repo {
  /** Lets Git read the repository's objects and write to this folder. */
  readonly env: Record<string, string>
}

/** A folder of objects for merges that may be discarded, next to a repository's own. Git and this process share it. */
interface ScratchObjects {
  /** Makes the folder at the first call. @throws GitError storage_* */
  open(): Promise<ScratchRepo>
  /**
   * Writes an object for Git, once. It is not synced. Makes only the last folder of the path. Making the others would
   * bring back a repository that was deleted since.
   */
  put(oid: Oid, object: PendingObject): Promise<void>
  /** Returns undefined if the object was in the repository before, or does not exist. */
  find(oid: Oid): Promise<PendingObject | undefined>
  remove(): Promise<void>
}

function scratchObjectsOf(repo: Repo): ScratchObjects {
  const dir = `${repo.dir}/${scratchFolder()}`
  const objects = `${dir}/objects`
  const env = { GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${repo.dir}/objects` }
  const written = new Set<Oid>()
  let opened = false
  return {
    open: async () => {
      if (!opened) {
        try {
          await mkdir(dir)
          opened = true
          await mkdir(objects)
        } catch (error) {
          throw asStorageError(error)
        }
      }
      return { dir: repo.dir, env }
    },
    put: async (oid, object) => {
      if (written.has(oid)) return
      const fanOut = `${objects}/${oid.slice(0, 2)}`
      await mkdir(fanOut).catch(unlessExists)
      await writeFile(`${fanOut}/${oid.slice(2)}`, await encodeLoose(object), { flag: 'wx' }).catch(unlessExists)
      written.add(oid)
    },
    find: async (oid) => {
      const found = opened ? await readLoose({ dir }, oid, () => undefined) : undefined
      if (found) written.add(oid)
      return found
    },
    remove: async () => {
      // A folder that remains is removed later with other stale files. The failure must not hide the outcome of the
      // merge.
      if (opened) await rm(dir, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}

function unlessExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw asStorageError(error)
}
