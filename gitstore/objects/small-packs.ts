/**
 * Reads objects of small packs without deltas in this process. A new repository has such a pack. A read takes 0.1 ms,
 * while starting Git takes 6 ms. Git reads the objects that are not found here, or cannot be read here (cat-file.ts).
 */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflate as inflateCallback, inflateSync } from 'node:zlib'
import { createCache } from '../caching/caches.ts'
import { asStorageError } from '../errors.ts'
import { isAbsent } from '../fs-exists.ts'
import { identityOf } from '../refs/file-identity.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import type { Allow } from './loose.ts'
import { hasId, type ObjectInfo } from './object-format.ts'
import { findOffset, isPlainIndex, parseEntryHeader, trailerBytes } from './pack-format.ts'

const inflate = promisify(inflateCallback)

/**
 * Bytes of a pack that is read here, and of its index. Such an index has up to some 2,300 objects. A repository with
 * more than `maxPacks` packs is left to Git.
 */
const maxPackBytes = 1_048_576
const maxIndexBytes = 65_536
const maxPacks = 8
/** Bytes of a pack that is kept in memory with its index. */
const keptPackBytes = 16_384
/** Bytes up to which an object is inflated at once. */
const smallObjectBytes = 16_384
/** Bytes that are read for the header of an entry. */
const headerBytes = 32

/**
 * Objects that are read between two turns of the event loop. A read from memory takes 30 µs, and its promises never
 * wait for a turn.
 */
const readsInATurn = 64
let reads = 0

interface SmallPack {
  readonly path: string
  /** The identity of the pack's file. A pack that is replaced or damaged by hand is read again. */
  readonly identity: string
  readonly size: number
  readonly index: Buffer
  /** Its bytes, if it is small. */
  readonly bytes: Buffer | undefined
}

/** Cached by folder. There is room for some 2,500 new repositories. */
const packs = createCache<readonly SmallPack[]>('small_packs', {
  sizeCalculation: (all) => all.reduce((sum, { index, bytes }) => sum + 400 + index.length + (bytes?.length ?? 0), 200),
})

/** Searches packs whose indexes are in memory, or all. */
type Where = 'known' | 'all'

/**
 * Returns undefined if the object is not found or not readable here.
 *
 * @throws GitError storage_*, busy, and any error of `allow`
 */
export async function readSmallPack(
  repo: Repo,
  oid: Oid,
  where: Where,
  allow: Allow,
): Promise<PendingObject | undefined> {
  const entry = findEntry(repo, oid, where)
  const header = entry && parseEntryHeader(await bytesAt(entry, headerBytes))
  if (!entry || !header) return undefined
  const { type, size, contentAt } = header
  allow({ type, size })
  if (++reads % readsInATurn === 0) await nextTurn()
  // Content that does not shrink grows by 5 bytes in 16 KiB. Source: zlib's compressBound.
  const deflated = await bytesAt(entry, contentAt + Math.ceil(1.01 * size) + 1_024)
  const content = await inflated(deflated.subarray(contentAt), size)
  const object = content && { type, content }
  return object && content.length === size && (await hasId(oid, object)) ? object : undefined
}

/** Returns the type and size in the header, without checking the content. Otherwise behaves as readSmallPack. */
export async function readSmallPackInfo(repo: Repo, oid: Oid): Promise<ObjectInfo | undefined> {
  const entry = findEntry(repo, oid, 'all')
  const header = entry && parseEntryHeader(await bytesAt(entry, headerBytes))
  return header && { type: header.type, size: header.size }
}

/** True if the pack with that index is known not to hold the object. Then Git need not be asked. */
export function isKnownWithout(repo: Repo, indexName: string, oid: Oid): boolean {
  const path = `${repo.dir}/objects/pack/${indexName.slice(0, -'.idx'.length)}.pack`
  const pack = packs.get(repo.dir)?.find((one) => one.path === path)
  return pack !== undefined && findOffset(pack.index, oid) === undefined && identityOf(path) === pack.identity
}

interface PackEntry {
  readonly pack: SmallPack
  readonly offset: number
}

/** Finds an object's entry. Synchronous, as refs are read: 60 µs for an unknown repository, 5 µs for a known one. */
function findEntry(repo: Repo, oid: Oid, where: Where): PackEntry | undefined {
  const known = (packs.get(repo.dir) ?? []).filter(({ path, identity }) => identityOf(path) === identity)
  const found = entryIn(known, oid)
  if (found || where === 'known') return found
  const all = listSmallPacks(repo, known)
  if (all.length > 0) packs.set(repo.dir, all)
  else packs.delete(repo.dir)
  return entryIn(all, oid)
}

function entryIn(all: readonly SmallPack[], oid: Oid): PackEntry | undefined {
  for (const pack of all) {
    const offset = findOffset(pack.index, oid)
    if (offset !== undefined) return { pack, offset }
  }
  return undefined
}

/** Lists the small packs. Empty for a repository with many packs, because most of its objects are not in small ones. */
function listSmallPacks(repo: Repo, known: readonly SmallPack[]): SmallPack[] {
  const folder = `${repo.dir}/objects/pack`
  const indexes = (ignoreAbsent(() => readdirSync(folder)) ?? []).filter((name) => name.endsWith('.idx'))
  if (indexes.length > maxPacks) return []
  return indexes.flatMap((name) => {
    const path = `${folder}/${name.slice(0, -'.idx'.length)}.pack`
    return known.find((one) => one.path === path) ?? openSmallPack(path, `${folder}/${name}`) ?? []
  })
}

function openSmallPack(path: string, indexPath: string): SmallPack | undefined {
  return ignoreAbsent(() => {
    const identity = identityOf(path)
    const { size } = statSync(path)
    if (size > maxPackBytes || statSync(indexPath).size > maxIndexBytes) return undefined
    const index = readFileSync(indexPath)
    // Its objects would not be found here, and nobody would ask Git for them.
    if (!isPlainIndex(index)) return undefined
    const bytes = size <= keptPackBytes ? readFileSync(path) : undefined
    return { path, identity, size, index, bytes }
  })
}

/** Reads at most `length` bytes of the pack from the entry onwards. Empty if the pack is gone. */
async function bytesAt({ pack, offset }: PackEntry, length: number): Promise<Buffer> {
  const end = Math.min(offset + length, pack.size - trailerBytes / 2)
  if (pack.bytes) return pack.bytes.subarray(offset, end)
  if (end <= offset) return Buffer.alloc(0)
  const file = await open(pack.path, 'r').catch((error: unknown) => {
    if (isAbsent(error)) return undefined
    throw asStorageError(error)
  })
  if (!file) return Buffer.alloc(0)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(end - offset), 0, end - offset, offset)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    throw asStorageError(error)
  } finally {
    await file.close()
  }
}

/** Returns undefined if the bytes cannot be inflated. */
async function inflated(deflated: Buffer, size: number): Promise<Buffer | undefined> {
  const limit = { maxOutputLength: Math.max(size, 1) }
  try {
    return size <= smallObjectBytes ? inflateSync(deflated, limit) : await inflate(deflated, limit)
  } catch {
    return undefined
  }
}

/** @throws GitError storage_*, busy; system errors other than those of absence */
function ignoreAbsent<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw asStorageError(error)
  }
}
