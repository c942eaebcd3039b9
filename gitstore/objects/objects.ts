/**
 * Reads objects by id while other processes may repack. Reads loose objects and those of small packs in this process.
 * Git reads the others.
 */

import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { asStorageError, GitError } from '../errors.ts'
import { exists, isAbsent, listNames } from '../fs-exists.ts'
import * as limits from '../limits.ts'
import { isOid, type Oid, type PendingObject, type Repo } from '../repo.ts'
import { hasCatFile, readByGit, readInfoByGit } from './cat-file.ts'
import { type Allow, LooseDamageError, readLoose, readLooseInfo } from './loose.ts'
import { hasId, type ObjectInfo } from './object-format.ts'
import { isKnownWithout, readSmallPack, readSmallPackInfo } from './small-packs.ts'

/** Milliseconds before each further attempt. Measured under `git repack -ad`: 0 errors in 18,512 reads. */
const retryDelaysMs = [5, 20, 80]

/**
 * Reads the object, pending or on disk. Checks its size before it reads the content. A missing object is searched
 * twice, which takes about 6 ms.
 *
 * @throws GitError limit_exceeded, object_missing (also if `oid` is not an object id), object_damaged, repo_missing,
 *   busy, native_failed, storage_error
 */
export async function readObject(repo: Repo, oid: Oid): Promise<PendingObject> {
  return repo.pending?.get(oid) ?? readStored(repo, oid, refuseLarge)
}

/**
 * Reads the object's type and size, without its content. Does not find damage of the content.
 *
 * @throws the errors of readObject except limit_exceeded
 */
export async function readInfo(repo: Repo, oid: Oid): Promise<ObjectInfo> {
  const pending = repo.pending?.get(oid)
  if (pending) return { type: pending.type, size: pending.content.length }
  return findStored(repo, oid, [readLooseInfo, readSmallPackInfo, readInfoByGit])
}

/** True if the object exists, of any size. @throws the errors of readInfo except object_missing */
export async function hasObject(repo: Repo, oid: Oid): Promise<boolean> {
  try {
    await readInfo(repo, oid)
    return true
  } catch (error) {
    if (error instanceof GitError && error.code === 'object_missing') return false
    throw error
  }
}

/**
 * Returns the bytes of a blob of at most `maxBytes`, by default 32 MiB.
 *
 * @throws GitError limit_exceeded, object_missing (also if `oid` is not a blob), and the errors of readObject
 */
export async function readBlob(repo: Repo, oid: Oid, maxBytes = limits.blobBytes): Promise<Buffer> {
  const allow = allowBlob(oid, maxBytes)
  const pending = repo.pending?.get(oid)
  if (!pending) return (await readStored(repo, oid, allow)).content
  allow({ type: pending.type, size: pending.content.length })
  return pending.content
}

/**
 * Does the same for one of many blobs. Git is asked first, which takes half the time if they are packed, and starts a
 * process.
 */
export async function readOneOfManyBlobs(repo: Repo, oid: Oid, maxBytes = limits.blobBytes): Promise<Buffer> {
  const isStored = isOid(oid) && !repo.pending?.has(oid)
  const object = isStored ? await readByGit(repo, oid, allowBlob(oid, maxBytes)) : undefined
  return object && (await hasId(oid, object)) ? object.content : readBlob(repo, oid, maxBytes)
}

function allowBlob(oid: Oid, maxBytes: number): Allow {
  return ({ type, size }) => {
    if (type !== 'blob') throw new GitError('object_missing', `Object ${oid} is a ${type}, not a blob`, { oid })
    refuseAbove(type, size, maxBytes)
  }
}

function refuseLarge({ type, size }: ObjectInfo): void {
  refuseAbove(type, size, type === 'blob' ? limits.blobBytes : limits.objectBytes)
}

function refuseAbove(type: PendingObject['type'], size: number, maxBytes: number): void {
  if (size > maxBytes) throw new GitError('limit_exceeded', `A ${type} of ${size} bytes`, { size, maxBytes })
}

async function readStored(repo: Repo, oid: Oid, allow: Allow): Promise<PendingObject> {
  const near = await readSmallPack(repo, oid, 'known', allow)
  if (near) return near
  return findStored(repo, oid, [
    () => readLoose(repo, oid, allow),
    () => readSmallPack(repo, oid, 'all', allow),
    async () => {
      const object = await readByGit(repo, oid, allow)
      if (object && !(await hasId(oid, object))) throw damaged(oid)
      return object
    },
  ])
}

type Find<T> = (repo: Repo, oid: Oid) => Promise<T | undefined>

/** Searches loose files, then small packs, then everywhere by Git. */
type Finds<T> = readonly [loose: Find<T>, small: Find<T>, byGit: Find<T>]

async function findStored<T>(repo: Repo, oid: Oid, finds: Finds<T>): Promise<T> {
  if (!isOid(oid)) throw new GitError('object_missing', 'Not an object id', { oid })
  let packsBefore: bigint | undefined
  for (let attempt = 0; ; attempt++) {
    const { found, damage } = await findOnce(repo, oid, finds)
    if (found) return found
    if (damage) throw damaged(oid, damage)
    // Two searches 5 ms apart (a tick of the file system's clock) that see the same list of packs leave no race.
    const packsNow = await packsChanged(repo)
    const pause = retryDelaysMs[attempt]
    if (pause === undefined || (attempt > 0 && packsNow === packsBefore))
      throw new GitError('object_missing', `Object ${oid} is missing`, { oid })
    packsBefore = packsNow
    await sleep(pause)
  }
}

interface Found<T> {
  readonly found?: T
  /** The loose file does not hold this object, and there is no other copy. */
  readonly damage?: LooseDamageError
}

async function findOnce<T>(repo: Repo, oid: Oid, [loose, small, byGit]: Finds<T>): Promise<Found<T>> {
  let damage: LooseDamageError | undefined
  try {
    const found = await loose(repo, oid)
    if (found) return { found }
  } catch (error) {
    if (!(error instanceof LooseDamageError)) throw error
    damage = error
  }
  // A running Git process already has the pack open.
  const near = hasCatFile(repo) ? undefined : await small(repo, oid)
  const found = near ?? ((await mayHaveIt(repo, oid)) ? await byGit(repo, oid) : undefined)
  return { ...(found && { found }), ...(damage && { damage }) }
}

function damaged(oid: Oid, cause?: unknown): GitError {
  return new GitError('object_damaged', `Object ${oid} is damaged`, { oid }, { cause })
}

/** True if Git may find the object in a pack or an alternate. Without these, no Git process is started. */
async function mayHaveIt(repo: Repo, oid: Oid): Promise<boolean> {
  if (hasCatFile(repo)) return true
  const packs = await listNames(`${repo.dir}/objects/pack`)
  // A repository that an operator made may use the objects of another repository. Git follows that.
  const others = packs.some((name) => name.endsWith('.idx') && !isKnownWithout(repo, name, oid))
  return others || exists(`${repo.dir}/objects/info/alternates`)
}

/**
 * The time in ns at which a pack was last added or removed. 0 if there is no pack directory.
 *
 * @throws GitError repo_missing
 */
async function packsChanged(repo: Repo): Promise<bigint> {
  try {
    return (await stat(`${repo.dir}/objects/pack`, { bigint: true })).mtimeNs
  } catch (error) {
    if (!isAbsent(error)) throw asStorageError(error)
  }
  try {
    await stat(`${repo.dir}/objects`)
    return 0n
  } catch (error) {
    if (!isAbsent(error)) throw asStorageError(error)
    throw new GitError('repo_missing', 'The repository does not exist', { dir: repo.dir }, { cause: error })
  }
}
