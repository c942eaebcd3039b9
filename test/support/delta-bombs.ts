/**
 * Makes small packs that inflate to much data. They have one blob of zeros, and deltas that each make another blob of
 * its size.
 */

import { createHash } from 'node:crypto'
import { constants, deflateSync } from 'node:zlib'

/** The most bytes that one copy instruction of a delta can copy. */
const copiedBytes = 0xff_ff_ff

/**
 * Makes a pack of `deltas` blobs of `size` bytes. They are deltas of one blob of zeros, which they name by offset or
 * id.
 */
export function deltaBomb(size: number, deltas: number, base: 'offset' | 'id' = 'offset'): Buffer {
  const zeros = Buffer.alloc(size)
  const id = createHash('sha1').update(`blob ${size}\0`).update(zeros).digest()
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1')
  header.writeUInt32BE(deltas + 1, 8)
  const parts = [header, entryHeader(3, size), deflateSync(zeros, { level: constants.Z_BEST_SPEED })]
  let at = header.length
  let end = parts.reduce((sum, { length }) => sum + length, 0)
  const start = at
  for (let n = 0; n < deltas; n++) {
    at = end
    const delta = deltaOf(size, n)
    const where = base === 'offset' ? backwards(at - start) : id
    const entry = [entryHeader(base === 'offset' ? 6 : 7, delta.length), where, deflateSync(delta)]
    parts.push(...entry)
    end += entry.reduce((sum, { length }) => sum + length, 0)
  }
  const pack = Buffer.concat(parts)
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

/** Encodes a blob of four bytes with its number, and zeros. */
function deltaOf(size: number, n: number): Buffer {
  const mark = Buffer.alloc(5)
  mark[0] = 4
  mark.writeUInt32BE(n + 1, 1)
  const copies: Buffer[] = []
  for (let rest = size - 4; rest > 0; rest -= copiedBytes) {
    const copied = Math.min(rest, copiedBytes)
    copies.push(Buffer.from([0xf0, copied & 255, (copied >> 8) & 255, copied >> 16]))
  }
  return Buffer.concat([lowFirst(size), lowFirst(size), mark, ...copies])
}

/** Encodes the type and the size. The first byte has four bits of the size, and each other byte seven, lowest first. */
function entryHeader(type: number, size: number): Buffer {
  const more = Math.floor(size / 16)
  const first = (type << 4) | (size % 16)
  return more === 0 ? Buffer.from([first]) : Buffer.concat([Buffer.from([first | 128]), lowFirst(more)])
}

function lowFirst(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest % 128) | 128)
  }
}

/** Encodes the distance back to the base (gitformat-pack(5), OBJ_OFS_DELTA). */
function backwards(distance: number): Buffer {
  const bytes = [distance % 128]
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest--
    bytes.unshift((rest % 128) | 128)
  }
  return Buffer.from(bytes)
}
