/** Reading objects by id, while other processes repack. */

import { promises as fs } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, inflateSync } from 'node:zlib'
import git from 'isomorphic-git'
import { LRUCache } from 'lru-cache'
import { asStorageFault, codeOf, GitError } from './errors.ts'
import { isOid, type Oid, type PendingObject, type Repo } from './repo.ts'

/** Milliseconds before each further attempt. Measured under `git repack -ad`: 0 errors in 18,512 reads. */
const pauses = [5, 20, 80]

/**
 * The object, from the draft's pending ones or from disk. A missing object costs about 6 ms: it is looked for twice.
 *
 * @throws GitError object_missing (also if `oid` is not an object id), object_damaged, repo_missing, storage_error
 */
export async function readObject(repo: Repo, oid: Oid): Promise<PendingObject> {
  const pending = repo.pending?.get(oid)
  if (pending) return pending
  const { type, object } = await readStored(repo, oid, 'content')
  return { type: type as PendingObject['type'], content: object } // isomorphic-git knows only these four types
}

/** Whether the object can be read; its content is not checked. @throws GitError as readObject, but object_missing */
export async function hasObject(repo: Repo, oid: Oid): Promise<boolean> {
  if (repo.pending?.has(oid)) return true
  try {
    await readStored(repo, oid, 'deflated')
    return true
  } catch (error) {
    if (error instanceof GitError && error.code === 'object_missing') return false
    throw error
  }
}

/**
 * The bytes of a blob. `maxBytes` bounds what is handed on; a loose object's size is looked up before it is inflated.
 *
 * @throws GitError limit_exceeded, object_missing (also if `oid` is not a blob), and as readObject
 */
export async function readBlob(repo: Repo, oid: Oid, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  if (maxBytes < Number.POSITIVE_INFINITY && !repo.pending?.has(oid)) refuseAbove(await looseSize(repo, oid), maxBytes)
  const { type, content } = await readObject(repo, oid)
  if (type !== 'blob') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a blob`, { oid })
  refuseAbove(content.length, maxBytes)
  return content
}

function refuseAbove(size: number, maxBytes: number) {
  if (size > maxBytes) throw new GitError('limit_exceeded', `Blob of ${size} bytes`, { size, maxBytes })
}

/** What isomorphic-git remembers of a repository's packs: whole packs, in memory, until they are dropped here. */
const shelves = new LRUCache<string, Shelf>({ max: 32 })

interface Shelf {
  readonly fs: { promises: typeof fs }
  readonly cache: object
}

function shelfOf(repo: Repo): Shelf {
  const known = shelves.get(repo.dir)
  if (known) return known
  let packs: readonly string[] = []
  const shelf: Shelf = { fs: { promises: { ...fs, stat, readdir } as typeof fs }, cache: {} } // narrower overloads
  shelves.set(repo.dir, shelf)
  return shelf

  /** isomorphic-git looks at the repository folder before each read; one answer is enough. */
  async function stat(path: string) {
    return path === repo.dir ? directory : fs.stat(path)
  }
  /** It lists only objects/pack, at each read of a packed object: a pack that has gone takes its memory with it. */
  async function readdir(path: string) {
    const names = (await fs.readdir(path)).filter((name) => name.endsWith('.idx'))
    if (packs.some((name) => !names.includes(name)) && shelves.peek(repo.dir) === shelf) shelves.delete(repo.dir)
    packs = names
    return names
  }
}

const directory = { isDirectory: () => true, isFile: () => false }

async function readStored(repo: Repo, oid: Oid, format: 'content' | 'deflated') {
  if (!isOid(oid)) throw new GitError('object_missing', 'Not an object id', { oid })
  let packsBefore: bigint | undefined
  for (let attempt = 0; ; attempt++) {
    try {
      const { fs, cache } = shelfOf(repo)
      const read = await git.readObject({ fs, gitdir: repo.dir, oid, format, cache })
      return { type: read.type, object: asBuffer(read.object as Uint8Array) } // never parsed in these two formats
    } catch (error) {
      const fault = asStorageFault(error)
      if (fault instanceof GitError || isSystemError(fault)) throw fault
      const missing = error instanceof git.Errors.NotFoundError
      if (missing) {
        // A stable list of packs, searched twice 5 ms apart (a tick of the file system's clock), leaves no race.
        const packsNow = await packsChanged(repo)
        if (attempt > 0 && packsNow === packsBefore) throw gone(oid, error)
        packsBefore = packsNow
      }
      const pause = pauses[attempt]
      if (pause === undefined) throw missing ? gone(oid, error) : damaged(oid, error)
      if (!missing) shelves.delete(repo.dir)
      await sleep(pause)
    }
  }
}

function gone(oid: Oid, cause: unknown) {
  return new GitError('object_missing', `Object ${oid} is missing`, { oid }, { cause })
}

function damaged(oid: Oid, cause: unknown) {
  return new GitError('object_damaged', `Object ${oid} is damaged`, { oid }, { cause })
}

/** When a pack was last added or removed, in ns; 0 if there is no pack directory. @throws GitError repo_missing */
async function packsChanged(repo: Repo): Promise<bigint> {
  try {
    return (await fs.stat(`${repo.dir}/objects/pack`, { bigint: true })).mtimeNs
  } catch (error) {
    if (!isAbsent(error)) throw asStorageFault(error)
  }
  try {
    await fs.stat(`${repo.dir}/objects`)
    return 0n
  } catch (error) {
    if (!isAbsent(error)) throw asStorageFault(error)
    throw new GitError('repo_missing', 'The repository does not exist', { dir: repo.dir }, { cause: error })
  }
}

/** The size in the header of a loose object, in bytes; 0 if it is packed, missing or unreadable. */
async function looseSize(repo: Repo, oid: Oid): Promise<number> {
  if (!isOid(oid)) return 0
  let head: Buffer
  try {
    const handle = await fs.open(`${repo.dir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`, 'r')
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0)
      head = buffer.subarray(0, bytesRead)
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isAbsent(error)) return 0
    throw asStorageFault(error)
  }
  try {
    const start = inflateSync(head, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')
    return Number(/^\w+ (\d+)\0/.exec(start)?.[1] ?? 0)
  } catch {
    return 0 // damaged: the reader that follows says so
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && !isAbsent(error)
}

function isAbsent(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
