/**
 * CodeMirror instead of a plain field. It is in a shadow root, which adopts its style sheets. The content security policy
 * allows that.
 */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeCompletion,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { isLinkable, typedLink } from '../../markdown/wikilinks.ts'
import { markdownLook } from './markdown-look.ts'

type Suggest = (words: string) => Promise<readonly { readonly node_id: string; readonly title: string }[]>

interface Options {
  readonly field: HTMLTextAreaElement
  readonly suggest: Suggest
  /** The id of the edited node, which is not suggested as a link. */
  readonly self: string
  onChange(): void
  onFiles(files: readonly File[]): void
}

export interface TextField {
  text(): string
  /** Replaces the whole text; the user can undo it. */
  setText(text: string): void
  /** Inserts at the cursor. */
  insert(text: string): void
  focus(): void
}

export function textField({ field, suggest, self, onChange, onFiles }: Options): TextField {
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
        EditorView.contentAttributes.of({ 'aria-label': 'Text', spellcheck: 'true', autocapitalize: 'sentences' }),
        markdownLook(),
        completeLinks(suggest, self),
        // Without a binding for Tab, it leaves the field, as in other fields.
        keymap.of([...defaultKeymap, ...historyKeymap]),
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

/** Completes `[[` with titles of the organisation. */
function completeLinks(suggest: Suggest, self: string): Extension {
  const source = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.matchBefore(typedLink)
    const words = before?.text.slice(2) ?? ''
    if (!before || words.trim() === '') return null
    const found = await suggest(words).catch(() => [])
    if (context.aborted) return null
    const titles = found.filter(({ node_id, title }) => node_id !== self && isLinkable(title))
    const options = titles.map(({ title }): Completion => ({ label: title, type: 'text', apply: close }))
    return { from: before.from + 2, options, filter: false }
  }
  return autocompletion({ override: [source], icons: false, interactionDelay: 0 })
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
