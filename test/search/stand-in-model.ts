/** A stand-in for a model: texts with the same groups of letters are similar. Deterministic, in 64 dimensions. */

export const STAND_IN_DIMENSIONS = 64

/** The letters of a group. */
const GROUP = 4

/** Returns the vector of a text, which is never zero. The numbers of a model are quantised in the same way. */
export function standInVector(text: string): Int8Array {
  const counts = new Float64Array(STAND_IN_DIMENSIONS)
  const letters = ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `
  counts[0] = 0.5
  for (let at = 0; at + GROUP <= letters.length; at++) {
    const hash = hashOf(letters.slice(at, at + GROUP))
    const dimension = hash % STAND_IN_DIMENSIONS
    counts[dimension] = (counts[dimension] ?? 0) + (hash & 0x4000_0000 ? 1 : -1)
  }
  const greatest = Math.max(...counts.map(Math.abs))
  return Int8Array.from(counts, (count) => Math.round((count / greatest) * 127))
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c_9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0
  // The lowest bits alone are weak.
  return (hash ^ (hash >>> 15)) >>> 0
}
