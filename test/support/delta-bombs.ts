/** Packs that are small and inflate to much: one blob of zeros, and deltas that each make another blob of its size. */

import { createHash } from 'node:crypto'
import { constants, deflateSync } from 'node:zlib'

/** The most that one copy of a delta takes. */
const copiedBytes = 0xff_ff_ff

/** `deltas` blobs of `size` bytes that are deltas of one of zeros, by its offset or by its id. */
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

/** Four bytes that say which one it is, and zeros. */
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

/** The type, and the size: four bits of it, then seven a byte, the lowest first. */
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

/** How far in front the base begins (gitformat-pack(5), OBJ_OFS_DELTA). */
function backwards(distance: number): Buffer {
  const bytes = [distance % 128]
  for (let rest = Math.floor(distance / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest--
    bytes.unshift((rest % 128) | 128)
  }
  return Buffer.from(bytes)
}
