/** Keys in lists and quotes: Enter continues them, Backspace removes their marks, Tab indents items. */

import { ensureSyntaxTree, syntaxTree } from '@codemirror/language'
import {
  type ChangeSpec,
  EditorSelection,
  type EditorState,
  type Line,
  type SelectionRange,
  type StateCommand,
} from '@codemirror/state'
import { columns, firstMarker, type LineMarks, lineMarks, nextMarker } from './list-lines.ts'

/** Lines that are searched upwards for an item, and milliseconds to parse a long text. */
const most = { lines: 1_000, parseMs: 50 } as const
const code = /^(FencedCode|CodeBlock|HTMLBlock|CommentBlock|InlineCode)$/

/** True if the position is in code or HTML, where marks mean nothing. */
export function isInCode(state: EditorState, at: number): boolean {
  const tree = ensureSyntaxTree(state, at, most.parseMs) ?? syntaxTree(state)
  for (let node: typeof tree.topNode | null = tree.resolveInner(at, -1); node; node = node.parent)
    if (code.test(node.name)) return true
  return false
}

interface Item extends LineMarks {
  readonly line: Line
}

function itemAt(state: EditorState, at: number): Item {
  const line = state.doc.lineAt(at)
  return { ...lineMarks(line.text), line }
}

/** Continues the list or quote. On an empty item it ends the list, or moves the item one level up. */
export const continueMarks: StateCommand = ({ state, dispatch }) =>
  change(state, dispatch, 'input', (range) => {
    const item = itemAt(state, range.from)
    const { line, quote, marker, length } = item
    if ((quote === '' && marker === '') || range.from < line.from + length || isInCode(state, line.from + length))
      return undefined
    if (range.empty && line.text.slice(length).trim() === '') return endAt(state, item)
    const after = /^[ \t]*/.exec(state.sliceDoc(range.to, state.doc.lineAt(range.to).to))?.[0].length ?? 0
    const insert = state.lineBreak + newMarks(item)
    return { changes: { from: range.from, to: range.to + after, insert }, cursor: range.from + insert.length }
  })

/** Returns the marks of the line after this item. */
function newMarks({ quote, indent, marker, space, task }: LineMarks): string {
  const box = task === '' ? '' : '[ ] '
  return `${spaced(quote)}${indent}${nextMarker(marker)}${marker === '' ? '' : space || ' '}${box}`
}

/** Returns the quote marks with a space at the end. */
function spaced(quote: string): string {
  return quote === '' || quote.endsWith(' ') ? quote : `${quote} `
}

function endAt(state: EditorState, item: Item): Change {
  const { line, quote, marker } = item
  const parent = marker === '' ? undefined : parentOf(state, item)
  if (parent) return replaced(line, newMarks({ ...parent, quote }))
  const rest = marker === '' ? quote.replace(/[ \t]*>[ \t]*$/, '') : quote
  // Without a blank line, the next text would continue the item above.
  const isAfterText =
    line.number > 1 &&
    state.doc
      .line(line.number - 1)
      .text.slice(rest.length)
      .trim() !== ''
  return replaced(line, isAfterText ? rest.trimEnd() + state.lineBreak + spaced(rest) : spaced(rest))
}

function replaced({ from, to }: Line, insert: string): Change {
  return { changes: { from, to, insert }, cursor: from + insert.length }
}

/** Removes the mark before the cursor: the list item, or one quote. */
export const deleteMarks: StateCommand = ({ state, dispatch }) =>
  change(state, dispatch, 'delete', (range) => {
    const { line, quote, indent, marker, length } = itemAt(state, range.from)
    if (!range.empty || range.from !== line.from + length || isInCode(state, line.from + length)) return undefined
    if (marker !== '') {
      const from = line.from + quote.length + indent.length
      return { changes: { from, to: range.from }, cursor: from }
    }
    const last = indent === '' ? (/>[ \t]?$/.exec(quote)?.[0].length ?? 0) : 0
    return last === 0 ? undefined : { changes: { from: range.from - last, to: range.from }, cursor: range.from - last }
  })

/** Moves the items of the selection below the item above them. Elsewhere Tab leaves the field. */
export const indentItems: StateCommand = ({ state, dispatch }) =>
  shift(state, dispatch, (item) => {
    const above = itemAbove(state, item, (one) => columns(one.indent) <= columns(item.indent))
    if (!above || columns(above.indent) < columns(item.indent)) return undefined
    const by = columns(above.indent + ' '.repeat(above.marker.length + 1)) - columns(item.indent)
    const sibling = itemAbove(state, item, (one) => columns(one.indent) <= columns(item.indent) + by)
    const isFirst = !sibling || sibling.line.number === above.line.number
    return { by, marker: isFirst ? firstMarker(item.marker) : renumbered(item, sibling) }
  })

/** Moves the items of the selection one level up. */
export const outdentItems: StateCommand = ({ state, dispatch }) =>
  shift(state, dispatch, (item) => {
    const parent = parentOf(state, item)
    const by = columns(parent?.indent ?? '') - columns(item.indent)
    return by === 0 ? undefined : { by, marker: parent ? renumbered(item, parent) : item.marker }
  })

/** Returns the item's marker, with the number after that of `before`. */
function renumbered({ marker }: Item, before: Item): string {
  const isNumbered = /^\d/.test(marker) && /^\d/.test(before.marker)
  return isNumbered ? `${Number.parseInt(before.marker, 10) + 1}${marker.at(-1)}` : marker
}

function parentOf(state: EditorState, item: Item): Item | undefined {
  return itemAbove(state, item, (one) => columns(one.indent) < columns(item.indent))
}

/** Returns the nearest item above that passes; undefined at a line outside the list. */
function itemAbove(state: EditorState, { line, quote }: Item, passes: (item: Item) => boolean): Item | undefined {
  for (let number = line.number - 1; number >= Math.max(1, line.number - most.lines); number--) {
    const item = itemAt(state, state.doc.line(number).from)
    if (item.quote.trim() !== quote.trim()) return undefined
    if (item.marker !== '' && passes(item)) return item
    if (item.marker === '' && item.indent === '' && item.line.text.slice(item.length).trim() !== '') return undefined
  }
  return undefined
}

interface Shift {
  /** Columns; negative to the left. */
  readonly by: number
  readonly marker: string
}

type Dispatch = Parameters<StateCommand>[0]['dispatch']

/** Shifts the items of the selection and all below them. Returns false if the selection begins in no list. */
function shift(state: EditorState, dispatch: Dispatch, shiftOf: (item: Item) => Shift | undefined): boolean {
  const { main } = state.selection
  const item = itemAt(state, main.from)
  if (item.marker === '' || isInCode(state, item.line.from + item.length)) return false
  const found = state.readOnly ? undefined : shiftOf(item)
  if (!found) return true
  const changes = linesBelow(state, item, state.doc.lineAt(main.to)).flatMap((line) => shifted(line, found.by))
  const at = item.line.from + item.quote.length + item.indent.length
  const marker = { from: at, to: at + item.marker.length, insert: found.marker }
  dispatch(state.update({ changes: [...changes, marker], scrollIntoView: true, userEvent: 'input.indent' }))
  return true
}

/** Returns the lines of the selection and of the items below the last one. */
function linesBelow(state: EditorState, item: Item, last: Line): Line[] {
  const lines = [item.line]
  for (let number = item.line.number + 1; number <= state.doc.lines; number++) {
    const line = state.doc.line(number)
    const { quote, indent, length } = lineMarks(line.text)
    const isBlank = line.text.slice(length).trim() === '' && length === quote.length + indent.length
    const isBelow = quote.trim() === item.quote.trim() && (isBlank || columns(indent) > columns(item.indent))
    if (number > last.number && !isBelow) break
    if (!isBlank) lines.push(line)
  }
  return lines
}

function shifted(line: Line, by: number): ChangeSpec[] {
  const { quote, indent } = lineMarks(line.text)
  const from = line.from + quote.length
  if (by > 0) return [{ from, insert: ' '.repeat(by) }]
  const width = Math.max(0, columns(indent) + by)
  return indent === '' ? [] : [{ from, to: from + indent.length, insert: ' '.repeat(width) }]
}

interface Change {
  readonly changes: ChangeSpec
  readonly cursor: number
}

/** Applies a change at every cursor. Returns false if one of them has none. */
function change(
  state: EditorState,
  dispatch: Dispatch,
  userEvent: string,
  changeAt: (range: SelectionRange) => Change | undefined,
): boolean {
  if (state.readOnly) return false
  const found = state.selection.ranges.map(changeAt)
  if (found.includes(undefined)) return false
  let at = 0
  const spec = state.changeByRange((range) => {
    const { changes = [], cursor = range.from } = found[at++] ?? {}
    return { changes, range: EditorSelection.cursor(cursor) }
  })
  dispatch(state.update(spec, { scrollIntoView: true, userEvent }))
  return true
}
