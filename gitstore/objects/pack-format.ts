/** Encodes and reads packs without deltas, version 2, and their indexes, version 2. Source: Git's gitformat-pack(5). */

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { crc32, deflate as deflateCallback, deflateSync } from 'node:zlib'
import { GitError } from '../errors.ts'
import type { Oid, PendingObject } from '../repo.ts'

const deflate = promisify(deflateCallback)

/** Bytes up to which deflating costs less than the use of the thread pool. */
const smallObjectBytes = 16_384
/** The largest pack that is encoded here, in memory. Offsets beyond 2 GiB would need another table in the index. */
const maxEncodedBytes = 1_073_741_824

/** The numbers of types in the header of an entry. Deltas have 6 and 7. */
const typeNumbers: Readonly<Record<PendingObject['type'], number>> = { commit: 1, tree: 2, blob: 3, tag: 4 }
const typeNames: ReadonlyMap<number, PendingObject['type']> = new Map([
  [typeNumbers.commit, 'commit'],
  [typeNumbers.tree, 'tree'],
  [typeNumbers.blob, 'blob'],
  [typeNumbers.tag, 'tag'],
])

const indexHeader = Buffer.from('ff744f6300000002', 'hex')
const fanOutBytes = 256 * 4
export const trailerBytes = 40

export interface EncodedPack {
  /** `pack-<hash>`. The hash is the pack's own checksum, as Git names it. */
  readonly name: string
  readonly pack: Buffer
  readonly index: Buffer
}

interface Entry {
  readonly oid: Oid
  readonly offset: number
  readonly crc: number
}

/**
 * Encodes a pack and its index. Takes about 20 µs for each small object. @throws GitError limit_exceeded: over 1 GiB
 */
export async function encodePack(objects: ReadonlyMap<Oid, PendingObject>): Promise<EncodedPack> {
  const header = Buffer.alloc(12)
  header.write('PACK', 0, 'latin1')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(objects.size, 8)
  const hash = createHash('sha1').update(header)
  const parts: Buffer[] = [header]
  const entries: Entry[] = []
  let offset = header.length
  for (const [oid, { type, content }] of objects) {
    const isSmall = content.length <= smallObjectBytes
    const start = entryHeader(typeNumbers[type], content.length)
    const deflated = isSmall ? deflateSync(content) : await deflate(content)
    entries.push({ oid, offset, crc: crc32(deflated, crc32(start)) })
    hash.update(start).update(deflated)
    parts.push(start, deflated)
    offset += start.length + deflated.length
    if (offset > maxEncodedBytes)
      throw new GitError('limit_exceeded', `A repository of over ${maxEncodedBytes} bytes`, { maxEncodedBytes })
    if (!isSmall) await nextTurn()
  }
  const checksum = hash.digest()
  return {
    name: `pack-${checksum.toString('hex')}`,
    pack: Buffer.concat([...parts, checksum]),
    index: encodeIndex(entries, checksum),
  }
}

/** Encodes the type and the size. The first byte has four bits of the size, and each other byte seven, lowest first. */
function entryHeader(type: number, size: number): Buffer {
  const bytes: number[] = []
  let rest = Math.floor(size / 16)
  bytes.push((type << 4) | (size % 16))
  while (rest > 0) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest % 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from(bytes)
}

function encodeIndex(entries: readonly Entry[], packChecksum: Buffer): Buffer {
  const sorted = [...entries].sort((a, b) => (a.oid < b.oid ? -1 : 1))
  const fanOut = Buffer.alloc(fanOutBytes)
  const [ids, crcs, offsets] = [20, 4, 4].map((width) => Buffer.alloc(width * sorted.length))
  if (!ids || !crcs || !offsets) throw new Error('Three widths have three tables')
  for (const [at, { oid, crc, offset }] of sorted.entries()) {
    ids.write(oid, 20 * at, 'hex')
    crcs.writeUInt32BE(crc, 4 * at)
    offsets.writeUInt32BE(offset, 4 * at)
  }
  let known = 0
  for (let first = 0; first < 256; first++) {
    while (known < sorted.length && (ids[20 * known] ?? 0) <= first) known++
    fanOut.writeUInt32BE(known, 4 * first)
  }
  const index = Buffer.concat([indexHeader, fanOut, ids, crcs, offsets, packChecksum])
  return Buffer.concat([index, createHash('sha1').update(index).digest()])
}

/**
 * The offset of the object's entry in the pack. Undefined if the pack does not contain it or the index has another
 * form.
 */
export function findOffset(index: Buffer, oid: Oid): number | undefined {
  const tables = indexHeader.length + fanOutBytes
  if (index.length < tables + trailerBytes || !index.subarray(0, indexHeader.length).equals(indexHeader))
    return undefined
  const count = index.readUInt32BE(tables - 4)
  if (index.length < tables + 28 * count + trailerBytes) return undefined
  const wanted = Buffer.from(oid, 'hex')
  const first = wanted[0] ?? 0
  const fanOutAt = (byte: number) => (byte < 0 ? 0 : index.readUInt32BE(indexHeader.length + 4 * byte))
  let low = fanOutAt(first - 1)
  let high = Math.min(fanOutAt(first), count)
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const at = tables + 20 * middle
    const order = wanted.compare(index, at, at + 20)
    if (order === 0) return offsetAt(index, tables + 24 * count + 4 * middle)
    if (order < 0) high = middle
    else low = middle + 1
  }
  return undefined
}

/**
 * True for an index of version 2 without offsets of 64 bits. Git also reads version 1, which old tools write.
 */
export function isPlainIndex(index: Buffer): boolean {
  const tables = indexHeader.length + fanOutBytes
  if (index.length < tables + trailerBytes || !index.subarray(0, indexHeader.length).equals(indexHeader)) return false
  return index.length === tables + 28 * index.readUInt32BE(tables - 4) + trailerBytes
}

/**
 * The ids of a pack's objects, 20 bytes each, in order. Undefined if the index has another form.
 */
export function idsIn(index: Buffer): Buffer | undefined {
  const tables = indexHeader.length + fanOutBytes
  if (index.length < tables + trailerBytes || !index.subarray(0, indexHeader.length).equals(indexHeader))
    return undefined
  const end = tables + 20 * index.readUInt32BE(tables - 4)
  return index.length < end + trailerBytes ? undefined : index.subarray(tables, end)
}

/** Returns undefined for an offset in the table of large offsets. */
function offsetAt(index: Buffer, at: number): number | undefined {
  const offset = index.readUInt32BE(at)
  return offset < 2 ** 31 ? offset : undefined
}

/** Parses the header of an entry, and finds its deflated content. Undefined for a delta. */
export function parseEntryHeader(start: Buffer) {
  let byte = start[0]
  if (byte === undefined) return undefined
  const type = typeNames.get((byte >> 4) & 7)
  let size = byte & 15
  let unit = 16
  let contentAt = 1
  while (byte & 0x80) {
    byte = start[contentAt++]
    if (byte === undefined || unit > 2 ** 40) return undefined
    size += (byte & 0x7f) * unit
    unit *= 128
  }
  return type && { type, size, contentAt }
}
