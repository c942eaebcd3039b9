/**
 * The segment of a page's path that names an organisation or a node. It has words of the title, then the whole id, as in
 * `first-page-1ChRhyjbCX5HAKBFcj9yJh`. Only the id decides which page it is.
 */

import * as limits from './limits.ts'

/** The digits of base58 in the order of Bitcoin. It has none of 0, I, O and l, which readers confuse. */
const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** Digits of an id: the fewest in which each UUID fits. Shorter names of pages are never ids. */
const idLength = 22
/** Five digits, which a number holds exactly. */
const fiveDigits = 58 ** 5

const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i
const shortIdAtEnd = /(?:^|-)([1-9A-HJ-NP-Za-km-z]{22})$/

/** Returns the segment of a path for an id and its title, not percent-encoded. Text that is not a UUID is unchanged. */
export function segmentOf(id: string, title = ''): string {
  if (!uuid.test(id)) return id
  const words = shortWords(title)
  return words === '' ? shortId(id) : `${words}-${shortId(id)}`
}

/** Returns the id that a decoded segment ends with, or that it is. Undefined if it has none. */
export function idIn(segment: string): string | undefined {
  if (uuid.test(segment)) return segment.toLowerCase()
  const [, short] = shortIdAtEnd.exec(segment) ?? []
  if (short === undefined) return undefined
  let value = 0n
  for (const digit of short) value = value * 58n + BigInt(digits.indexOf(digit))
  const hex = value.toString(16).padStart(32, '0')
  return hex.length > 32 ? undefined : hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Returns an id as 22 digits of base58. */
function shortId(id: string): string {
  let rest = BigInt(`0x${id.replaceAll('-', '')}`)
  let short = ''
  while (short.length < idLength) {
    let five = Number(rest % BigInt(fiveDigits))
    rest /= BigInt(fiveDigits)
    for (let at = 0; at < 5; at++) {
      short = digits.charAt(five % 58) + short
      five = Math.floor(five / 58)
    }
  }
  return short.slice(-idLength)
}

/** Joins the words of a title by hyphens, and cuts after a word. Without letters and digits, returns ''. */
function shortWords(title: string): string {
  const [first = '', ...others] = wordsOf(title)
  let words = [...first].slice(0, limits.slug).join('')
  for (const word of others) {
    const longer = `${words}-${word}`
    if ([...longer].length > limits.slug) break
    words = longer
  }
  return words
}

/** Returns the words of a title: lower case letters and digits of any script. The same title has the same words. */
export function wordsOf(title: string): readonly string[] {
  const words = title
    .slice(0, limits.slugTitle)
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    // Apostrophes and format characters, such as a soft hyphen, are parts of a word.
    .replace(/['’\p{Cf}]/gu, '')
    .match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu)
  return words ?? []
}
