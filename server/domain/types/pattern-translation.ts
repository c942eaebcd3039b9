/**
 * Translates the regular expressions of `pattern` for RE2. JSON Schema takes them from JavaScript, with the flag `u`.
 *
 * RE2 reads some escapes, classes and the dot differently. A translated expression matches the same texts, but for
 * characters that only the newer of the two versions of Unicode has.
 */

/** A pattern that cannot be used. The message begins with a verb: its subject is the pattern. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

export interface Translation {
  /** The expression for RE2. It has no groups that capture. */
  readonly expression: string
  /** At least the size of the compiled expression. It may be a huge number. */
  readonly states: number
}

/** An escape. Two escaped surrogates are one character. */
const escapeForm =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[^}]*\}|u.{4}|x..|c.|[pP]\{[^}]*\}|.)/su
const items = new RegExp(`${escapeForm.source}|.`, 'gsu')
/** Escapes, classes, groups, counts, and all other characters. */
const tokens = new RegExp(
  `${escapeForm.source}|${/\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<[^>]*>)?)?|\{\d+,?\d*\}|./su.source}`,
  'gsu',
)

/** White space of JavaScript, and all other characters. RE2 knows only that of ASCII. */
const spaces = '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const nonSpaces =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
/** The characters of a dot. In RE2 it has all but `\n`. */
const noLineEnds = '[^\\n\\r\\x{2028}\\x{2029}]'

/** Escapes of one letter for one character. `\b` is one only in a class. */
const controls: ReadonlyMap<string, number> = new Map([
  ['b', 8],
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
  ['0', 0],
])

/** Translates an expression whose syntax JavaScript has accepted. @throws PatternError */
export function translatePattern(pattern: string): Translation {
  let expression = ''
  const counter = new StateCounter()
  for (const [token] of pattern.matchAll(tokens)) {
    expression += translateToken(token)
    counter.add(token)
  }
  return { expression, states: counter.total }
}

function translateToken(token: string): string {
  if (token === '.') return noLineEnds
  if (token.startsWith('[')) return translateClass(token)
  if (token.startsWith('\\')) return translateEscape(token, false)
  if (/^\(\?<?[=!]/.test(token))
    throw new PatternError('must not look ahead or behind: `(?=`, `(?!`, `(?<=` and `(?<!` are not supported')
  if (token === '(?') throw new PatternError('must not have modifiers, such as `(?i:`')
  if (token.startsWith('(')) return '(?:'
  // RE2 reads a count that begins with 0 as characters.
  return token.startsWith('{') ? token.replace(/\b0+(?=\d)/g, '') : token
}

/** Translates a class such as `[^a-z\s]`. RE2 knows no empty class, and reads `[:` in a class as a name. */
function translateClass(token: string): string {
  if (token === '[]') return '[^\\x{0}-\\x{10ffff}]'
  if (token === '[^]') return '[\\x{0}-\\x{10ffff}]'
  const inner = token.slice(1, -1).replace(items, (item) => {
    if (item.startsWith('\\')) return translateEscape(item, true)
    return item === '[' ? '\\[' : item
  })
  return `[${inner}]`
}

function translateEscape(token: string, isInClass: boolean): string {
  const letter = token[1] ?? ''
  if (/[1-9k]/.test(letter)) throw new PatternError('must not have back references, such as `\\1`')
  if (/[dDwW]/.test(letter) || (/[bB]/.test(letter) && !isInClass)) return token
  if (/[sS]/.test(letter)) {
    const ranges = letter === 's' ? spaces : nonSpaces
    return isInClass ? ranges : `[${ranges}]`
  }
  if (/[pP]/.test(letter)) return token.replace(/\{(?:Script|sc|General_Category|gc)=/, '{')
  return `\\x{${readCharacter(token).toString(16)}}`
}

/** Returns the code point of an escape. */
function readCharacter(token: string): number {
  const letter = token[1] ?? ''
  if (letter === 'c') return token.charCodeAt(2) % 32
  if (letter !== 'u' && letter !== 'x') return controls.get(letter) ?? letter.charCodeAt(0)
  const [first = 0, second] = [...token.matchAll(/(?:u\{|u|x)([\da-fA-F]+)/g)].map(([, digits = '']) =>
    Number.parseInt(digits, 16),
  )
  return second === undefined ? first : (String.fromCharCode(first, second).codePointAt(0) ?? 0)
}

/** Counts the states of an expression, token by token, before RE2 repeats its parts. */
class StateCounter {
  private readonly outer: number[] = []
  private sum = 0
  /** The states of the part that a quantifier repeats. It is 0 after one, because `?` then makes that one lazy. */
  private last = 0

  /** With the first and the last state, and one for an empty expression. */
  get total(): number {
    return 3 + this.sum
  }

  add(token: string): void {
    if (token.startsWith('(')) {
      this.outer.push(this.sum)
      this.sum = 0
    } else if (token === ')') {
      this.last = Math.max(1, this.sum)
      this.sum = (this.outer.pop() ?? 0) + this.last
    } else if (/^[*+?{]/.test(token)) {
      this.sum += countRepeated(token, this.last) - this.last
      this.last = 0
    } else {
      this.last = countOne(token)
      this.sum += this.last
    }
  }
}

/**
 * Returns the states of a token, as its time and its bytes were measured. A property of characters has hundreds of
 * ranges, and an assertion compares two characters.
 */
function countOne(token: string): number {
  if (/\\p/i.test(token)) return 4
  return /^(?:[$^|]|\\b)$/i.test(token) ? 2 : 1
}

/** Returns the states of a part with its quantifier. A part that occurs 0 times leaves an empty one with a state. */
function countRepeated(quantifier: string, part: number): number {
  const [, least = '0', comma = '', most = ''] = /^\{(\d+)(,?)(\d*)\}$/.exec(quantifier) ?? []
  const low = quantifier === '+' ? 1 : Number(least)
  if (quantifier === '*' || quantifier === '+' || (comma && most === '')) return Math.max(1, low) * part + 2
  const high = quantifier === '?' ? 1 : Number(comma ? most : least)
  return Math.max(1, high * part + (high - low))
}
