/** The words around a link, as plain text. */

import { wikilinkAt, wikilinkParts } from './wikilinks.ts'

export interface LinkExcerpt {
  /** The words before the link in its sentence, and after it. */
  readonly before: string
  readonly after: string
}

/** The most lines that are read on each side, and UTF-16 units of each side. */
const most = { lines: 6, units: 200 } as const

/**
 * Returns the sentence around a link, without the link itself and without marks of Markdown.
 *
 * @param lines the lines of the text
 * @param at the position of the link, from 1
 */
export function excerptAt(
  lines: readonly string[],
  at: { readonly line: number; readonly column: number },
): LinkExcerpt {
  const here = lines[at.line - 1] ?? ''
  const start = at.column - 1
  const end = start + lengthAt(here, start)
  const above = near(lines, at.line - 2, -1)
  const below = near(lines, at.line, 1)
  const isRow = /^\s*\|.*\|\s*$/.test(here)
  const before = plain([...(isRow ? [] : above), here.slice(0, start)].join('\n'))
  const after = plain(['', here.slice(end), ...(isRow ? [] : below)].join('\n').slice(1), true)
  return { before: lastSentence(before), after: firstSentence(after) }
}

/** Returns the lines of the same paragraph on one side. */
function near(lines: readonly string[], from: number, step: 1 | -1): string[] {
  const found: string[] = []
  const isWithin = (at: number) => (lines[at] ?? '').trim() !== '' && found.length < most.lines
  const begins = (at: number) => blockStart.test(lines[at] ?? '')
  // The line of the link may begin the paragraph; a line below that begins another block ends it.
  if (step < 0 && begins(from + 1)) return found
  for (let at = from; isWithin(at) && !(step > 0 && begins(at)); at += step) {
    if (step > 0) found.push(lines[at] ?? '')
    else found.unshift(lines[at] ?? '')
    if (step < 0 && begins(at)) break
  }
  return found.map((line) => line.slice(0, 2_000))
}

/** Marks with which a line begins another block. */
const blockStart = /^\s*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|\||```|~~~|---|===)/

/** Returns the length of the link at this place of a line. */
function lengthAt(line: string, start: number): number {
  const wiki = wikilinkAt(line, start)
  if (wiki) return wiki.length
  otherLink.lastIndex = start
  return otherLink.exec(line)?.[0].length ?? 0
}

const otherLink = /!?\[[^\]]{0,1000}\](?:\([^)]{0,2000}\)|\[[^\]]{0,500}\])?|<[^>]{0,2000}>|[^\s"'<>]{1,2000}/y

/** Removes the marks of Markdown. */
function plain(text: string, isMiddle = false): string {
  const some = text.slice(isMiddle ? 0 : -4_000, isMiddle ? 4_000 : undefined)
  return some
    .replace(
      /^[ \t]*(?:>[ \t]?|#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)+/gm,
      (marks, at: number) => (isMiddle && at === 0 ? marks : ''),
    )
    .replace(/!?\[\[([^[\]\n]{1,1000})\]\]/g, (_, inner: string) => {
      const { target, words } = wikilinkParts(inner)
      return words || target
    })
    .replace(/!?\[([^\]]{0,1000})\]\([^)]{0,2000}\)/g, '$1')
    .replace(/<\/?[a-z][^<>\n]{0,500}>/gi, '')
    .replace(/\\?\|/g, ' ')
    .replace(/\*+|~~|==|`+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
    .replace(/\s+/g, ' ')
}

function lastSentence(text: string): string {
  const begun = text.trimStart()
  const end = [...begun.matchAll(/[.!?…。！？]["'”’)]*\s+/gu)].at(-1)
  const sentence = end ? begun.slice(end.index + end[0].length) : begun
  if (sentence.length <= most.units) return sentence
  return `…${sentence
    .slice(-most.units)
    .replace(/^\S*\s/u, '')
    .replace(/^[\udc00-\udfff]/, '')}`
}

function firstSentence(text: string): string {
  const done = text.trimEnd()
  const end = /[.!?…。！？]["'”’)]*(?=\s|$)/u.exec(done)
  const sentence = end ? done.slice(0, end.index + end[0].length) : done
  if (sentence.length <= most.units) return sentence
  return `${sentence
    .slice(0, most.units)
    .replace(/\s\S*$/u, '')
    .replace(/[\ud800-\udbff]$/, '')}…`
}
