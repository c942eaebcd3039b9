/** From Markdown to what a person reads, which is what is indexed and shown in snippets. */
import { FATE, type InlineReader, inlineReader, type Marked } from './inline-marks.ts'
import type { Span } from './scripts.ts'

/**
 * The text without marks: front matter, comments, tags of HTML, addresses of links and images, targets of wiki links that have
 * words of their own, badges, marks of headings, quotes, emphasis and code, rules and the lines of tables are gone. A text
 * without Markdown is as it was.
 */
export interface Prose {
  text: string
  /** By position, without their marks. */
  headings: readonly Span[]
  /** What is kept of the source, ascending. */
  runs: readonly Run[]
}

/** `length` units stand at `start` in the text and at `source` in the source. */
interface Run {
  start: number
  source: number
  length: number
}

/** As server/markdown/front-matter-lines.ts has it; test/search/grammar.test.ts compares them. */
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

/** Whatever stands in a mark or in an address; a hyphen within a word does not. */
const MARKS = /[#>`~*_<[\]|\\!&=:+@]|\W-|^-|www\./i

/**
 * Linear in `source`. A reader of markdown-it's tokens was measured beside it, in MB of text a second of CPU: 12 instead of 38 for
 * Markdown of projects, 3 instead of 20 for hostile texts, the same for sentences with few marks. It finds lines, but not the
 * place of each word, which `runs` has.
 */
export function proseOf(source: string): Prose {
  if (source !== '' && !MARKS.test(source))
    return { text: source, headings: [], runs: [{ start: 0, source: 0, length: source.length }] }
  const marked: Marked = { source, fates: new Uint8Array(source.length) }
  return joined(marked, markLines(marked))
}

/** The offset in the source of what stands at `at` in the text of `prose`. */
export function sourceOffset({ runs }: Prose, at: number): number {
  const run = runs[Math.max(0, lastAtOrBefore(runs, 'start', at))]
  return run ? run.source + Math.min(run.length, Math.max(0, at - run.start)) : 0
}

/** Marks what is no prose, line by line; answers the headings as spans of the source. */
function markLines(marked: Marked): Span[] {
  const { source, fates } = marked
  const references = new Set(Array.from(source.matchAll(DEFINITIONS), ([, label = '']) => label.toLowerCase()))
  const inline = inlineReader(marked, references)
  const headings: Span[] = []
  const drop = (from: number, to: number) => fates.fill(FATE.dropped, from, to)
  let fence: string | undefined
  let inTable = false
  /** The line before, while it is a paragraph's. */
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
      at = next
    } else if (fenceMark !== undefined) {
      fence = fenceMark
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

/** Reads the span and, where code or a comment ends beyond it, the rest of that line; answers where the next line begins. */
function readInline(inline: InlineReader, source: string, { start, end }: Span): number {
  let limit = end
  let stop = inline.read(start, end)
  while (stop > limit) {
    limit = lineEnd(source, stop)
    stop = inline.read(stop, limit)
  }
  return Math.min(limit + 1, source.length)
}

/** The line without the marks of a quote or a heading. */
function lineSpan(line: string, at: number): Span {
  const quote = QUOTE.exec(line)?.[0].length ?? 0
  const heading = HEADING.exec(line)?.[0].length
  if (heading === undefined) return { start: at + quote, end: at + line.length }
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

/** What is kept, with the headings moved to where they stand in it. Headings without text are left out. */
function joined({ source, fates }: Marked, headings: Span[]): Prose {
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
  const moved = headings.map((heading) => ({
    start: textOffset(runs, heading.start),
    end: textOffset(runs, heading.end),
  }))
  return { text: parts.join(''), headings: moved.filter(({ start, end }) => start < end), runs }
}

/** Where a unit of the source stands in the text; one that is gone, where the one before it ends. */
function textOffset(runs: readonly Run[], at: number): number {
  const run = runs[lastAtOrBefore(runs, 'source', at)]
  return run ? run.start + Math.min(run.length, at - run.source) : 0
}

/** The index of the last run that begins at `at` or before; -1: none. */
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
