/** Objects built in memory, readable at once, and written durably in one step. Nothing here moves a ref. */

import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, unlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deflate as deflateCallback, inflateSync } from 'node:zlib'
import git from 'isomorphic-git'
import pLimit from 'p-limit'
import type { Person } from './commits.ts'
import { syncDirectory, syncHandle, writeSynced } from './durable.ts'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import { cleanIdentity } from './names.ts'
import type { Oid, PendingObject, Repo } from './repo.ts'
import { isEscapedName, type TreeEntry, treeContent } from './trees.ts'

const deflate = promisify(deflateCallback)

interface CommitFields {
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly author: Person
  readonly committer: Person
  /** Stored without CR and NUL, without leading line breaks, and with exactly one at its end. */
  readonly message: string
}

export interface Draft {
  /** The repository with this draft's objects in it: every reader sees them, on disk they are only after `save`. */
  readonly repo: Repo
  /** `bytes` must not change afterwards. */
  blob(bytes: Uint8Array): Promise<Oid>
  /** Entries in any order; names are the caller's to check (`pathProblem`). */
  tree(entries: readonly TreeEntry[]): Promise<Oid>
  commit(fields: CommitFields): Promise<Oid>
  /** An object by its content, as another repository holds it. */
  object(type: PendingObject['type'], content: Buffer): Promise<Oid>
  /**
   * Writes what is not yet written, synced, in about 3 ms for one commit. It may be called again after more objects; after an
   * error some of the objects may be on disk, where they are harmless.
   *
   * @throws GitError repo_missing, storage_full, storage_readonly, storage_error (a failed sync has facts.sync)
   */
  save(): Promise<void>
}

export function openDraft(repo: Repo): Draft {
  const pending = new Map<Oid, PendingObject>(repo.pending)
  const deflated = new Map<Oid, Buffer>()
  const fs = capturingFileSystem((oid, bytes) => deflated.set(oid, bytes))
  const at = { fs, gitdir: repo.dir }

  async function add(type: PendingObject['type'], building: Promise<Oid>, known?: Buffer): Promise<Oid> {
    const oid = await building
    if (!pending.has(oid)) pending.set(oid, { type, content: known ?? contentOf(deflated.get(oid)) })
    return oid
  }
  const object = (type: PendingObject['type'], content: Buffer) =>
    add(type, git.writeObject({ ...at, type, object: content, format: 'content' }), content)

  return {
    repo: { dir: repo.dir, pending },
    object,
    blob: async (bytes) => {
      // Not writeBlob: isomorphic-git deflates through web streams, 1.2 ms an object on the event loop; zlib takes 0.1 ms.
      const { oid, object: wrapped } = await git.hashBlob({ object: bytes })
      if (!deflated.has(oid)) deflated.set(oid, await deflate(wrapped))
      return add('blob', Promise.resolve(oid), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
    tree: (entries) => {
      if (entries.some(({ name }) => isEscapedName(name))) return object('tree', treeContent(entries))
      const tree = entries.map(({ name, mode, oid }) => ({ path: name, mode, oid, type: typeOf(mode) }))
      return add('tree', git.writeTree({ ...at, tree }))
    },
    commit: ({ tree, parents, author, committer, message }) => {
      const commit = {
        tree,
        parent: [...parents],
        author: identity(author),
        committer: identity(committer),
        message: message.replaceAll('\0', ''),
      }
      return add('commit', git.writeCommit({ ...at, commit }))
    },
    save: async () => {
      const batch = [...deflated]
      await storeObjects(repo, batch)
      for (const [oid] of batch) deflated.delete(oid)
    },
  }
}

function typeOf(mode: TreeEntry['mode']): 'tree' | 'commit' | 'blob' {
  return mode === '040000' ? 'tree' : mode === '160000' ? 'commit' : 'blob'
}

function identity({ name, email, timestamp, timezoneOffset }: Person) {
  return { name: cleanIdentity(name), email: cleanIdentity(email), timestamp, timezoneOffset }
}

/** The content behind the header of a deflated object. */
function contentOf(bytes: Buffer | undefined): Buffer {
  const whole = inflateSync(bytes ?? Buffer.alloc(0))
  return whole.subarray(whole.indexOf(0) + 1)
}

/** An empty file system for isomorphic-git to write its objects to: each file is handed to `take`, none is ever found. */
function capturingFileSystem(take: (oid: Oid, bytes: Buffer) => void) {
  const absent = async () => {
    throw Object.assign(new Error('Nothing is here'), { code: 'ENOENT' })
  }
  const writeFile = async (path: string, bytes: Buffer) => take(path.slice(-41).replace('/', ''), bytes)
  const done = async () => undefined
  const reading = { readFile: absent, stat: absent, lstat: absent, readdir: absent, readlink: absent }
  return { promises: { ...reading, writeFile, mkdir: done, rmdir: done, unlink: done, symlink: absent } }
}

/** Files open at once for one draft, all of them waiting for the disk. */
const parallelWrites = 16

/**
 * One object that exists is made young again, so that no prune takes it, and synced: whoever wrote it may not have. An empty
 * one, torn by a crash, is written again. Directories above objects/xx are never made: in a repository that has just been
 * deleted the commit fails instead of bringing half of it back.
 */
async function storeObjects(repo: Repo, batch: readonly (readonly [Oid, Buffer])[]): Promise<void> {
  const limit = pLimit(parallelWrites)
  const fanOuts = new Map<string, (readonly [Oid, Buffer])[]>()
  for (const stored of batch) {
    const name = stored[0].slice(0, 2)
    fanOuts.set(name, [...(fanOuts.get(name) ?? []), stored])
  }
  let made = false
  const outcomes = await Promise.allSettled([...fanOuts].map(([name, objects]) => storeFanOut(name, objects)))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw asStorageFault(outcome.reason)
  if (made) await syncDirectory(`${repo.dir}/objects`)

  async function storeFanOut(name: string, objects: readonly (readonly [Oid, Buffer])[]) {
    const dir = `${repo.dir}/objects/${name}`
    for (let attempt = 0; ; attempt++) {
      try {
        const stores = objects.map(([oid, bytes]) => limit(() => storeObject(`${dir}/${oid.slice(2)}`, dir, bytes)))
        const failed = (await Promise.allSettled(stores)).find((outcome) => outcome.status === 'rejected')
        if (failed) throw failed.reason
        return await limit(() => syncDirectory(dir))
      } catch (error) {
        // The directory is not there yet; or a `git gc` packed its objects just now and removed it.
        if (codeOf(error) !== 'ENOENT' || attempt === 5) throw error
        if (await makeFanOut(dir)) made = true
      }
    }
  }
}

async function storeObject(path: string, dir: string, bytes: Buffer): Promise<void> {
  if (await freshen(path)) return
  const temporary = `${dir}/tmp_obj_${randomBytes(8).toString('hex')}`
  await writeSynced(temporary, bytes, 0o444)
  try {
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => undefined)
    throw error
  }
}

/** Whether the object was there, not empty; then it is as good as new. */
async function freshen(path: string): Promise<boolean> {
  let handle: Awaited<ReturnType<typeof open>>
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
  try {
    if ((await handle.stat()).size === 0) return false
    const now = new Date() // a file's time, which `git prune` compares with the same clock
    await handle.utimes(now, now)
    await syncHandle(handle)
    return true
  } finally {
    await handle.close()
  }
}

/** Whether this call made it. @throws GitError repo_missing if there is no objects/ */
async function makeFanOut(dir: string): Promise<boolean> {
  try {
    await mkdir(dir)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (codeOf(error) !== 'ENOENT') throw error
    throw new GitError('repo_missing', 'The repository does not exist', { dir }, { cause: error })
  }
}
