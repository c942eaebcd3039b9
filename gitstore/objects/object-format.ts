/** The format of objects: header, id, and the bytes of the loose file. */

import { createHash, webcrypto } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflate as deflateCallback, deflateSync } from 'node:zlib'
import type { Oid, PendingObject } from '../repo.ts'

const deflate = promisify(deflateCallback)

/** The header of an object. */
export interface ObjectInfo {
  readonly type: PendingObject['type']
  /** Bytes of the content. */
  readonly size: number
}

/** Bytes up to which the thread pool costs more than hashing and deflating (0.1 ms). */
const smallObjectBytes = 16_384
/** Bytes that are hashed between two turns of the event loop: 1 ms. */
const hashedAtOnceBytes = 1_048_576

function headerOf(type: PendingObject['type'], content: Buffer): string {
  return `${type} ${content.length}\0`
}

/** Parses the header at the start of an inflated object. Undefined if there is no header. */
export function parseHeader(start: Buffer): (ObjectInfo & { readonly contentAt: number }) | undefined {
  const match = /^(blob|tree|commit|tag) (\d{1,15})\0/.exec(start.toString('latin1', 0, 32))
  if (!match) return undefined
  const type = match[1] as PendingObject['type'] // the expression allows these four
  return { type, size: Number(match[2]), contentAt: match[0].length }
}

/** The object's id. Large blobs are hashed off the event loop. */
export async function objectId(type: PendingObject['type'], content: Buffer): Promise<Oid> {
  const header = headerOf(type, content)
  if (type === 'blob' && content.length > smallObjectBytes) {
    const id = await webcrypto.subtle.digest('SHA-1', Buffer.concat([Buffer.from(header), content]))
    return Buffer.from(id).toString('hex')
  }
  return createHash('sha1').update(header).update(content).digest('hex')
}

/** True if the object has this id. Hashes in pieces, with turns of the event loop between them. */
export async function hasId(oid: Oid, { type, content }: PendingObject): Promise<boolean> {
  const hash = createHash('sha1').update(headerOf(type, content))
  for (let at = 0; at < content.length; at += hashedAtOnceBytes) {
    if (at > 0) await nextTurn()
    hash.update(content.subarray(at, at + hashedAtOnceBytes))
  }
  return hash.digest('hex') === oid
}

/** The bytes of the object's loose file. Deflates large objects in the thread pool. */
export async function encodeLoose({ type, content }: PendingObject): Promise<Buffer> {
  const whole = Buffer.concat([Buffer.from(headerOf(type, content)), content])
  return content.length <= smallObjectBytes ? deflateSync(whole) : deflate(whole)
}
