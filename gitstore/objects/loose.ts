/** Loose objects, read in this process: a header before anything else, and never more inflated than it says. */

import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, inflate as inflateCallback, inflateSync } from 'node:zlib'
import { asStorageFault, codeOf } from '../errors.ts'
import type { Oid, PendingObject, Repo } from '../repo.ts'

const inflate = promisify(inflateCallback)

/** What git says of an object before its content is asked for. */
export interface ObjectInfo {
  readonly type: PendingObject['type']
  /** Bytes of the content. */
  readonly size: number
}

/** Throws where an object of that kind and size is not to be read. */
export type Allow = (info: ObjectInfo) => void

/** The file is there and is not the object that it is named after. */
export class LooseDamage extends Error {}

/** Bytes of the file that are read first: most commits and trees whole. At most 4 MiB come out of them. */
const firstBytes = 4_096
/** Bytes of a larger file in which its header is looked for; zlib may need 300 of them for its tables. */
const headerBytes = 512
/** Bytes that are hashed before others get a turn of the event loop: 1 ms. */
const hashedAtOnce = 1_048_576

/** Undefined: there is no such file. About 0.1 ms. @throws LooseDamage, what `allow` throws, GitError storage_*; system errors */
export function readLoose(repo: Repo, oid: Oid, allow: Allow): Promise<PendingObject | undefined> {
  return withFile(repo, oid, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(firstBytes), 0, firstBytes, 0)
    const whole =
      bytesRead < firstBytes ? inflateSmall(buffer.subarray(0, bytesRead)) : await inflateLarge(file, buffer, allow)
    const { type, size, contentAt } = parseHeader(whole)
    allow({ type, size })
    const content = whole.subarray(contentAt)
    if (content.length !== size || !(await isNamed(oid, type, content))) throw new LooseDamage(`Not ${oid}`)
    return { type, content }
  })
}

/** What its header says, which is not compared with the content. Otherwise as readLoose. */
export function readLooseInfo(repo: Repo, oid: Oid): Promise<ObjectInfo | undefined> {
  return withFile(repo, oid, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(headerBytes), 0, headerBytes, 0)
    const { type, size } = parseHeader(inflateStart(buffer.subarray(0, bytesRead)))
    return { type, size }
  })
}

async function withFile<T>(repo: Repo, oid: Oid, read: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  let file: FileHandle
  try {
    file = await open(`${repo.dir}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw asStorageFault(error)
  }
  try {
    return await read(file)
  } catch (error) {
    throw asStorageFault(error)
  } finally {
    await file.close()
  }
}

function inflateSmall(deflated: Buffer): Buffer {
  return orDamaged(() => inflateSync(deflated))
}

async function inflateLarge(file: FileHandle, start: Buffer, allow: Allow): Promise<Buffer> {
  const { type, size, contentAt } = parseHeader(inflateStart(start.subarray(0, headerBytes)))
  allow({ type, size })
  // What does not shrink grows by 5 bytes in 16 KiB. Source: zlib's compressBound.
  if ((await file.stat()).size > 1.01 * size + 1_024) throw new LooseDamage('The file is larger than its object')
  return inflate(await file.readFile(), { maxOutputLength: contentAt + size }).catch((cause: unknown) => {
    throw new LooseDamage('The file cannot be inflated', { cause })
  })
}

/** What the first bytes of a file hold; it may go on. */
function inflateStart(start: Buffer): Buffer {
  return orDamaged(() => inflateSync(start, { finishFlush: constants.Z_SYNC_FLUSH }))
}

function orDamaged<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new LooseDamage('The file cannot be inflated', { cause })
  }
}

function parseHeader(start: Buffer): ObjectInfo & { readonly contentAt: number } {
  const match = /^(blob|tree|commit|tag) (\d{1,15})\0/.exec(start.toString('latin1', 0, 32))
  if (!match) throw new LooseDamage('The file has no header')
  const type = match[1] as PendingObject['type'] // the expression has these four
  return { type, size: Number(match[2]), contentAt: match[0].length }
}

/** Whether this is the object of that id. */
export async function isNamed(oid: Oid, type: PendingObject['type'], content: Buffer): Promise<boolean> {
  const hash = createHash('sha1').update(`${type} ${content.length}\0`)
  for (let at = 0; at < content.length; at += hashedAtOnce) {
    if (at > 0) await nextTurn()
    hash.update(content.subarray(at, at + hashedAtOnce))
  }
  return hash.digest('hex') === oid
}
