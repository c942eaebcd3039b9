/** How similar two texts are, as git measures it for renames: the share of the larger one that the smaller one has too. */

/** Bytes of each piece of a text, by the piece's hash. */
export interface Fingerprint {
  readonly bytes: number
  readonly pieces: ReadonlyMap<number, number>
}

/** UTF-8 bytes after which a piece ends, if no line does. Source: hash_chars, diffcore-delta.c. */
const pieceBytes = 64

/** Linear in the length. A CR before LF is left out, as git does in texts. */
export function fingerprintOf(text: string): Fingerprint {
  const bytes = Buffer.from(text)
  const pieces = new Map<number, number>()
  let [hash, length] = [offsetBasis, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === carriageReturn && bytes[at + 1] === lineFeed) continue
    hash = Math.imul(hash ^ byte, prime)
    length++
    if (byte !== lineFeed && length < pieceBytes && at < bytes.length - 1) continue
    pieces.set(hash, (pieces.get(hash) ?? 0) + length)
    ;[hash, length] = [offsetBasis, 0]
  }
  return { bytes: bytes.length, pieces }
}

const carriageReturn = 13
const lineFeed = 10
/** FNV-1a. */
const offsetBasis = 0x811c9dc5
const prime = 0x01000193

/** From 0 to 1; 0 where the sizes alone say that it is below `least`. Source: estimate_similarity, diffcore-rename.c. */
export function similarity(one: Fingerprint, other: Fingerprint, least: number): number {
  const larger = Math.max(one.bytes, other.bytes)
  if (larger === 0 || Math.min(one.bytes, other.bytes) < larger * least) return 0
  const [few, many] = one.pieces.size < other.pieces.size ? [one, other] : [other, one]
  let shared = 0
  for (const [hash, bytes] of few.pieces) shared += Math.min(bytes, many.pieces.get(hash) ?? 0)
  return shared / larger
}
