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
  /** Oldest first: what the source has and `onto` lacks. */
  readonly commits: readonly Oid[]
  readonly onto: Oid
  readonly committer: Person
  /** Ends the rebase between two commits, and git at once. */
  readonly signal?: AbortSignal
}

/** Entries of trees that one rebase may read and write in this process: about 2 s of CPU. */
const maxTreeEntries = 1_000_000

/** Bytes of new trees and commits that are held in memory before they are saved. */
const maxUnsavedBytes = 16 * 1024 * 1024

/**
 * Rebases `commits` onto `onto`, each by a three-way merge of trees, as `git rebase` does: skips merge commits, keeps author
 * and message, drops a commit that has become empty, keeps one that was empty before. Saves the new objects and returns the
 * last commit, `onto` itself if none was left. Every commit must be on disk.
 * About 25 ms for a commit that changes a path which the other side has changed since, 1 ms otherwise.
 *
 * @throws GitError merge_conflict (facts.paths: sorted; facts.commit: the commit that conflicts), limit_exceeded (trees too large),
 *   native_failed, and as ObjectBatch.save; the signal's reason
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
    // A git that the signal ended fails with an error of its own.
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

/** Merges by git and adds the new objects to the batch. @throws GitError merge_conflict, native_failed */
async function nativeMerge(
  batch: ObjectBatch,
  scratch: ScratchObjects,
  commit: Commit,
  { base, ours, theirs }: Trees,
  signal: AbortSignal | undefined,
): Promise<Oid> {
  const repo = await scratch.open()
  for (const [oid, object] of batch.repo.pending ?? []) if (object.type !== 'commit') await scratch.put(oid, object)
  // merge-tree takes its base from history (--merge-base came with git 2.40): three commits give it the three trees.
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

/** A commit for merge-tree alone. */
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
  /** Lets git read the repository's objects and write to this folder. */
  readonly env: Record<string, string>
}

/** A folder of objects beside a repository's own, for merges that may come to nothing. Git and this process share it. */
interface ScratchObjects {
  /** Makes the folder at the first call. @throws GitError storage_* */
  open(): Promise<ScratchRepo>
  /**
   * Writes an object for git, once. It is not synced. Makes no folder but the last: the others would bring back a repository
   * that was deleted meanwhile.
   */
  put(oid: Oid, object: PendingObject): Promise<void>
  /** Undefined: the object was in the repository before, or does not exist. */
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
      // A folder that remains is removed with other stale files; the failure must not hide the merge's outcome.
      if (opened) await rm(dir, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}

function unlessExists(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw asStorageError(error)
}
