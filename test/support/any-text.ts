/** Random characters for fast-check. */
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/**
 * Any code point except half of a surrogate pair. It shrinks to 'a'. fast-check's own `binary` is equivalent, but keeps
 * a map of all million code points. That takes a second and 110 MB in each process.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - surrogates.count }).map(
  (n) => {
    const place = n ^ 0x61
    return String.fromCodePoint(place < surrogates.first ? place : place + surrogates.count)
  },
  (character) => {
    const codePoint = codePointOf(character)
    return (codePoint < surrogates.first ? codePoint : codePoint - surrogates.count) ^ 0x61
  },
)

/** @throws Error if fast-check passes a string that is not such a character */
function codePointOf(text: unknown): number {
  const [codePoint, ...more] = typeof text === 'string' ? [...text].map((character) => character.codePointAt(0)) : []
  const isHalf =
    codePoint !== undefined && codePoint >= surrogates.first && codePoint < surrogates.first + surrogates.count
  if (codePoint === undefined || isHalf || more.length > 0) throw new Error('Not one character')
  return codePoint
}
