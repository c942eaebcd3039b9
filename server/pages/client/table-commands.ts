/** Keys in tables: Tab goes to the next cell, Enter to the next row. Both add a row at the end. */

import { ensureSyntaxTree, syntaxTree } from '@codemirror/language'
import type { EditorState, Line, StateCommand } from '@codemirror/state'
import { lineMarks } from './list-lines.ts'

/** Milliseconds to parse a long text. */
const parseMs = 50

interface Cell {
  /** Position after the bar before the cell. */
  readonly start: number
  /** The content, without white space. */
  readonly from: number
  readonly to: number
}

interface Row {
  readonly line: Line
  readonly cells: readonly Cell[]
}

interface Table {
  /** Number of the line with the titles. The next line has the dashes. */
  readonly first: number
  readonly last: number
}

export const nextCell: StateCommand = (target) => moveBy(target, 1)
export const previousCell: StateCommand = (target) => moveBy(target, -1)

/** Goes to the row below, and adds one if that has content. In an empty last row it ends the table. */
export const nextRow: StateCommand = ({ state, dispatch }) => {
  const table = tableAt(state)
  if (!table || state.readOnly) return false
  const { main } = state.selection
  const { line, cells } = rowOf(state, state.doc.lineAt(main.head).number)
  // At the beginning of a row, Enter makes a line above it.
  if (main.head < (cells[0]?.start ?? 0)) return false
  if (line.number > table.first + 1 && line.number === table.last && isEmpty(cells)) {
    const changes = { from: line.from, to: line.to, insert: state.lineBreak }
    dispatch(state.update({ changes, selection: { anchor: line.from + 1 }, scrollIntoView: true, userEvent: 'input' }))
    return true
  }
  const above = Math.max(line.number, table.first + 1)
  const below = above < table.last ? rowOf(state, above + 1) : undefined
  if (below && isEmpty(below.cells)) select(state, dispatch, below.cells[0])
  else addRow(state, dispatch, table, above)
  return true
}

function moveBy({ state, dispatch }: Parameters<StateCommand>[0], by: 1 | -1): boolean {
  const table = tableAt(state)
  if (!table || state.readOnly) return false
  const { head } = state.selection.main
  const { line, cells } = rowOf(state, state.doc.lineAt(head).number)
  const isDashes = line.number === table.first + 1
  const at = isDashes ? (by > 0 ? cells.length : 0) : cells.filter(({ start }) => start <= head).length - 1
  const cell = at + by < 0 ? undefined : cells[at + by]
  if (cell) {
    select(state, dispatch, cell)
    return true
  }
  let number = line.number + by
  if (number === table.first + 1) number += by
  if (number > table.last) addRow(state, dispatch, table, table.last)
  // Before the first cell there is none, and the cursor stays.
  else if (number >= table.first) select(state, dispatch, rowOf(state, number).cells.at(by > 0 ? 0 : -1))
  return true
}

type Dispatch = Parameters<StateCommand>[0]['dispatch']

/** Selects the content of a cell, so that typing replaces it. */
function select(state: EditorState, dispatch: Dispatch, cell: Cell | undefined): void {
  if (cell)
    dispatch(
      state.update({ selection: { anchor: cell.from, head: cell.to }, scrollIntoView: true, userEvent: 'select' }),
    )
}

/** Adds an empty row below a line, with as many cells as the titles. */
function addRow(state: EditorState, dispatch: Dispatch, { first }: Table, above: number): void {
  const titles = rowOf(state, first)
  const { quote, indent } = lineMarks(titles.line.text)
  const insert = `${state.lineBreak}${quote}${indent}|${'  |'.repeat(titles.cells.length)}`
  const from = state.doc.line(above).to
  const anchor = from + 1 + quote.length + indent.length + 2
  dispatch(
    state.update({
      ...{ changes: { from, insert }, selection: { anchor } },
      ...{ scrollIntoView: true, userEvent: 'input' },
    }),
  )
}

function isEmpty(cells: readonly Cell[]): boolean {
  return cells.every(({ from, to }) => from === to)
}

/** Returns the table that contains the selection, which must be within one line. */
function tableAt(state: EditorState): Table | undefined {
  const { from, to } = state.selection.main
  const line = state.doc.lineAt(from)
  if (to > line.to || state.selection.ranges.length > 1 || !line.text.includes('|')) return undefined
  const tree = ensureSyntaxTree(state, line.to, parseMs) ?? syntaxTree(state)
  const bar = line.from + line.text.indexOf('|')
  for (let node: typeof tree.topNode | null = tree.resolveInner(bar, 1); node; node = node.parent)
    if (node.name === 'Table')
      return { first: state.doc.lineAt(node.from).number, last: state.doc.lineAt(node.to).number }
  return undefined
}

/** Returns the cells of a line. Each bar ends one, except those after `\`, also within code. */
function rowOf(state: EditorState, number: number): Row {
  const line = state.doc.line(number)
  const { quote, indent } = lineMarks(line.text)
  const content = line.from + quote.length + indent.length
  const text = line.text.slice(content - line.from)
  const cells: Cell[] = []
  let start = /^[ \t]*\|/.exec(text)?.[0].length ?? 0
  while (start < text.trimEnd().length || cells.length === 0) {
    const inner = /^(?:\\.|[^|\\])*/.exec(text.slice(start))?.[0] ?? ''
    const begin = inner.length - inner.trimStart().length
    const isBlank = inner.trim() === ''
    // A space stays on the left of what is typed into an empty cell.
    const from = content + start + (isBlank ? Math.min(1, inner.length) : begin)
    cells.push({ start: content + start, from, to: isBlank ? from : from + inner.trim().length })
    start += inner.length + 1
  }
  return { line, cells }
}
