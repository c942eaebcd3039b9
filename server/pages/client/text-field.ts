/**
 * CodeMirror instead of a plain field. It is in a shadow root, which adopts its style sheets. The content security policy
 * allows that.
 */

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { EditorState, type Extension, StateEffect } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { markdownLook } from './markdown-look.ts'

interface Options {
  readonly field: HTMLTextAreaElement
  onChange(): void
  onFiles(files: readonly File[]): void
}

export interface TextField {
  readonly view: EditorView
  text(): string
  /** Replaces the whole text; the user can undo it. */
  setText(text: string): void
  /** Inserts at the cursor. */
  insert(text: string): void
  /** Removes each place of a string. */
  remove(text: string): void
  focus(): void
  /** Adds what is loaded later. */
  extend(extension: Extension): void
}

export function textField({ field, onChange, onFiles }: Options): TextField {
  const host = document.createElement('div')
  host.className = 'cm-host'
  const shadow = host.attachShadow({ mode: 'open', delegatesFocus: true })
  const taken = (event: Event, files: FileList | undefined | null) => {
    if (!files || files.length === 0) return false
    event.preventDefault()
    onFiles([...files])
    return true
  }
  const view = new EditorView({
    parent: shadow,
    root: shadow,
    state: EditorState.create({
      doc: field.value,
      extensions: [
        history(),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({
          ...{ 'aria-label': 'Text', spellcheck: 'true', autocapitalize: 'sentences' },
          'aria-description':
            'Tab indents an item of a list, or goes to the next cell of a table. To leave the text, press Escape, then Tab.',
        }),
        markdownLook(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged) onChange()
        }),
        EditorView.domEventHandlers({
          paste: (event) => taken(event, event.clipboardData?.files),
          drop: (event) => taken(event, event.dataTransfer?.files),
        }),
      ],
    }),
  })
  field.before(host)
  field.hidden = true
  document.querySelector(`label[for="${field.id}"]`)?.addEventListener('click', () => view.focus())
  return {
    view,
    text: () => view.state.doc.toString(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    insert: (text) => view.dispatch(view.state.replaceSelection(text), { scrollIntoView: true }),
    remove: (text) => view.dispatch({ changes: placesOf(view.state.doc.toString(), text) }),
    focus: () => view.focus(),
    extend: (extension) => view.dispatch({ effects: StateEffect.appendConfig.of(extension) }),
  }
}

function placesOf(text: string, part: string): { from: number; to: number }[] {
  const places = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length))
    places.push({ from: at, to: at + part.length })
  return places
}
