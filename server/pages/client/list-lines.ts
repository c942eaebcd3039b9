/** The marks that begin a Markdown line: quotes, indentation, a list item, a task box. */

export interface LineMarks {
  /** `> > `, or ''. */
  readonly quote: string
  readonly indent: string
  /** `-`, `*`, `+`, `1.` or `1)`; '' if the line begins no list item. */
  readonly marker: string
  /** The white space after the marker. */
  readonly space: string
  /** `[ ] ` or `[x] `, or ''. */
  readonly task: string
  /** Length of all of these. */
  readonly length: number
}

const marks = /^((?:[ \t]{0,3}>[ \t]?)*)([ \t]*)(?:([-*+]|\d{1,9}[.)])([ \t]+|$)(\[[ xX]\](?:[ \t]+|$))?)?/
const rule = /^[ \t]*([-*_])[ \t]*(?:\1[ \t]*){2,}$/

export function lineMarks(text: string): LineMarks {
  const [whole = '', quote = '', indent = '', marker = '', space = '', task = ''] = marks.exec(text) ?? []
  if (marker !== '' && rule.test(text.slice(quote.length)))
    return { quote, indent, marker: '', space: '', task: '', length: quote.length + indent.length }
  return { quote, indent, marker, space, task, length: whole.length }
}

/** Returns the columns of white space. A tab ends at the next multiple of four. */
export function columns(space: string): number {
  let width = 0
  for (const one of space) width = one === '\t' ? width + 4 - (width % 4) : width + 1
  return width
}

/** Returns the marker of the next item: `2.` after `1.`, the same for bullets. */
export function nextMarker(marker: string): string {
  const number = Number.parseInt(marker, 10)
  if (Number.isNaN(number)) return marker
  return `${Math.min(number + 1, 999_999_999)}${marker.at(-1)}`
}

/** Returns the marker of a first item: `1.` for `7.`, the same for bullets. */
export function firstMarker(marker: string): string {
  return /^\d/.test(marker) ? `1${marker.at(-1)}` : marker
}
