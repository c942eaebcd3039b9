/** Commands that set and remove bold, italic, code and links. */

import { ensureSyntaxTree, syntaxTree } from '@codemirror/language'
import {
  type ChangeSpec,
  EditorSelection,
  type EditorState,
  type SelectionRange,
  type StateCommand,
} from '@codemirror/state'
import { lineMarks } from './list-lines.ts'

type Tree = ReturnType<typeof syntaxTree>
type Node = Tree['topNode']

/** Milliseconds to parse a long text. */
const parseMs = 50

const kinds = {
  bold: { mark: '**', name: 'StrongEmphasis' },
  italic: { mark: '*', name: 'Emphasis' },
  code: { mark: '`', name: 'InlineCode' },
} as const
export type Kind = keyof typeof kinds

interface Changed {
  readonly changes: readonly ChangeSpec[]
  readonly range: SelectionRange
}

export const toggleBold = toggle('bold')
export const toggleItalic = toggle('italic')
export const toggleCode = toggle('code')

/** Returns the kinds that the selection is in, and `link`. */
export function kindsAt(state: EditorState): ReadonlySet<Kind | 'link'> {
  const { main } = state.selection
  const found = new Set<Kind | 'link'>()
  for (const node of nodesAround(state, main)) {
    for (const kind of Object.keys(kinds) as Kind[]) if (kinds[kind].name === node.name) found.add(kind)
    if (node.name === 'Link') found.add('link')
  }
  return found
}

function toggle(kind: Kind): StateCommand {
  return ({ state, dispatch }) => {
    if (state.readOnly) return false
    const spec = state.changeByRange((range) => {
      const { changes, range: next } =
        step(state, range, kind) ??
        removal(state, range, kind) ??
        (range.empty ? atCursor(state, range, kind) : around(state, range, kind))
      return { changes: [...changes], range: next }
    })
    dispatch(state.update(spec, { scrollIntoView: true, userEvent: 'input' }))
    return true
  }
}

/** Yields the nodes that contain the whole range, the innermost first. */
function* nodesAround(state: EditorState, { from, to }: SelectionRange): Generator<Node> {
  const tree = ensureSyntaxTree(state, to, parseMs) ?? syntaxTree(state)
  const seen = new Set<number>()
  for (const side of [1, -1] as const)
    for (let node: Node | null = tree.resolveInner(side === 1 ? from : to, side); node; node = node.parent) {
      if (node.from > from || node.to < to || seen.has(node.from * 31 + node.to)) continue
      seen.add(node.from * 31 + node.to)
      yield node
    }
}

/** Steps over the closing mark at the cursor, out or back in. Undefined if there is none. */
function step(state: EditorState, range: SelectionRange, kind: Kind): Changed | undefined {
  const { mark, name } = kinds[kind]
  const { head } = range
  if (!range.empty) return undefined
  for (const node of nodesAround(state, range)) {
    const { firstChild: first, lastChild: last } = node
    if (node.name !== name || !first || !last || first.to >= last.from || head <= first.to) continue
    if (head === last.from || head === last.to)
      return { changes: [], range: EditorSelection.cursor(head === last.from ? last.to : last.from) }
    // The marks of bold and italic words are one run, which closes either of them first.
    if (/^\*+$/.test(state.sliceDoc(head, last.to)))
      return { changes: [], range: EditorSelection.cursor(Math.min(head + mark.length, last.to)) }
  }
  return stepFromSpace(state, head, kind)
}

/** Moves the space before a closing mark behind it. A mark after a space does not close. */
function stepFromSpace(state: EditorState, head: number, kind: Kind): Changed | undefined {
  const { mark } = kinds[kind]
  const line = state.doc.lineAt(head)
  const before = state.sliceDoc(line.from, head)
  const space = /\S([ \t]+)$/.exec(before)?.[1] ?? ''
  const runs = before.match(/\*+|`/g) ?? []
  const opened = runs.filter((run) => (mark === '`' ? run === mark : run !== '`' && (run === mark || run === '***')))
  if (space === '' || opened.length % 2 === 0 || marksAfter(state, head, mark) < mark.length) return undefined
  const end = head + mark.length
  return {
    changes: [
      { from: head - space.length, to: head },
      { from: end, insert: space },
    ],
    range: EditorSelection.cursor(end),
  }
}

/** Removes the marks around the selection; undefined if there are none. */
function removal(state: EditorState, range: SelectionRange, kind: Kind): Changed | undefined {
  const { mark, name } = kinds[kind]
  for (const node of nodesAround(state, range)) {
    const { firstChild: first, lastChild: last } = node
    if (node.name === name && first && last && first.from < last.from) return without(state, range, [first, last])
  }
  const [before, after] = [marksBefore(state, range.from, mark), marksAfter(state, range.to, mark)]
  const isAround = mark === '*' ? before % 2 === 1 && after % 2 === 1 : before >= mark.length && after >= mark.length
  if (!range.empty || !isAround) return undefined
  const { from } = range
  return without(state, range, [
    { from: from - mark.length, to: from },
    { from, to: from + mark.length },
  ])
}

function without(
  state: EditorState,
  range: SelectionRange,
  removed: readonly { readonly from: number; readonly to: number }[],
): Changed {
  const changes = removed.map(({ from, to }) => ({ from, to }))
  return { changes, range: range.map(state.changes(changes)) }
}

function marksBefore(state: EditorState, at: number, mark: string): number {
  const text = state.sliceDoc(state.doc.lineAt(at).from, at)
  const [sign = ''] = mark
  return text.length - text.replace(new RegExp(`[${sign}]+$`), '').length
}

function marksAfter(state: EditorState, at: number, mark: string): number {
  const [sign = ''] = mark
  return new RegExp(`^[${sign}]*`).exec(state.sliceDoc(at, state.doc.lineAt(at).to))?.[0].length ?? 0
}

/** Marks the word at the cursor, or sets the cursor between two new marks. */
function atCursor(state: EditorState, range: SelectionRange, kind: Kind): Changed {
  const word = state.wordAt(range.head)
  const isWithin = word && word.from < range.head && range.head < word.to
  if (isWithin) return marked(state, range, [[word.from, word.to]], kind)
  const { mark } = kinds[kind]
  const cursor = EditorSelection.cursor(range.from + mark.length)
  return { changes: [{ from: range.from, insert: mark + mark }], range: cursor }
}

/** Marks each line of the selection, because marks do not reach over paragraphs. */
function around(state: EditorState, range: SelectionRange, kind: Kind): Changed {
  const pieces: [number, number][] = []
  for (let at = range.from; at <= range.to; ) {
    const line = state.doc.lineAt(at)
    const from = Math.max(range.from, line.from + lineMarks(line.text).length)
    const text = state.sliceDoc(from, Math.max(from, Math.min(range.to, line.to)))
    const start = from + text.length - text.trimStart().length
    if (text.trim() !== '') pieces.push([start, start + text.trim().length])
    at = line.to + 1
  }
  return marked(state, range, pieces, kind)
}

function marked(
  state: EditorState,
  range: SelectionRange,
  pieces: readonly (readonly [number, number])[],
  kind: Kind,
): Changed {
  const changes = pieces.flatMap(([from, to]) => {
    const [opening, closing] = marksFor(state.sliceDoc(from, to), kind)
    return [
      { from, insert: opening },
      { from: to, insert: closing },
    ]
  })
  const set = state.changes(changes)
  const first = pieces[0]?.[0] ?? range.from
  const last = pieces.at(-1)?.[1] ?? range.to
  // The marked text stays selected, without its marks.
  const next = range.empty
    ? EditorSelection.cursor(set.mapPos(range.head, 1))
    : EditorSelection.range(set.mapPos(first, 1), set.mapPos(last, -1))
  return { changes, range: next }
}

/** Returns the opening and the closing mark. Code that contains backticks needs more of them. */
function marksFor(text: string, kind: Kind): readonly [string, string] {
  const { mark } = kinds[kind]
  if (kind !== 'code' || !text.includes('`')) return [mark, mark]
  const runs = new Set((text.match(/`+/g) ?? []).map(({ length }) => length))
  let count = 1
  while (runs.has(count)) count++
  const fence = '`'.repeat(count)
  return [`${fence} `, ` ${fence}`]
}

const url = /^(https?:\/\/|mailto:)[^\s<>()[\]\\"]{1,2000}$/i

/** Makes a link of the selection, or removes the link around it. */
export const toggleLink: StateCommand = ({ state, dispatch }) => {
  if (state.readOnly) return false
  const { main } = state.selection
  for (const node of nodesAround(state, main)) {
    const words = node.name === 'Link' ? linkWords(node) : undefined
    if (!words) continue
    const changes = [
      { from: node.from, to: words.from },
      { from: words.to, to: node.to },
    ]
    dispatch(state.update({ changes, userEvent: 'delete' }))
    return true
  }
  const text = state.sliceDoc(main.from, main.to)
  const isUrl = url.test(text)
  const insert = isUrl ? `[](${text})` : `[${text}]()`
  const anchor = main.from + (isUrl || text === '' ? 1 : insert.length - 1)
  const changes = { from: main.from, to: main.to, insert }
  dispatch(state.update({ changes, selection: { anchor }, scrollIntoView: true, userEvent: 'input' }))
  return true
}

/** Returns the range of the words of `[words](url)`. */
function linkWords(link: Node): { readonly from: number; readonly to: number } | undefined {
  const [opening, closing] = link.getChildren('LinkMark')
  return opening && closing ? { from: opening.to, to: closing.from } : undefined
}

/** Returns a link for a URL that is pasted over words. Undefined for other text. */
export function pastedLink(words: string, pasted: string): string | undefined {
  const target = pasted.trim()
  if (words === '' || /[\n[\]]/.test(words) || url.test(words) || !url.test(target)) return undefined
  return `[${words}](${target})`
}
