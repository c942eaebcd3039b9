/**
 * Footnotes: `[^1]` with `[^1]: …` in its own paragraph, and `^[…]` in the line.
 *
 * markdown-it-footnote reads them. Its rules run with limits, because it nests and counts without any.
 */
/// <reference path="./markdown-it-plugins.d.ts" />

import type { Token } from 'markdown-it'
import addPlugin from 'markdown-it-footnote'
import type { Markdown } from '../../markdown/dialect.ts'

type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]
type InlineRule = Parameters<Markdown['inline']['ruler']['after']>[2]

/** Limits of a text: references, and `^[…]` in each other. More stay text. */
const most = { references: 500, nested: 3 } as const
/** A reference, or the beginning of a definition. */
const label = /\[\^[^\s\]]{1,100}\]/y

/** State of one text. It is in the environment of markdown-it, next to the plugin's. */
interface Notes {
  /** Distinguishes the texts of one page. Ids begin with it. */
  readonly scope?: string
  /** References so far. */
  noted?: number
  nested?: number
  isDefining?: boolean
}

export function addFootnotes(markdown: Markdown): void {
  const { block, inline } = markdown
  // The plugin gets rulers that wrap its rules.
  const wrapped = Object.assign(Object.create(markdown), {
    block: {
      ruler: {
        before: (place: string, name: string, rule: BlockRule, options: object) =>
          block.ruler.before(place, name, oneDefinition(rule), options),
      },
    },
    inline: {
      ruler: {
        after: (place: string, name: string, rule: InlineRule) => inline.ruler.after(place, name, counted(name, rule)),
      },
    },
  })
  addPlugin(wrapped)
  addRules(markdown)
}

/** A definition within a definition would leave tags open. It is text instead. */
function oneDefinition(rule: BlockRule): BlockRule {
  return (state, startLine, endLine, silent) => {
    const notes = notesOf(state.env)
    label.lastIndex = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
    // Silent means that the line would end a paragraph.
    if (!label.test(state.src) || (notes.isDefining && !silent)) return false
    if (silent) return rule(state, startLine, endLine, silent)
    notes.isDefining = true
    try {
      return rule(state, startLine, endLine, silent)
    } finally {
      notes.isDefining = false
    }
  }
}

function counted(name: string, rule: InlineRule): InlineRule {
  return (state, silent) => {
    const notes = notesOf(state.env)
    const { noted = 0, nested = 0 } = notes
    label.lastIndex = state.pos
    const mayFollow = name === 'footnote_inline' ? state.src.startsWith('^[', state.pos) : label.test(state.src)
    if (!mayFollow || noted >= most.references || nested >= most.nested) return false
    notes.nested = nested + 1
    const isFound = rule(state, silent)
    notes.nested = nested
    if (isFound && !silent) notes.noted = (notes.noted ?? 0) + 1
    return isFound
  }
}

function addRules({ renderer: { rules } }: Markdown): void {
  rules.footnote_ref = (tokens, index, _options, env) => {
    const { number, id } = placeOf(tokens[index], env)
    const name = `href="#fn:${number.id}" id="fnref:${id}" role="doc-noteref" aria-label="Footnote ${number.shown}"`
    return `<sup class="footnote"><a ${name}>${number.shown}</a></sup>`
  }
  rules.footnote_block_open = () => '<section class="footnotes" role="doc-endnotes" aria-label="Footnotes">\n<ol>\n'
  rules.footnote_block_close = () => '</ol>\n</section>\n'
  rules.footnote_open = (tokens, index, _options, env) => `<li id="fn:${placeOf(tokens[index], env).number.id}">`
  rules.footnote_close = () => '</li>\n'
  rules.footnote_anchor = (tokens, index, _options, env) => {
    const { number, id, nth } = placeOf(tokens[index], env)
    const to = nth === 0 ? `${number.shown}` : `${number.shown}, place ${nth + 1}`
    return ` <a class="footnote-back" href="#fnref:${id}" role="doc-backlink" aria-label="Back to reference ${to}">\u21a9\ufe0e</a>`
  }
}

/** Returns the number of a footnote, and the id of one of its references. */
function placeOf(token: Token | undefined, env: unknown) {
  const { scope } = notesOf(env)
  const shown = Number(token?.meta?.id ?? 0) + 1
  const nth = Number(token?.meta?.subId ?? 0)
  const number = { shown, id: scope === undefined ? `${shown}` : `${scope}:${shown}` }
  return { number, nth, id: nth === 0 ? number.id : `${number.id}:${nth + 1}` }
}

function notesOf(env: unknown): Notes {
  return env as Notes
}
