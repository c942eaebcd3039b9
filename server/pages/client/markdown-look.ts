/** Highlights Markdown in the editor, without the languages of its code blocks. */

import { defineLanguageFacet, HighlightStyle, Language, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { Decoration, EditorView, ViewPlugin } from '@codemirror/view'
import { styleTags, tags } from '@lezer/highlight'
import { type MarkdownConfig, parser, Strikethrough, Table, TaskList } from '@lezer/markdown'

/** Maximum characters of a wiki link. */
const longest = 1_000

const wikilinks: MarkdownConfig = {
  defineNodes: ['WikiLink'],
  parseInline: [
    {
      name: 'WikiLink',
      before: 'Link',
      parse(context, next, at) {
        if (next !== 91 || context.char(at + 1) !== 91) return -1
        const text = context.slice(at + 2, Math.min(context.end, at + longest))
        const end = /^[^[\]\n]+\]\]/.exec(text)
        return end ? context.addElement(context.elt('WikiLink', at, at + 2 + end[0].length)) : -1
      },
    },
  ],
  props: [styleTags({ WikiLink: tags.link })],
}

const markdown = new Language(
  defineLanguageFacet(),
  parser.configure([Strikethrough, Table, TaskList, wikilinks]),
  [],
  'markdown',
)

const style = HighlightStyle.define([
  { tag: tags.heading, fontWeight: '650' },
  { tag: tags.heading1, fontWeight: '650', fontSize: '1.3em' },
  { tag: tags.heading2, fontWeight: '650', fontSize: '1.15em' },
  { tag: tags.strong, fontWeight: '650' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--link)' },
  { tag: tags.monospace, fontFamily: 'var(--mono)', color: 'var(--info-ink)' },
  { tag: tags.quote, color: 'var(--ink2)' },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.comment], color: 'var(--ink3)' },
])

const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'transparent', minHeight: '22rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--serif)', fontSize: '1.09rem', lineHeight: '1.62', minHeight: '22rem' },
  // Fills the box, so that a click below the text sets the cursor.
  '.cm-content': { padding: '0.85rem 0', caretColor: 'var(--accent)', minHeight: '22rem' },
  '.cm-line': { padding: '0 1.1rem' },
  '.cm-tooltip': {
    border: '1px solid var(--line2)',
    borderRadius: 'var(--r)',
    backgroundColor: 'var(--surface)',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  // With little room, the list gets lower and scrolls.
  '.cm-tooltip.cm-tooltip-autocomplete': { display: 'flex', flexDirection: 'column' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--sans)', fontSize: '0.9rem', maxHeight: '19rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.35rem 0.8rem', color: 'var(--ink)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--accent-soft)', color: 'var(--ink)' },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'var(--ink3)', marginLeft: '1rem' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '650' },
})

const autoDirection = Decoration.line({ attributes: { dir: 'auto' } })

/** Gives each line the direction of its text. */
const directions = ViewPlugin.define(
  (view) => ({
    decorations: directionsOf(view),
    update({ docChanged, viewportChanged, view }) {
      if (docChanged || viewportChanged) this.decorations = directionsOf(view)
    },
  }),
  { decorations: ({ decorations }) => decorations },
)

function directionsOf({ state: { doc }, viewport }: EditorView) {
  const lines = []
  for (let at = viewport.from; at <= viewport.to; ) {
    const line = doc.lineAt(at)
    lines.push(autoDirection.range(line.from))
    at = line.to + 1
  }
  return Decoration.set(lines)
}

export function markdownLook(): Extension {
  return [markdown, syntaxHighlighting(style), look, directions, EditorView.perLineTextDirection.of(true)]
}
