/** Rebasing commits onto another head, without a work tree. Nothing here moves a ref. */

import { randomBytes } from 'node:crypto'
import { promises as fs } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deflateSync, inflateSync } from 'node:zlib'
import { asStorageFault, codeOf, GitError } from '../errors.ts'
import { runGit } from '../native.ts'
import { type Commit, type Person, readCommit, readMessage } from '../objects/commits.ts'
import { type Draft, openDraft } from '../objects/object-batch.ts'
import { comparePaths } from '../objects/tree-names.ts'
import { emptyTree, readTree } from '../objects/trees.ts'
import { isOid, type Oid, type PendingObject, type Repo } from '../repo.ts'
import { type Budget, mergeTrees, type Trees } from './tree-merge.ts'

export interface Rebasing {
  /** Oldest first: what the source has and `onto` lacks. */
  readonly commits: readonly Oid[]
  readonly onto: Oid
  readonly committer: Person
  /** Ends it between two commits, and git at once. */
  readonly signal?: AbortSignal
}

/** Entries of trees that one rebase may read and write in this process: about 2 s of CPU. */
const entriesAtMost = 1_000_000

/** Bytes of new trees and commits that are held in memory before they are saved. */
const unsavedBytes = 16 * 1024 * 1024

/**
 * Puts `commits` on top of `onto`, each by a three-way merge of trees as `git rebase` does it: merge commits are left out,
 * author and message are kept, a commit that adds nothing any more is dropped, one that was empty from the start is kept. The
 * new objects are saved; the answer is the last commit, `onto` itself if none was left to add. Every commit must be on disk.
 * About 25 ms for a commit that changes a path which the other side has changed since, 1 ms otherwise.
 *
 * @throws GitError merge_conflict (facts.paths: sorted; facts.commit: whose turn it was), limit_exceeded (trees too large),
 *   native_failed, and as Draft.save; the signal's reason
 */
export async function rebase(repo: Repo, { commits, onto, committer, signal }: Rebasing): Promise<Oid> {
  let draft = openDraft(repo)
  const quarantine = quarantineOf(repo)
  const budget: Budget = { entries: entriesAtMost }
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
        (await mergeTrees(draft, trees, budget)) ?? (await nativeMerge(draft, quarantine, commit, trees, signal))
      if (tree === ours && base !== commit.tree) continue
      const message = await readMessage(repo, oid)
      head = await draft.commit({ tree, parents: [head], author: commit.author, committer, message })
      ours = tree
      if (sizeOf(draft) <= unsavedBytes) continue
      await draft.save()
      draft = openDraft(repo)
    }
    await draft.save()
    return head
  } catch (error) {
    // Git that was ended tells so in words of its own.
    signal?.throwIfAborted()
    throw error
  } finally {
    await quarantine.remove()
  }
}

function sizeOf(draft: Draft): number {
  let bytes = 0
  for (const { content } of draft.repo.pending?.values() ?? []) bytes += content.length
  return bytes
}

/** As git merges them, with what it made taken into the draft. @throws GitError merge_conflict, native_failed */
async function nativeMerge(
  draft: Draft,
  quarantine: Quarantine,
  commit: Commit,
  { base, ours, theirs }: Trees,
  signal: AbortSignal | undefined,
): Promise<Oid> {
  const repo = await quarantine.open()
  for (const [oid, { type, content }] of draft.repo.pending ?? [])
    if (type !== 'commit') await quarantine.put(oid, type, content)
  // merge-tree takes its base from history (--merge-base came with git 2.40): three commits tell it what to merge.
  const root = await standIn(quarantine, repo, base, [])
  const sides = [await standIn(quarantine, repo, ours, [root]), await standIn(quarantine, repo, theirs, [root])]
  const options = ['--write-tree', '-z', '--name-only', '--no-messages', '--allow-unrelated-histories']
  const { code, stdout, stderr } = await runGit(repo, ['-c', 'core.fsync=none', 'merge-tree', ...options, ...sides], {
    env: repo.env,
    ...(signal && { signal }),
  })
  const [tree = '', ...paths] = stdout.toString('utf8').split('\0').filter(Boolean)
  if (code === 0 && isOid(tree)) {
    await adopt(draft, quarantine, tree)
    return tree
  }
  if (code !== 1 || !isOid(tree)) throw new GitError('native_failed', `git merge-tree ended with ${code}`, { stderr })
  const conflicts = [...new Set(paths)].sort(comparePaths)
  throw new GitError('merge_conflict', 'The changes conflict', { paths: conflicts, commit: commit.oid })
}

const nobody = { name: 'grove', email: 'grove', timestamp: 0, timezoneOffset: 0 }

/** A commit that only merge-tree sees. */
async function standIn(quarantine: Quarantine, repo: Repo, tree: Oid, parents: Oid[]): Promise<Oid> {
  const draft = openDraft({ dir: repo.dir })
  const oid = await draft.commit({ tree, parents, author: nobody, committer: nobody, message: '' })
  await quarantine.put(oid, 'commit', draft.repo.pending?.get(oid)?.content ?? Buffer.alloc(0))
  return oid
}

/** Takes what the merge has made, at `root` and below it, into the draft. */
async function adopt(draft: Draft, quarantine: Quarantine, root: Oid): Promise<void> {
  if (draft.repo.pending?.has(root)) return
  const made = await quarantine.find(root)
  if (!made) return
  await draft.object(made.type, made.content)
  if (made.type !== 'tree') return
  for (const { mode, oid } of await readTree(draft.repo, root)) {
    if (mode !== '160000') await adopt(draft, quarantine, oid)
  }
}

interface QuarantineRepo extends Repo {
  readonly env: Record<string, string>
}

/** A place beside `objects/` for what merges try out, made when first needed. */
interface Quarantine {
  open(): Promise<QuarantineRepo>
  /** Writes an object for git, once: not synced, and no folder made but the last, or a deleted repository would come back. */
  put(oid: Oid, type: PendingObject['type'], content: Buffer): Promise<void>
  /** Undefined: the object was in the repository before, or is nowhere. */
  find(oid: Oid): Promise<PendingObject | undefined>
  remove(): Promise<void>
}

function quarantineOf(repo: Repo): Quarantine {
  const objectsAt = `${repo.dir}/quarantine-${randomBytes(8).toString('hex')}`
  const env = { GIT_OBJECT_DIRECTORY: `${objectsAt}/objects`, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${repo.dir}/objects` }
  const written = new Set<Oid>()
  let opened = false
  return {
    put: async (oid, type, content) => {
      if (written.has(oid)) return
      const fanOut = `${objectsAt}/objects/${oid.slice(0, 2)}`
      await fs.mkdir(fanOut).catch((error) => {
        if (error.code !== 'EEXIST') throw asStorageFault(error)
      })
      const loose = deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]))
      await fs.writeFile(`${fanOut}/${oid.slice(2)}`, loose, { flag: 'wx' }).catch((error) => {
        if (error.code !== 'EEXIST') throw asStorageFault(error)
      })
      written.add(oid)
    },
    open: async () => {
      if (!opened) {
        try {
          await fs.mkdir(objectsAt)
          opened = true
          await fs.mkdir(`${objectsAt}/objects`)
        } catch (error) {
          throw asStorageFault(error)
        }
      }
      return { dir: repo.dir, env }
    },
    find: async (oid) => {
      if (!opened) return undefined
      try {
        const whole = inflateSync(await fs.readFile(`${objectsAt}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`))
        written.add(oid)
        const type = whole.toString('latin1', 0, whole.indexOf(' ')) as PendingObject['type'] // git has just written it
        return { type, content: whole.subarray(whole.indexOf(0) + 1) }
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined
        throw asStorageFault(error)
      }
    },
    remove: async () => {
      // What stays behind is swept with the other quarantines; it must not hide how the merge ended.
      if (opened) await fs.rm(objectsAt, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}
