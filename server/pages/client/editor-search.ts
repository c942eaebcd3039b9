/** Finding and replacing words in the text of the editor. Loaded when the user presses Ctrl+F. */

import { openSearchPanel, search, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'

const look = EditorView.theme({
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--ink)', border: '0', borderRadius: 'var(--r)' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)', top: '5.9rem !important' },
  '.cm-panel.cm-search': {
    ...{
      display: 'flex',
      flexWrap: 'wrap',
      alignItems: 'center',
      gap: '0.4rem',
      padding: '0.6rem 2.5rem 0.6rem 0.8rem',
    },
    ...{ fontFamily: 'var(--sans)', fontSize: '0.875rem' },
  },
  '.cm-panel.cm-search br': { display: 'block', content: '""', flexBasis: '100%' },
  '.cm-panel.cm-search .cm-textfield': {
    ...{ margin: '0', flex: '1 1 9rem', minWidth: '0', height: '2rem', padding: '0 0.6rem', font: 'inherit' },
    ...{
      border: '1px solid var(--line2)',
      borderRadius: 'var(--r)',
      background: 'var(--surface)',
      color: 'var(--ink)',
    },
  },
  '.cm-panel.cm-search .cm-button': {
    ...{
      margin: '0',
      height: '2rem',
      padding: '0 0.65rem',
      font: 'inherit',
      backgroundImage: 'none',
      cursor: 'pointer',
    },
    ...{
      border: '1px solid var(--line2)',
      borderRadius: 'var(--r)',
      background: 'var(--surface)',
      color: 'var(--ink)',
    },
  },
  '.cm-panel.cm-search label': { display: 'inline-flex', alignItems: 'center', gap: '0.3rem', fontSize: 'inherit' },
  '.cm-panel.cm-search [name=close]': { padding: '0.5rem 0.75rem', fontSize: '1.1rem', color: 'var(--ink)' },
  '.cm-searchMatch': { backgroundColor: 'var(--mark)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--add-word)', outline: '1px solid var(--accent)' },
})

/** Words of the panel, which begins them with lower-case letters. */
const phrases = {
  ...{ next: 'Next', previous: 'Previous', all: 'Select all', 'match case': 'Match case', regexp: 'Pattern' },
  ...{ 'by word': 'Whole words', replace: 'Replace', 'replace all': 'Replace all', close: 'Close' },
}

const extended = new WeakSet<EditorView>()

export function openSearch(view: EditorView): void {
  if (!extended.has(view)) {
    extended.add(view)
    const extension = [search({ top: true }), keymap.of(searchKeymap), look, EditorState.phrases.of(phrases)]
    view.dispatch({ effects: StateEffect.appendConfig.of(extension) })
  }
  openSearchPanel(view)
}
