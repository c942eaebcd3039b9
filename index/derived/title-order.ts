/**
 * The order of titles among siblings: natural, and without regard to case and accents.
 *
 * The order is a rule of our own. `Intl.Collator` cannot make keys that SQLite sorts by, and its order changes with ICU.
 * For ASCII, this is the order of CLDR's root collation with numbers. Every rule is limited to characters that all
 * supported versions of Node know, so that a key is the same on every machine.
 */

/** ASCII characters that are neither letters nor digits, in the order of CLDR's root collation. */
const symbols = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$'
/** The first code points of each kind in keys. They are in the order of the kinds; letters begin at `a`. */
const firstSymbol = 0x21
const otherSymbol = 'G'
const number = 'H'
/** Added to the number of digits. */
const digitsFrom = 0x30
/** Precedes all of these. It separates the key from the title, which orders titles with equal keys. */
const end = '\u0001'

/** Lower-case Cyrillic letters in the order of CLDR's root collation. It is not that of code points. */
const cyrillic =
  'аәӕбвгғӻҕӷдԁђԃҙеєжԫҗзԅԑѕӡԇиҋійјкқӄҡҟҝԟԛлӆԯԓԡљԉԕмӎнԩӊңӈԣҥњԋоөпԥҧҁрҏԗсԍҫтԏҭћуүұѹфхӽӿҳһԧѡѿѽѻцҵчԭҷӌҹҽҿџшщъыьҍѣэюяԙѥѧѫѩѭѯѱѳѵҩԝӏ'

/** Follows all Latin letters, and no title has it. */
const after = '\u007f'

/** Letters and signs that sort as others. */
const sortsAs = new Map([
  ...Object.entries({
    ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ł: 'l', ŀ: 'l', ĳ: 'ij', ſ: 's' },
    ...{
      ı: `i${after}`,
      ŋ: `n${after}`,
      ŧ: `t${after}`,
      ə: `e${after}`,
      ς: 'σ',
      ך: 'כ',
      ם: 'מ',
      ן: 'נ',
      ף: 'פ',
      ץ: 'צ',
    },
    '…': '...',
  }),
  ...allAs('\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000', ' '),
  ...allAs('‐‑‒–—―−', '-'),
  ...allAs('‘’‚‛‹›', "'"),
  ...allAs('“”„‟«»', '"'),
  ...Array.from('ぁぃぅぇぉっゃゅょゎ', (small): [string, string] => [small, next(small)]),
  ...Array.from(cyrillic, (letter, at): [string, string] => [letter, String.fromCharCode(0x400 + at)]),
])

type Range = readonly [from: number, to: number]

/** Accents, vowel points and invisible characters. */
const ignored: readonly Range[] = [
  ...pairs([0x00, 0x08, 0x0e, 0x1f, 0x7f, 0x9f, 0xad, 0xad, 0x300, 0x36f, 0x483, 0x489, 0x591, 0x5bd, 0x5bf, 0x5bf]),
  ...pairs([0x5c1, 0x5c2, 0x5c4, 0x5c5, 0x5c7, 0x5c7, 0x610, 0x61a, 0x640, 0x640, 0x64b, 0x65f, 0x670, 0x670]),
  ...pairs([0x6d6, 0x6dc, 0x6df, 0x6e4, 0x6e7, 0x6e8, 0x6ea, 0x6ed, 0x1ab0, 0x1aff, 0x1dc0, 0x1dff, 0x200b, 0x200f]),
  ...pairs([0x202a, 0x202e, 0x2060, 0x206f, 0x20d0, 0x20ff, 0x3099, 0x309a, 0xfe00, 0xfe0f, 0xfe20, 0xfe2f]),
  ...pairs([0xfeff, 0xfeff, 0xe0000, 0xe0fff]),
]
/** Letters with case, and letters with accents, of which the rest after decomposition counts. */
const cased = pairs([0x41, 0x5a, 0xc0, 0x587, 0x1e00, 0x1fff, 0xff21, 0xff3a])
const accented = pairs([0xc0, 0x24f, 0x370, 0x52f, 0x600, 0x6ff, 0x1e00, 0x1fff, 0x3040, 0x30ff])
/** Compatible characters: superscripts, ligatures, and characters of another width. */
const compatible = pairs([0xa0, 0xbf, 0xfb00, 0xfb4f, 0xfe10, 0xfe6f, 0xff00, 0xffef])
const katakana: Range = [0x30a1, 0x30f6]
/** Punctuation, arrows, pictures. They precede digits. */
const signs = pairs([
  0xa1, 0xbf, 0xd7, 0xd7, 0xf7, 0xf7, 0x2010, 0x2bff, 0x2e00, 0x2e7f, 0x3001, 0x303f, 0x1f000, 0x1fbff,
])
/** The zeros of other scripts' decimal digits. */
const zeros = [
  ...[0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0xf20, 0x1040],
  ...[0x17e0, 0x1810],
]

/**
 * Returns the key of a title. Keys are compared by code points, as SQLite compares text. Titles that differ only in case
 * or accents are next to each other, in the order of their code points. Different titles have different keys.
 */
export function titleKey(title: string): string {
  return primaryKey(title) + end + title
}

/** Returns a title's key without the part that makes it unique. */
function primaryKey(title: string): string {
  let key = ''
  let digits: string | undefined
  const closeNumber = () => {
    if (digits === undefined) return
    const value = digits.replace(/^0+/, '')
    key += number + String.fromCharCode(digitsFrom + value.length) + value
    digits = undefined
  }
  for (const char of folded(title)) {
    if (char >= '0' && char <= '9') {
      digits = (digits ?? '') + char
      continue
    }
    closeNumber()
    const weighed = weights.get(char) ?? weight(char)
    if (char.length === 1) weights.set(char, weighed)
    key += weighed
  }
  closeNumber()
  return key
}

/** Returns a text without case and accents. All forms of a letter or digit become the same. */
export function folded(text: string): string {
  // Most titles are ASCII.
  if (/^[ -~]*$/.test(text)) return text.toLowerCase()
  return Array.from(text.normalize('NFC'), (char) => {
    const known = foldedChars.get(char) ?? fold(char)
    if (char.length === 1) foldedChars.set(char, known)
    return known
  }).join('')
}

/** The results of `fold` and `weight` for characters of the basic plane. */
const foldedChars = new Map<string, string>()
const weights = new Map<string, string>()

function fold(char: string): string {
  const lower = isIn(cased, codeOf(char)) ? char.toLowerCase() : char
  const known = sortsAs.get(lower)
  if (known !== undefined) return known
  const isCompatible = isIn(compatible, codeOf(lower))
  // In lower case, İ has an accent and is two characters.
  if (!isCompatible && !isIn(accented, codeOf(char))) return simple(lower)
  const parts = lower.normalize(isCompatible ? 'NFKD' : 'NFD')
  return Array.from(parts, (part) => simple(isIn(cased, codeOf(part)) ? part.toLowerCase() : part)).join('')
}

function simple(char: string): string {
  const code = codeOf(char)
  if (isIn(ignored, code)) return ''
  const plain = isIn([katakana], code) ? String.fromCharCode(code - 0x60) : char
  const zero = zeros.find((first) => code >= first && code <= first + 9)
  return zero === undefined ? (sortsAs.get(plain) ?? plain) : String(code - zero)
}

/** Returns the part of a key for a folded character that is not a digit. */
function weight(char: string): string {
  const rank = symbols.indexOf(char)
  if (rank >= 0) return String.fromCharCode(firstSymbol + rank)
  return isIn(signs, codeOf(char)) ? otherSymbol + char : char
}

function isIn(ranges: readonly Range[], code: number): boolean {
  return ranges.some(([from, to]) => code >= from && code <= to)
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}

function next(char: string): string {
  return String.fromCharCode(codeOf(char) + 1)
}

function allAs(chars: string, same: string): [string, string][] {
  return Array.from(chars, (char) => [char, same])
}

function pairs(bounds: readonly number[]): Range[] {
  return Array.from({ length: bounds.length / 2 }, (_, n) => [bounds[2 * n] ?? 0, bounds[2 * n + 1] ?? 0])
}
