/** What `[[` is completed to: titles of the organisation. */

import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete'
import type { Extension } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'

export type Suggest = (words: string) => Promise<readonly { readonly node_id: string; readonly title: string }[]>

/** Characters of a title that are typed. */
const begun = /\[\[([^[\]|#\r\n]{0,200})$/

export function completeLinks(suggest: Suggest, self: string): Extension {
  const source = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const before = context.matchBefore(begun)
    const words = before?.text.slice(2) ?? ''
    if (!before || words.trim() === '') return null
    const found = await suggest(words).catch(() => [])
    if (context.aborted) return null
    // Others cannot stand in a link.
    const titles = found.filter(({ node_id, title }) => node_id !== self && !/[[\]|#]/.test(title))
    const options = titles.map(({ title }): Completion => ({ label: title, type: 'text', apply: close }))
    return { from: before.from + 2, options, filter: false }
  }
  return autocompletion({ override: [source], icons: false, interactionDelay: 0 })
}

/** The title with its brackets, of which some may be there. */
function close(view: EditorView, { label }: Completion, from: number, to: number): void {
  const closing = /^\]{0,2}/.exec(view.state.sliceDoc(to, to + 2))?.[0].length ?? 0
  const insert = `${label}]]`
  view.dispatch({
    changes: { from, to: to + closing, insert },
    selection: { anchor: from + insert.length },
    userEvent: 'input.complete',
  })
}
