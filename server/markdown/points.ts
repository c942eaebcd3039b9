/**
 * Maps offsets in the Markdown parser's inline content to points in the source.
 *
 * The parser strips the marks of blocks and reports only lines.
 */
import { asRead } from './markdown.ts'

export interface Point {
  /** From 1. */
  readonly line: number
  /** In UTF-16 units, from 1. */
  readonly column: number
}

/** Returns the point of an offset. Offsets must ascend, so that all of a piece take linear time. */
export type Locate = (offset: number) => Point

/** Returns the lines of a source as the parser reads them. They end with LF, CRLF or CR. */
export function linesOf(source: string): string[] {
  return asRead(source).split(/\r\n?|\n/)
}

/**
 * Locates offsets in a paragraph or in HTML.
 *
 * Each line of the content is the end of a source line. The last one may lack trailing white space.
 */
export function inLines(lines: readonly string[], first: number, content: string): Locate {
  let [at, start, end] = [0, 0, lineEnd(content, 0)]
  let length = sourceLength()
  return (offset) => {
    while (offset > end) {
      at++
      start = end + 1
      end = lineEnd(content, start)
      length = sourceLength()
    }
    return { line: first + at + 1, column: length - (end - offset) + 1 }
  }

  /** Returns the length of the source line, without the white space that was cut. */
  function sourceLength(): number {
    const source = lines[first + at] ?? ''
    let length = source.length
    if (end < content.length || isBlank(content[end - 1])) return length
    while (isBlank(source[length - 1])) length--
    return length
  }
}

function isBlank(unit: string | undefined): boolean {
  return unit === ' ' || unit === '\t'
}

function lineEnd(content: string, from: number): number {
  const end = content.indexOf('\n', from)
  return end < 0 ? content.length : end
}

/**
 * Locates offsets in a heading.
 *
 * The text before the content has no character that begins a link, so the first occurrence is the right one.
 */
export function inHeading(lines: readonly string[], line: number, content: string): Locate {
  const start = (lines[line] ?? '').indexOf(content)
  return (offset) => ({ line: line + 1, column: start + offset + 1 })
}

/** Locates offsets in the cells of a table row, in order. In a cell `\|` is read as `|`. */
export function inRow(
  lines: readonly string[],
  line: number,
  cells: readonly { readonly content: string }[],
): Locate[] {
  const source = lines[line] ?? ''
  const pieces = piecesOf(source)
  const isCell = ({ content }: { content: string }, at: number) => content === read(pieces[at]?.text ?? '')
  // Before the first bar is the first cell, or the marks of quotes and lists.
  const first = marks.test(pieces[0]?.text ?? '') && cells.every((cell, at) => isCell(cell, at + 1)) ? 1 : 0
  return cells.map(({ content }, at) => {
    const { text = '', start = 0 } = pieces[at + first] ?? {}
    // Marks before the first cell were also cut.
    const from = at + first === 0 ? lastReading(text, content) : text.length - text.trimStart().length
    let [read, raw] = [0, from]
    return (offset) => {
      for (; read < offset; read++) raw += text.startsWith('\\|', raw) ? 2 : 1
      return { line: line + 1, column: start + raw + 1 }
    }
  })
}

const marks = /^[\s>*+\d.)-]*$/

function read(piece: string): string {
  return piece.replaceAll('\\|', '|').trim()
}

/** Finds the start of the end of `piece` that reads as `content`. */
function lastReading(piece: string, content: string): number {
  let raw = piece.trimEnd().length
  for (let left = content.length; left > 0; left--) raw -= piece.startsWith('\\|', raw - 2) ? 2 : 1
  return raw
}

/** Splits a row at bars that no backslash escapes. */
function piecesOf(source: string): { text: string; start: number }[] {
  const pieces: { text: string; start: number }[] = []
  let start = 0
  for (let at = source.indexOf('|'); at >= 0; at = source.indexOf('|', at + 1)) {
    if (source[at - 1] === '\\') continue
    pieces.push({ text: source.slice(start, at), start })
    start = at + 1
  }
  pieces.push({ text: source.slice(start), start })
  return pieces
}
