/** Places of threads in the differences that a page shows: rows, links and selected words. */

import * as limits from '../../base/limits.ts'
import type { Fields } from './review-store.ts'

export interface Place {
  readonly path: string
  readonly side: 'head' | 'base'
  readonly first: number
  readonly last: number
  readonly quote?: { readonly exact: string; readonly prefix: string; readonly suffix: string }
}

/** Reads the place in the link of a line number. */
export function placeOfLink(link: HTMLAnchorElement): Place | undefined {
  const { searchParams: query } = new URL(link.href)
  const [, path, line] = /^(.+):(\d+)$/s.exec(query.get('at') ?? '') ?? []
  if (path === undefined || line === undefined) return undefined
  return { path, side: query.get('on') === 'base' ? 'base' : 'head', first: Number(line), last: Number(line) }
}

interface Line {
  readonly path: string
  readonly side: Place['side']
  readonly line: number
}

/** Finds the row of a line. */
export function rowOf(main: HTMLElement, { path, side, line }: Line): HTMLElement | undefined {
  for (const link of main.querySelectorAll<HTMLAnchorElement>('.diff .row a.ln')) {
    if (link.textContent !== String(line)) continue
    const place = placeOfLink(link)
    if (place?.path === path && place.side === side) return link.parentElement ?? undefined
  }
  return undefined
}

/** Returns the selected lines. The words are quoted if the lines follow each other. */
export function selectedPlace(selection: Selection): Place | undefined {
  if (selection.isCollapsed || selection.rangeCount === 0) return undefined
  const range = selection.getRangeAt(0)
  const startRow = rowAround(range.startContainer)
  let endRow = rowAround(range.endContainer)
  if (!startRow) return undefined
  let end = endRow ? offsetIn(endRow, range.endContainer, range.endOffset) : 0
  // A triple click selects up to the beginning of the next row.
  if (!endRow || (end === 0 && endRow !== startRow)) {
    endRow = startRow
    end = textOf(startRow).length
  }
  const [from, to] = [startRow, endRow].map((row) => {
    const link = row.querySelector<HTMLAnchorElement>('a.ln')
    return link ? placeOfLink(link) : undefined
  })
  if (!from || !to || from.path !== to.path || from.side !== to.side || to.first < from.first) return undefined
  if (to.first - from.first >= limits.anchorLines) return undefined
  const place = { path: from.path, side: from.side, first: from.first, last: to.first }
  const quote = quoteIn(startRow, endRow, offsetIn(startRow, range.startContainer, range.startOffset), end)
  return quote ? { ...place, quote } : place
}

function rowAround(node: Node): HTMLElement | undefined {
  const element = node instanceof Element ? node : node.parentElement
  return element?.closest<HTMLElement>('.diff .row') ?? undefined
}

/** Returns the text of one line; undefined if it is removed. */
export function lineText(row: Element): string | undefined {
  return row.classList.contains('del') ? undefined : textOf(row)
}

/** The text of the line, without what is only for screen readers. */
function textOf(row: Element): string {
  const text = row.querySelector('.tx')
  const hidden = text?.querySelector('.vh')?.textContent ?? ''
  return (text?.textContent ?? '').slice(hidden.length)
}

/** Returns the offset of a point in the text of a row. */
function offsetIn(row: HTMLElement, node: Node, offset: number): number {
  const text = row.querySelector('.tx')
  if (!text?.contains(node)) return 0
  const range = document.createRange()
  range.setStart(text, 0)
  range.setEnd(node, offset)
  const hidden = text.querySelector('.vh')?.textContent ?? ''
  return Math.max(0, range.toString().length - hidden.length)
}

/** Returns the selected words of one line, or of lines that follow each other. */
function quoteIn(startRow: Element, endRow: Element, start: number, end: number): Place['quote'] | undefined {
  const texts: string[] = []
  let line: number | undefined
  for (let row: Element | null = startRow; row; row = row.nextElementSibling) {
    const link = row.matches('.row') ? row.querySelector<HTMLAnchorElement>('a.ln') : null
    const place = link ? placeOfLink(link) : undefined
    if (place && (row === startRow || row.classList.contains('del') === startRow.classList.contains('del'))) {
      if (line !== undefined && place.first !== line + 1) return undefined
      line = place.first
      texts.push(textOf(row))
    }
    if (row === endRow) break
  }
  const [first = '', last = ''] = [texts[0], texts.at(-1)]
  const whole = texts.join('\n')
  const exact = whole.slice(start, whole.length - (last.length - end))
  if (exact.trim() === '' || exact.length > limits.quote) return undefined
  return {
    exact,
    prefix: first.slice(Math.max(0, start - limits.quoteContext), start),
    suffix: last.slice(end, end + limits.quoteContext),
  }
}

const names = ['path', 'commit', 'first_line', 'last_line', 'exact', 'prefix', 'suffix', 'thread'] as const

/** Returns the place and the suggestion that a form has. */
export function fieldsOf(form: HTMLFormElement): Fields {
  const data = new FormData(form)
  const suggestion = data.get('suggestion')
  const suggested =
    suggestion === null ? {} : { suggestion: String(suggestion), original: String(data.get('original')) }
  const places = names.flatMap((name) => (data.get(name) ? [[name, String(data.get(name))] as const] : []))
  return { ...Object.fromEntries(places), ...suggested }
}

/** Sets a field of a form. Adds it as a hidden one if it is missing. */
export function setField(form: HTMLFormElement, name: string, value: string): void {
  const known = form.querySelector<HTMLInputElement>(`input[name="${name}"]`)
  if (known) known.value = value
  else form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
}
