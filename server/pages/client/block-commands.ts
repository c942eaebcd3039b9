/** Commands that turn lines into headings, lists and quotes, and insert tables, code and callouts. */

import type { ChangeSpec, EditorState, Line, StateCommand } from '@codemirror/state'
import { type LineMarks, lineMarks } from './list-lines.ts'

export type LineKind = 'heading' | 'list' | 'numbers' | 'tasks' | 'quote'

/** Turns the selected lines into this kind. If all of them are, turns them back. */
export function toggleLines(kind: LineKind): StateCommand {
  return ({ state, dispatch }) => {
    if (state.readOnly) return false
    const lines = selectedLines(state)
    const filled = lines.filter(({ text }) => text.trim() !== '')
    const turned = filled.length > 0 ? filled : lines.slice(0, 1)
    const isSet = turned.every(({ text }) => kinds[kind].has(text))
    const changes = turned.map((line, at) => kinds[kind].change(line, !isSet, at + 1))
    const { main } = state.selection
    const set = state.changes(changes)
    const selection = { anchor: set.mapPos(main.anchor, 1), head: set.mapPos(main.head, 1) }
    dispatch(state.update({ changes: set, selection, scrollIntoView: true, userEvent: 'input' }))
    return true
  }
}

function selectedLines(state: EditorState): Line[] {
  const { from, to } = state.selection.main
  const lines = [state.doc.lineAt(from)]
  for (let last = lines[0]; last && last.to < to; ) {
    const next = state.doc.lineAt(last.to + 1)
    // A selection that ends at the beginning of a line does not contain it.
    if (next.from === to) break
    lines.push(next)
    last = next
  }
  return lines
}

interface LineRule {
  has(text: string): boolean
  /** `number`: the position of the line among those that are turned. */
  change(line: Line, isSet: boolean, number: number): ChangeSpec
}

const heading = /^ {0,3}#{1,6}(?:[ \t]+|$)/

function itemRule(isOne: (marks: LineMarks) => boolean, marker: (number: number) => string): LineRule {
  return {
    has: (text) => isOne(lineMarks(text)),
    change: ({ from, text }, isSet, number) => {
      const { quote, indent, length } = lineMarks(text)
      const at = from + quote.length + indent.length
      const title = heading.exec(text.slice(length))?.[0].length ?? 0
      return { from: at, to: from + length + (isSet ? title : 0), insert: isSet ? marker(number) : '' }
    },
  }
}

const kinds: Readonly<Record<LineKind, LineRule>> = {
  heading: {
    has: (text) => heading.test(text),
    change: ({ from, text }, isSet) => {
      const { length } = lineMarks(text)
      const to = from + (heading.exec(text)?.[0].length ?? (isSet ? length : 0))
      return { from, to, insert: isSet ? '## ' : '' }
    },
  },
  list: itemRule(
    ({ marker, task }) => /^[-*+]$/.test(marker) && task === '',
    () => '- ',
  ),
  numbers: itemRule(
    ({ marker }) => /^\d/.test(marker),
    (number) => `${number}. `,
  ),
  tasks: itemRule(
    ({ task }) => task !== '',
    () => '- [ ] ',
  ),
  quote: {
    has: (text) => lineMarks(text).quote !== '',
    change: ({ from, text }, isSet) => {
      const first = /^[ \t]*>[ \t]?/.exec(text)?.[0].length ?? 0
      return isSet ? { from, insert: '> ' } : { from, to: from + first }
    },
  },
}

interface Block {
  readonly before: string
  /** The words that are selected, to be replaced. */
  readonly words: string
  readonly after: string
}

const blocks = {
  table: { before: '| ', words: 'Column', after: ' | Column |\n| --- | --- |\n|  |  |' },
  callout: { before: '> [!note] ', words: 'Title', after: '\n> ' },
  code: { before: '```\n', words: '', after: '\n```' },
  math: { before: '$$\n', words: '', after: '\n$$' },
} as const satisfies Readonly<Record<string, Block>>
export type BlockKind = keyof typeof blocks

/** Inserts a block below the line, or instead of it if it is blank. Code takes the lines of the selection. */
export function insertBlock(kind: BlockKind): StateCommand {
  return ({ state, dispatch }) => {
    if (state.readOnly) return false
    const lines = selectedLines(state)
    const [first, last] = [lines[0], lines.at(-1)]
    if (!first || !last) return false
    const chosen = state.selection.main.empty || kind !== 'code' ? '' : state.sliceDoc(first.from, last.to)
    const { from, before } = chosen === '' ? placeAfter(state, last) : { from: first.from, before: '' }
    const next = last.number < state.doc.lines ? state.doc.line(last.number + 1).text.trim() : ''
    const block: Block = chosen === '' ? blocks[kind] : fenced(chosen)
    const insert = before + block.before + block.words + block.after + (next === '' ? '' : '\n')
    const anchor = from + before.length + block.before.length
    const selection = { anchor, head: anchor + block.words.length }
    const changes = { from, to: last.to, insert: state.toText(insert) }
    dispatch(state.update({ changes, selection, scrollIntoView: true, userEvent: 'input' }))
    return true
  }
}

/** Returns where a block after this line begins, and the blank line that it needs. */
function placeAfter(state: EditorState, { from, to, text, number }: Line): { from: number; before: string } {
  if (text.trim() !== '') return { from: to, before: '\n\n' }
  const isAfterText = number > 1 && state.doc.line(number - 1).text.trim() !== ''
  return { from, before: isAfterText ? '\n' : '' }
}

/** Returns a code block, whose fence is longer than those in the code. */
function fenced(words: string): Block {
  const longest = Math.max(2, ...(words.match(/`{3,}/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  return { before: `${fence}\n`, words, after: `\n${fence}` }
}
