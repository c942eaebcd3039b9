/** The toolbar and the keys of the editor. Loaded after it. */

import { type Extension, Prec } from '@codemirror/state'
import { type Command, EditorView, keymap } from '@codemirror/view'
import { insertBlock, toggleLines } from './block-commands.ts'
import { roomBetween } from './editor-room.ts'
import { continueMarks, deleteMarks, indentItems, outdentItems } from './list-commands.ts'
import { kindsAt, pastedLink, toggleBold, toggleCode, toggleItalic, toggleLink } from './mark-commands.ts'
import { nextCell, nextRow, previousCell } from './table-commands.ts'

const commands: Readonly<Record<string, Command>> = {
  heading: toggleLines('heading'),
  bold: toggleBold,
  italic: toggleItalic,
  link: toggleLink,
  list: toggleLines('list'),
  tasks: toggleLines('tasks'),
  quote: toggleLines('quote'),
  code: (view) => (isForBlock(view) ? insertBlock('code') : toggleCode)(view),
  table: insertBlock('table'),
}

/** True if code needs a block. The selection has several lines, or the line is blank. */
function isForBlock({ state }: EditorView): boolean {
  const { from, to } = state.selection.main
  const line = state.doc.lineAt(from)
  return to > line.to || line.text.trim() === ''
}

export function editorKeys(): Extension {
  const own = (key: string, run: Command) => ({ key, run, preventDefault: true, stopPropagation: true })
  return [
    Prec.high(
      keymap.of([
        { key: 'Enter', run: nextRow },
        { key: 'Tab', run: nextCell, shift: previousCell },
        { key: 'Enter', run: continueMarks },
        { key: 'Backspace', run: deleteMarks },
        { key: 'Tab', run: indentItems, shift: outdentItems },
        own('Mod-b', toggleBold),
        own('Mod-i', toggleItalic),
        own('Mod-k', toggleLink),
        own('Mod-e', toggleCode),
        own('Mod-f', find),
      ]),
    ),
    EditorView.domEventHandlers({ paste: (event, view) => pasteLink(event, view) }),
  ]
}

/** Opens the search in the text. The browser's own finds only the lines that are drawn. */
const find: Command = (view) => {
  void import('./editor-search.ts').then(({ openSearch }) => openSearch(view))
  return true
}

/** Links the selected words to a URL in the clipboard. */
function pasteLink(event: ClipboardEvent, view: EditorView): boolean {
  const { from, to } = view.state.selection.main
  const insert = pastedLink(view.state.sliceDoc(from, to), event.clipboardData?.getData('text/plain') ?? '')
  if (insert === undefined || (event.clipboardData?.files.length ?? 0) > 0) return false
  event.preventDefault()
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    userEvent: 'input.paste',
  })
  return true
}

/** Shows the toolbar. Arrow keys move in it, and its buttons show the marks of the selection. */
export function openToolbar(toolbar: HTMLElement, view: EditorView, chooseFiles: () => void): Extension {
  const buttons = [...toolbar.querySelectorAll('button')]
  const focus = (at: number) => {
    for (const [index, button] of buttons.entries()) button.tabIndex = index === at ? 0 : -1
  }
  for (const button of buttons) {
    // The text keeps the focus, and the keyboard of a phone stays open.
    button.addEventListener('pointerdown', (event) => event.preventDefault())
    button.addEventListener('mousedown', (event) => event.preventDefault())
    button.addEventListener('click', ({ detail }) => {
      const run = commands[button.dataset.do ?? '']
      if (!run) chooseFiles()
      else {
        run(view)
        // A click by the keyboard leaves the focus in the toolbar.
        if (detail > 0) view.focus()
      }
    })
  }
  toolbar.addEventListener('keydown', (event) => {
    const now = buttons.indexOf(document.activeElement as HTMLButtonElement)
    const last = buttons.length - 1
    const next = { ArrowRight: (now + 1) % buttons.length, ArrowLeft: now <= 0 ? last : now - 1, Home: 0, End: last }[
      event.key
    ]
    if (next === undefined) return
    event.preventDefault()
    focus(next)
    buttons[next]?.focus()
  })
  focus(0)
  toolbar.hidden = false
  const show = EditorView.updateListener.of(({ state, docChanged, selectionSet }) => {
    if (docChanged || selectionSet) showKinds(buttons, kindsAt(state))
  })
  return [show, roomBetween(toolbar)]
}

function showKinds(buttons: readonly HTMLButtonElement[], kinds: ReadonlySet<string>): void {
  for (const button of buttons)
    if (button.ariaPressed !== null) button.ariaPressed = String(kinds.has(button.dataset.do ?? ''))
}
