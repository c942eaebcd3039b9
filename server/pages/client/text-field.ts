/** CodeMirror in place of a plain field. It lives in a shadow root, whose style sheets the policy of pages lets it adopt. */

import { closeCompletion } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { completeLinks, type Suggest } from './completion.ts'
import { markdownLook } from './markdown-look.ts'

interface Options {
  readonly field: HTMLTextAreaElement
  readonly suggest: Suggest
  /** The node, which no link of its own leads to. */
  readonly self: string
  onChange(): void
  onFiles(files: readonly File[]): void
  onSave(): void
}

export interface TextField {
  text(): string
  /** In place of all; it can be undone. */
  setText(text: string): void
  /** Where the cursor is. */
  insert(text: string): void
  focus(): void
}

export function textField({ field, suggest, self, onChange, onFiles, onSave }: Options): TextField {
  const host = document.createElement('div')
  host.className = 'cm-host'
  const shadow = host.attachShadow({ mode: 'open', delegatesFocus: true })
  const taken = (event: Event, files: FileList | undefined | null) => {
    if (!files || files.length === 0) return false
    event.preventDefault()
    onFiles([...files])
    return true
  }
  const save = () => {
    onSave()
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
        EditorView.contentAttributes.of({ 'aria-label': 'Text', spellcheck: 'true', autocapitalize: 'sentences' }),
        markdownLook(),
        completeLinks(suggest, self),
        // Tab leaves the field, as it does everywhere.
        keymap.of([{ key: 'Mod-s', run: save }, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged) onChange()
        }),
        EditorView.domEventHandlers({
          paste: (event) => taken(event, event.clipboardData?.files),
          drop: (event) => taken(event, event.dataTransfer?.files),
          blur: (_, blurred) => void closeCompletion(blurred),
        }),
      ],
    }),
  })
  field.before(host)
  field.hidden = true
  document.querySelector(`label[for="${field.id}"]`)?.addEventListener('click', () => view.focus())
  return {
    text: () => view.state.doc.toString(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    insert: (text) => view.dispatch(view.state.replaceSelection(text)),
    focus: () => view.focus(),
  }
}
