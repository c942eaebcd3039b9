/** Converts Markdown to the text that readers see. The index and snippets use it. */
import { FATE, type Marked } from './fates.ts'
import { type InlineReader, inlineReader } from './inline-marks.ts'
import type { Span } from './scripts.ts'
import { markTex } from './tex.ts'

/**
 * A text without Markdown syntax. Front matter, comments, HTML tags, URLs of links and images, badges, rules and the
 * lines of tables are removed. So are the marks of headings, quotes, emphasis and code, and the targets of wiki links
 * with a label. The kinds of callouts, references to footnotes, and the commands of formulas are also removed. A text
 * without Markdown is unchanged.
 */
export interface Prose {
  text: string
  /** Headings by position, without their marks. */
  headings: readonly Span[]
  /** The kept parts of the source, ascending. */
  runs: readonly Run[]
  /** Formulas, ascending: their places in the text, and their source. */
  formulas: readonly Formula[]
}

/** A formula of a line. */
interface Formula extends Span {
  readonly source: string
}

/** A run of units, at `start` in the text and at `source` in the source. */
interface Run {
  start: number
  source: number
  length: number
}

/** The same syntax as in server/markdown/front-matter-lines.ts. test/search/grammar.test.ts compares them. */
const FRONT_MATTER = /^---[ \t]*\r?\n(?=[\w-]+[ \t]*:|#)/
const FRONT_MATTER_END = /\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/g
const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/
const HEADING = /^ {0,3}#{1,6}(?:[ \t]+|$)/
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/
const RULE = /^(?:-{3,}|\*{3,}|_{3,})$/
const QUOTE = /^(?: {0,3}> ?)+/
const TABLE_LINE = /^[\s|:-]+$/
const DEFINITION = /^ {0,3}\[([^\]\n]+)\]:[ \t]*(?:<[^>\n]*>|(?:[a-z][a-z0-9+.-]*:|[./#])\S*)/i
const DEFINITIONS = new RegExp(DEFINITION, 'gim')
const NOTES = /^ {0,3}\[\^([^\]\s]{1,100})\]:/gm
/** The kind of a callout, at the beginning of a quotation. */
const CALLOUT = /^\[!([a-z][\w-]{0,30})(?:\|[^\]\n]{0,100})?\][+-]?[ \t]*/i
const MATH_FENCE = /^ {0,3}(?:`{3,}|~{3,})[ \t]*math[ \t\r]*$/i

/** Characters of Markdown syntax and URLs. A hyphen within a word is not one. */
const MARKS = /[#>`~*_<[\]|\\!&=:+@$%^]|\W-|^-|www\./i

/**
 * Converts Markdown to prose. Linear in `source`.
 *
 * Reading markdown-it's tokens instead is slower. It converts 12 instead of 38 MB a second of CPU time for Markdown of
 * projects, and 3 instead of 20 MB for hostile texts. It is as fast for sentences with few marks. It reports lines, but
 * not the position of each word, which `runs` has.
 */
export function proseOf(source: string): Prose {
  if (source !== '' && !MARKS.test(source))
    return { text: source, headings: [], formulas: [], runs: [{ start: 0, source: 0, length: source.length }] }
  const marked: Marked = { source, fates: new Uint8Array(source.length), formulas: [] }
  return joined(marked, markLines(marked))
}

/** Returns a part of the text in which formulas are whole, as their source. */
export function withFormulas({ text, formulas }: Prose, from: number, to: number): string {
  const parts: string[] = []
  let at = from
  for (const { start, end, source } of formulas) {
    if (end <= from || start >= to) continue
    parts.push(text.slice(at, Math.max(at, start)), source)
    at = Math.max(at, end)
  }
  return parts.join('') + text.slice(at, to)
}

/** Returns the offset in the source for the position `at` in the text of `prose`. */
export function sourceOffset({ runs }: Prose, at: number): number {
  const run = runs[Math.max(0, lastAtOrBefore(runs, 'start', at))]
  return run ? run.source + Math.min(run.length, Math.max(0, at - run.start)) : 0
}

/** Marks Markdown syntax line by line. Returns the headings as spans of the source. */
function markLines(marked: Marked): Span[] {
  const { source, fates } = marked
  const references = new Set(Array.from(source.matchAll(DEFINITIONS), ([, label = '']) => label.toLowerCase()))
  const inline = inlineReader(marked, references, footnotesIn(source))
  const headings: Span[] = []
  const drop = (from: number, to: number) => fates.fill(FATE.dropped, from, to)
  let fence: string | undefined
  let isMath = false
  let inTable = false
  /** The previous line, if it belongs to a paragraph. */
  let paragraph: Span | undefined
  let at = frontMatterEnd(source)
  drop(0, at)

  while (at < source.length) {
    const end = lineEnd(source, at)
    const line = source.slice(at, end)
    const next = Math.min(end + 1, source.length)
    const fenceMark = FENCE.exec(line)?.[1]
    const before: Span | undefined = paragraph
    paragraph = undefined
    if (fence !== undefined) {
      if (closes(line, fence)) fence = undefined
      if (fence === undefined) drop(at, next)
      else if (isMath) markTex(marked, at, end)
      at = next
    } else if (fenceMark !== undefined) {
      fence = fenceMark
      isMath = MATH_FENCE.test(line)
      inline.endBlock()
      drop(at, next)
      at = next
    } else if (line.trim() === '') {
      inline.endBlock()
      inTable = false
      at = next
    } else if (before && UNDERLINE.test(line)) {
      headings.push(before)
      inline.endBlock()
      drop(at, next)
      at = next
    } else if (RULE.test(line.replace(/[ \t\r]/g, '')) || (inTable && TABLE_LINE.test(line)) || DEFINITION.test(line)) {
      drop(at, next)
      at = next
    } else {
      inTable ||= line.includes('|') && isTableLine(source, next)
      const span = lineSpan(line, at)
      drop(at, span.start)
      drop(span.end, end)
      const stop = readInline(inline, source, span)
      if (inTable) markPipes(marked, at, end)
      if (HEADING.test(line)) {
        headings.push(span)
        inline.endBlock()
      } else if (!inTable) paragraph = span
      at = Math.max(next, stop)
    }
  }
  return headings
}

/** Returns the labels of footnotes that have a text. */
function footnotesIn(source: string): Set<string> {
  return new Set(Array.from(source.matchAll(NOTES), ([, label = '']) => label))
}

/**
 * Reads the span. If code or a comment ends beyond it, also reads the rest of that line. Returns the start of the next
 * line.
 */
function readInline(inline: InlineReader, source: string, { start, end }: Span): number {
  let limit = end
  let stop = inline.read(start, end)
  while (stop > limit) {
    limit = lineEnd(source, stop)
    stop = inline.read(stop, limit)
  }
  return Math.min(limit + 1, source.length)
}

/** Returns the line without the marks of a quote or a heading. */
function lineSpan(line: string, at: number): Span {
  const quote = QUOTE.exec(line)?.[0].length ?? 0
  const heading = HEADING.exec(line)?.[0].length
  if (heading === undefined) {
    const callout = quote === 0 ? 0 : (CALLOUT.exec(line.slice(quote))?.[0].length ?? 0)
    return { start: at + quote + callout, end: at + line.length }
  }
  let end = line.trimEnd().length
  const whole = end
  while (line[end - 1] === '#') end--
  if (end > heading && !/[ \t]/.test(line[end - 1] ?? '')) end = whole
  return { start: at + heading, end: at + Math.max(heading, line.slice(0, end).trimEnd().length) }
}

function frontMatterEnd(source: string): number {
  const opening = FRONT_MATTER.exec(source)?.[0].length
  if (opening === undefined) return 0
  FRONT_MATTER_END.lastIndex = opening
  return FRONT_MATTER_END.exec(source) ? FRONT_MATTER_END.lastIndex : 0
}

function lineEnd(source: string, at: number): number {
  const end = source.indexOf('\n', at)
  return end < 0 ? source.length : end
}

function closes(line: string, fence: string): boolean {
  const mark = line.trim()
  return mark.length >= fence.length && mark === mark.slice(0, 1).repeat(mark.length) && mark[0] === fence[0]
}

function isTableLine(source: string, at: number): boolean {
  const line = source.slice(at, lineEnd(source, at))
  return line.includes('|') && line.includes('-') && TABLE_LINE.test(line)
}

function markPipes({ source, fates }: Marked, from: number, to: number): void {
  for (let at = from; at < to; at++) if (source[at] === '|' && source[at - 1] !== '\\') fates[at] = FATE.space
}

/** Joins the kept parts, and maps the headings to positions in the result. Omits headings without text. */
function joined({ source, fates, formulas }: Marked, headings: Span[]): Prose {
  const parts: string[] = []
  const runs: Run[] = []
  let start = 0
  for (let at = 0; at < source.length; ) {
    const fate = fates[at]
    let end = at + 1
    while (end < source.length && fates[end] === fate) end++
    if (fate === FATE.kept) runs.push({ start, source: at, length: end - at })
    if (fate !== FATE.dropped) parts.push(fate === FATE.kept ? source.slice(at, end) : ' ')
    start += fate === FATE.kept ? end - at : fate === FATE.space ? 1 : 0
    at = end
  }
  const moved = ({ start, end }: Span) => ({ start: textOffset(runs, start), end: textOffset(runs, end) })
  return {
    text: parts.join(''),
    headings: headings.map(moved).filter(({ start, end }) => start < end),
    runs,
    formulas: formulas.map((span) => ({ ...moved(span), source: source.slice(span.start, span.end) })),
  }
}

/** Returns the position in the text of a source unit. A dropped unit has the end of the kept run before it. */
function textOffset(runs: readonly Run[], at: number): number {
  const run = runs[lastAtOrBefore(runs, 'source', at)]
  return run ? run.start + Math.min(run.length, at - run.source) : 0
}

/** Returns the index of the last run that begins at or before `at`, or -1. */
function lastAtOrBefore(runs: readonly Run[], by: 'start' | 'source', at: number): number {
  let low = -1
  let high = runs.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((runs[middle]?.[by] ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}
