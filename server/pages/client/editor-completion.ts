/** The lists of the editor: pages after `[[`, and blocks after `/`. Loaded after the editor. */

import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeCompletion,
  completionStatus,
  startCompletion,
} from '@codemirror/autocomplete'
import { type Extension, Prec } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { folded } from '../../markdown/note-names.ts'
import { isLinkable, typedLink } from '../../markdown/wikilinks.ts'
import { insertBlock, toggleLines } from './block-commands.ts'
import { isInCode } from './list-commands.ts'

interface Titled {
  readonly id: string
  readonly title: string
}

export interface CompletionOptions {
  /** Finds pages whose titles have words that begin like these. */
  suggest(words: string): Promise<readonly Titled[]>
  /** Returns the pages that were changed last. */
  recent(): Promise<readonly Titled[]>
  /** The id of the edited page, which is not suggested as a link. */
  readonly self: string
  chooseFiles(): void
}

/** Milliseconds for which Tab leaves the text after Escape. Another key ends them. */
const leavingMs = 600_000

export function completion(options: CompletionOptions): Extension {
  return [
    Prec.highest(keymap.of([{ key: 'Escape', run: leaveByTab }])),
    autocompletion({ override: [pages(options), blocks(options)], icons: false, interactionDelay: 0 }),
    Prec.highest(keymap.of([{ key: 'Tab', run: acceptCompletion }])),
    EditorView.domEventHandlers({ blur: (_, view) => void closeCompletion(view) }),
  ]
}

/** Lets the next Tab leave the text, if no list is open. A list that waits for its pages does not open any more. */
function leaveByTab(view: EditorView): boolean {
  if (completionStatus(view.state) === 'active') return false
  closeCompletion(view)
  view.setTabFocusMode(leavingMs)
  return true
}

/** Opens the list for text that was typed before this script was there. */
export function completeTyped(view: EditorView): void {
  const { from } = view.state.selection.main
  if (typedLink.test(view.state.doc.lineAt(from).text.slice(0, from - view.state.doc.lineAt(from).from)))
    startCompletion(view)
}

function pages({ suggest, recent, self }: CompletionOptions) {
  let changed: Promise<readonly Titled[]> | undefined
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.matchBefore(typedLink)
    if (!before) return null
    const words = before.text.slice(2)
    changed ??= recent().catch(() => [])
    const found = await (words.trim() === '' ? changed : suggest(words).catch(() => []))
    if (context.aborted) return null
    const titles = found.filter(({ id, title }) => id !== self && isLinkable(title))
    const options = titles.map(({ title }): Completion => ({ label: title, type: 'text', apply: close }))
    return { from: before.from + 2, options: [...options, ...toMake(words.trim(), found)], filter: false }
  }
}

/** Offers a link to a page that does not exist yet. The reader of the link can create it. */
function toMake(name: string, found: readonly Titled[]): Completion[] {
  if (name === '' || !isLinkable(name) || found.some(({ title }) => folded(title) === folded(name))) return []
  const apply = (view: EditorView, _: Completion, from: number, to: number) => close(view, { label: name }, from, to)
  return [{ label: `Make “${name}”`, detail: ' a link to a new page', type: 'text', apply }]
}

/** Inserts the title and the closing brackets that are missing. */
function close(view: EditorView, { label }: Completion, from: number, to: number): void {
  const closing = /^\]{0,2}/.exec(view.state.sliceDoc(to, to + 2))?.[0].length ?? 0
  const insert = `${label}]]`
  view.dispatch({
    changes: { from, to: to + closing, insert },
    selection: { anchor: from + insert.length },
    userEvent: 'input.complete',
  })
}

/** Matches `/` and the letters that filter the list. It begins a line or follows a space. */
const typedSlash = /(?:^|\s)\/\p{L}{0,20}$/u

function blocks({ chooseFiles }: CompletionOptions) {
  const commands: readonly (readonly [label: string, detail: string, run: (view: EditorView) => unknown])[] = [
    ['Heading', '##', toggleLines('heading')],
    ['List', '-', toggleLines('list')],
    ['Numbered list', '1.', toggleLines('numbers')],
    ['Tasks', '- [ ]', toggleLines('tasks')],
    ['Table', '| |', insertBlock('table')],
    ['Callout', '> [!note]', insertBlock('callout')],
    ['Quote', '>', toggleLines('quote')],
    ['Code', '```', insertBlock('code')],
    ['Math', '$$', insertBlock('math')],
    ['Picture or file', '', chooseFiles],
    ['Link to a page', '[[', beginLink],
  ]
  const options = commands.map(
    ([label, detail, run], at): Completion => ({
      // The space separates the two in the accessible name.
      ...{ label, detail: ` ${detail}`, type: 'text', boost: -at },
      apply: (view, _, from, to) => {
        view.dispatch({ changes: { from: from - 1, to }, userEvent: 'delete' })
        run(view)
      },
    }),
  )
  return (context: CompletionContext): CompletionResult | null => {
    const before = context.matchBefore(typedSlash)
    if (!before || isInCode(context.state, context.pos)) return null
    return { from: before.from + before.text.indexOf('/') + 1, options, validFor: /^\p{L}{0,20}$/u }
  }
}

function beginLink(view: EditorView): void {
  view.dispatch({ ...view.state.replaceSelection('[['), userEvent: 'input.type' })
  startCompletion(view)
}
