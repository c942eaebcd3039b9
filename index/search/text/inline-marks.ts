/** Marks inline Markdown syntax: emphasis, URLs of links and images, wiki links, HTML, comments. */
import { FATE, type Marked } from './fates.ts'
import type { Span } from './scripts.ts'
import { markTex } from './tex.ts'

/** The open brackets and emphasis of a block, which blank lines close. */
interface Open {
  /** `[` and `![` without a closing `]` yet, the innermost last. */
  brackets: { at: number; isImage: boolean }[]
  /** The position of the last opening run of each kind of emphasis. */
  emphasis: Map<string, number>
}

/**
 * The maximum number of open brackets. Outer ones then count as text. A closing bracket marks its span, so this keeps
 * the work linear.
 */
const DEEPEST = 8

/** Tags that do not separate words. */
const WITHIN_WORDS = /^<\/?(?:abbr|a|b|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|var)[\s/>]/i

/**
 * HTML elements, including those of earlier versions. Other tags are text, such as `List<String>` and
 * `<name of the file>`.
 */
const ELEMENTS = new Set(
  `a abbr acronym address area article aside audio b base bdi bdo big blockquote body br button canvas caption center cite code col
  colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset
  h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map mark menu meta meter nav
  nobr noframes noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search section
  select slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead time title
  tr track tt u ul var video wbr`.split(/\s+/),
)

const TAG = /<\/?[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?>/iy
const AUTOLINK = /<(?:[a-z][a-z0-9+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>/iy
const ADDRESS = /\]\([ \t]*(?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y
const REFERENCE = /\]\[([^[\]\n]*)\]/y
/**
 * The same syntax as in server/markdown/wikilinks.ts (test/search/grammar.test.ts compares them). Excludes footnotes.
 */
const WIKILINK = /(!?\[\[)(?!\^)([^[\]\r\n]{1,1000})\]\](?!\()/y
/** Matches a label of an embedded file that is a width, or width and height. */
const SIZE = /^\d+(?:x\d+)?$/
const EMPHASIS = /\*{1,3}|_{1,3}|~~|==/y
const ESCAPED = /\\[!-/:-@[-`{-~]/y
const BACKTICKS = /`+/g
const SPECIAL = /[\\`<![\]*_~=$%^]/g
/** A reference to a footnote, or the beginning of its text. */
const NOTE = /\[\^([^\]\s]{1,100})\]:?/y
/** Limits of a display formula, in UTF-16 units. */
const LONGEST_FORMULA = 4_000
const BLANK_LINE = /\n[ \t]*(?:\r?\n|$)/g

/** A reader of one document, from beginning to end. */
export interface InlineReader {
  /**
   * Marks the units of a line, or a part of it. Returns where it stopped, which is beyond `to` after a long comment.
   */
  read(from: number, to: number): number
  /** Ends the block, and closes all open brackets and emphasis. */
  endBlock(): void
}

/** The state for one document that the functions below share. */
interface Reading extends Marked {
  readonly open: Open
  /** Labels of link definitions, in lower case. */
  readonly references: ReadonlySet<string>
  /** Labels of footnotes that have a text. */
  readonly notes: ReadonlySet<string>
  readonly nextComment: (from: number) => number
  readonly nextPercents: (from: number) => number
  readonly nextDollar: (from: number) => number
  readonly nextDollars: (from: number) => number
  readonly nextBlank: (from: number) => number
  readonly closingTicks: ReturnType<typeof backtickRuns>
}

/**
 * Creates a reader for a document.
 *
 * @param references labels of link definitions, in lower case
 * @param notes labels of footnotes
 */
export function inlineReader(
  marked: Marked,
  references: ReadonlySet<string>,
  notes: ReadonlySet<string>,
): InlineReader {
  const { source } = marked
  const open: Open = { brackets: [], emphasis: new Map() }
  const nextComment = ascending((from) => source.indexOf('-->', from))
  const nextPercents = ascending((from) => source.indexOf('%%', from))
  const nextDollar = ascending((from) => source.indexOf('$', from))
  const nextDollars = ascending((from) => source.indexOf('$$', from))
  const nextSpecial = ascending((from) => searchFrom(SPECIAL, source, from))
  const nextBlank = ascending((from) => searchFrom(BLANK_LINE, source, from))
  const searches = { nextComment, nextPercents, nextDollar, nextDollars, nextBlank }
  const reading = { ...marked, open, references, notes, ...searches, closingTicks: backtickRuns(source) }
  return {
    read(from, to) {
      let at = from
      for (;;) {
        const special = nextSpecial(at)
        if (special < 0 || special >= to) return Math.max(at, to)
        at = Math.max(special + 1, mark(reading, special))
        if (at >= to) return at
      }
    },
    endBlock() {
      open.brackets.length = 0
      open.emphasis.clear()
    },
  }
}

/** Marks the syntax that starts at `at`. Returns where to continue, or `at` if there is no syntax. */
function mark(reading: Reading, at: number): number {
  const { source, fates } = reading
  switch (source[at]) {
    case '\\':
      if (matchAt(ESCAPED, source, at) === undefined) return at
      fates.fill(FATE.dropped, at, at + 1)
      return at + 2
    case '`':
      return markCode(reading, at)
    case '<':
      return markTag(reading, at)
    case '!':
      return source[at + 1] === '[' ? (markWikilink(reading, at) ?? push(reading.open, at, true)) : at
    case '[':
      return markNote(reading, at) ?? markWikilink(reading, at) ?? push(reading.open, at, false)
    case '^':
      if (source[at + 1] === '[') fates.fill(FATE.space, at, at + 1)
      return at
    case '%':
      return markComment(reading, at)
    case '$':
      return markFormula(reading, at)
    case ']':
      return closeBracket(reading, at)
    default:
      return markEmphasis(reading, at)
  }
}

/**
 * Keeps the label of `[[target|label]]`, or the target without a label. Returns undefined if this is not a wiki link.
 */
function markWikilink({ source, fates, references }: Reading, at: number): number | undefined {
  WIKILINK.lastIndex = at
  const [, opening = '', inner = ''] = WIKILINK.exec(source) ?? []
  const shown = shownOf(inner, opening.startsWith('!'))
  if (shown === undefined || references.has(inner.toLowerCase())) return undefined
  const start = at + opening.length
  const end = start + inner.length + 2
  fates.fill(FATE.dropped, at, start + shown.start)
  fates.fill(FATE.dropped, start + shown.end, end)
  return end
}

function push({ brackets }: Open, at: number, isImage: boolean): number {
  if (brackets.length === DEEPEST) brackets.shift()
  brackets.push({ at, isImage })
  return at + (isImage ? 2 : 1)
}

/** Drops a reference to a footnote. `[[^1]]` is not one. */
function markNote({ source, fates, notes }: Reading, at: number): number | undefined {
  NOTE.lastIndex = at
  const [whole = '', label = ''] = source[at - 1] === '[' ? [] : (NOTE.exec(source) ?? [])
  if (whole === '' || !notes.has(label)) return undefined
  const isText = whole.endsWith(':') && /(?:^|\n) {0,3}$/.test(source.slice(Math.max(0, at - 4), at))
  const end = at + whole.length - (whole.endsWith(':') && !isText ? 1 : 0)
  fates.fill(FATE.dropped, at, end)
  return end
}

/** Drops a comment of Obsidian, `%% … %%`, which pages do not show. */
function markComment({ source, fates, nextPercents }: Reading, at: number): number {
  const end = source[at + 1] === '%' ? nextPercents(at + 2) : -1
  if (end < 0) return at
  fates.fill(FATE.dropped, at, end + 2)
  return end + 2
}

/** Keeps the words and symbols of a formula. The rules are those of server/markdown/math.ts. */
function markFormula(reading: Reading, at: number): number {
  const { source, fates, nextDollar, nextDollars, nextBlank } = reading
  const isDisplay = source[at + 1] === '$'
  const from = at + (isDisplay ? 2 : 1)
  const end = isDisplay ? nextDollars(from) : nextDollar(from)
  if (end < 0 || end - from > LONGEST_FORMULA) return from
  const tex = source.slice(from, end)
  const isMoney = /^\s|[\s`]$|`/.test(tex) || /\d/.test(source[end + 1] ?? '') || tex.endsWith('\\')
  const isCut = nextBlank(at) >= 0 && end > nextBlank(at)
  if (tex.trim() === '' || (!isDisplay && (isMoney || isCut))) return from
  const closing = end + (isDisplay ? 2 : 1)
  fates.fill(FATE.dropped, at, from)
  fates.fill(FATE.dropped, end, closing)
  markTex(reading, from, end)
  reading.formulas.push({ start: at, end: closing })
  return closing
}

function markCode({ fates, closingTicks, nextBlank }: Reading, at: number): number {
  const { length, closing } = closingTicks(at)
  if (closing < 0 || (nextBlank(at) >= 0 && closing > nextBlank(at))) return at + length
  fates.fill(FATE.dropped, at, at + length)
  fates.fill(FATE.dropped, closing, closing + length)
  return closing + length
}

function markTag({ source, fates, nextComment }: Reading, at: number): number {
  if (source.startsWith('<!--', at)) {
    const end = nextComment(at + 4)
    if (end < 0) return at + 4
    fates.fill(FATE.dropped, at, end + 3)
    return end + 3
  }
  const link = matchAt(AUTOLINK, source, at)
  if (link !== undefined) {
    fates.fill(FATE.dropped, at, at + 1)
    fates.fill(FATE.dropped, at + link.length - 1, at + link.length)
    return at + link.length
  }
  const tag = matchAt(TAG, source, at)
  const [, element = ''] = /^<\/?([\w-]+)/.exec(tag ?? '') ?? []
  if (tag === undefined || !ELEMENTS.has(element.toLowerCase())) return at
  fates.fill(WITHIN_WORDS.test(tag) ? FATE.dropped : FATE.space, at, at + tag.length)
  return at + tag.length
}

function closeBracket(reading: Reading, at: number): number {
  const { source, fates, open } = reading
  const opening = open.brackets.pop()
  if (!opening) return at
  const tail = matchAt(ADDRESS, source, at) ?? referenceAt(reading, at)
  if (tail === undefined) return at
  const isBadge = opening.isImage && open.brackets.length > 0
  fates.fill(FATE.dropped, opening.at, isBadge ? at : opening.at + (opening.isImage ? 2 : 1))
  fates.fill(FATE.dropped, at, at + tail.length)
  return at + tail.length
}

function referenceAt({ source, references }: Reading, at: number): string | undefined {
  const found = matchAt(REFERENCE, source, at)
  return found !== undefined && references.has(found.slice(2, -1).toLowerCase()) ? found : undefined
}

/** Marks emphasis. Both runs must be at word boundaries, unlike in a*b, snake_case and 2 * 3. */
function markEmphasis({ source, fates, open }: Reading, at: number): number {
  const run = matchAt(EMPHASIS, source, at)
  if (run === undefined) return at
  const end = at + run.length
  const [before, after] = [kindOf(source[at - 1]), kindOf(source[end])]
  const opening = open.emphasis.get(run)
  if (opening !== undefined && before !== 'space' && after !== 'letter') {
    fates.fill(FATE.dropped, opening, opening + run.length)
    fates.fill(FATE.dropped, at, end)
    open.emphasis.delete(run)
  } else if (before !== 'letter' && after !== 'space') open.emphasis.set(run, at)
  return end
}

/** Returns the shown part of a wiki link's content, trimmed. Undefined if it is empty. */
function shownOf(inner: string, isEmbedded: boolean): Span | undefined {
  const bar = inner.indexOf('|')
  const words = bar < 0 ? '' : inner.slice(bar + 1).trim()
  const hasWords = words !== '' && !(isEmbedded && SIZE.test(words))
  // In tables, | is written as \|.
  const target = bar < 0 ? inner : inner.slice(0, bar).replace(/\\$/, '')
  const shown = hasWords ? words : target.trim()
  if (shown === '') return undefined
  const start = inner.indexOf(shown, hasWords ? bar + 1 : 0)
  return { start, end: start + shown.length }
}

/**
 * Caches a search for calls with ascending positions. Searches again only once a call has passed the last result. -1
 * means not found.
 */
function ascending(search: (from: number) => number): (from: number) => number {
  let found = -2
  return (from) => {
    if (found !== -1 && found < from) found = search(from)
    return found
  }
}

/**
 * Indexes the runs of backticks. The result maps ascending positions to a run's length and the next such run, or -1.
 */
function backtickRuns(source: string): (at: number) => { length: number; closing: number } {
  const starts = new Map<number, number[]>()
  for (const { 0: run, index } of source.matchAll(BACKTICKS)) {
    const known = starts.get(run.length)
    if (known) known.push(index)
    else starts.set(run.length, [index])
  }
  const passed = new Map<number, number>()
  return (at) => {
    let end = at
    while (source[end] === '`') end++
    const length = end - at
    const places = starts.get(length) ?? []
    let next = passed.get(length) ?? 0
    while (next < places.length && (places[next] ?? 0) <= at) next++
    passed.set(length, next)
    return { length, closing: places[next] ?? -1 }
  }
}

function kindOf(unit: string | undefined): 'space' | 'letter' | 'mark' {
  if (unit === undefined || /\s/.test(unit)) return 'space'
  return /[\p{L}\p{N}_]/u.test(unit) ? 'letter' : 'mark'
}

/** Returns the match of a sticky expression at `at`. */
function matchAt(expression: RegExp, text: string, at: number): string | undefined {
  expression.lastIndex = at
  return expression.exec(text)?.[0]
}

/** Returns the position of the next match of a global expression, or -1. */
function searchFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  return expression.exec(text)?.index ?? -1
}
