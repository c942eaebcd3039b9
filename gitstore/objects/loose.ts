/** Reads loose objects in this process. Reads the header first, and never inflates more bytes than it announces. */

import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { constants, inflate as inflateCallback, inflateSync } from 'node:zlib'
import { asStorageError } from '../errors.ts'
import { isAbsent } from '../fs-exists.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'
import { hasId, type ObjectInfo, parseHeader } from './object-format.ts'

const inflate = promisify(inflateCallback)

/** Throws if an object of that type and size must not be read. */
export type Allow = (info: ObjectInfo) => void

/** The file exists but does not hold the object of its name. */
export class LooseDamageError extends Error {}

/** Bytes of the file that are read first. They hold most commits and trees whole, and inflate to at most 4 MiB. */
const firstBytes = 4_096
/** Bytes of a larger file in which the header is searched. Zlib may need 300 of them for its tables. */
const headerBytes = 512

/**
 * Reads a loose object, or returns undefined if there is no such file. Takes about 0.1 ms.
 *
 * @throws LooseDamageError, GitError storage_*, other system errors, and any error of `allow`
 */
export function readLoose(repo: Repo, oid: Oid, allow: Allow): Promise<PendingObject | undefined> {
  return withFile(repo, oid, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(firstBytes), 0, firstBytes, 0)
    const whole =
      bytesRead < firstBytes ? inflateSmall(buffer.subarray(0, bytesRead)) : await inflateLarge(file, buffer, allow)
    const { type, size, contentAt } = headerIn(whole)
    allow({ type, size })
    const object = { type, content: whole.subarray(contentAt) }
    if (object.content.length !== size || !(await hasId(oid, object))) throw new LooseDamageError(`Not ${oid}`)
    return object
  })
}

/** Returns the type and size in the header, without checking the content. Otherwise behaves as readLoose. */
export function readLooseInfo(repo: Repo, oid: Oid): Promise<ObjectInfo | undefined> {
  return withFile(repo, oid, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(headerBytes), 0, headerBytes, 0)
    const { type, size } = headerIn(inflateStart(buffer.subarray(0, bytesRead)))
    return { type, size }
  })
}

async function withFile<T>(repo: Repo, oid: Oid, read: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  let file: FileHandle
  try {
    file = await open(`${repo.dir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`, 'r')
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw asStorageError(error)
  }
  try {
    return await read(file)
  } catch (error) {
    throw asStorageError(error)
  } finally {
    await file.close()
  }
}

function inflateSmall(deflated: Buffer): Buffer {
  return rethrowDamaged(() => inflateSync(deflated))
}

async function inflateLarge(file: FileHandle, start: Buffer, allow: Allow): Promise<Buffer> {
  const { type, size, contentAt } = headerIn(inflateStart(start.subarray(0, headerBytes)))
  allow({ type, size })
  // Content that does not shrink grows by 5 bytes in 16 KiB. Source: zlib's compressBound.
  if ((await file.stat()).size > 1.01 * size + 1_024) throw new LooseDamageError('The file is larger than its object')
  return inflate(await file.readFile(), { maxOutputLength: contentAt + size }).catch((cause: unknown) => {
    throw new LooseDamageError('The file cannot be inflated', { cause })
  })
}

/** Inflates the first bytes of a file, which may be longer. */
function inflateStart(start: Buffer): Buffer {
  return rethrowDamaged(() => inflateSync(start, { finishFlush: constants.Z_SYNC_FLUSH }))
}

function rethrowDamaged<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new LooseDamageError('The file cannot be inflated', { cause })
  }
}

/** @throws LooseDamageError */
function headerIn(start: Buffer) {
  const header = parseHeader(start)
  if (!header) throw new LooseDamageError('The file has no header')
  return header
}
