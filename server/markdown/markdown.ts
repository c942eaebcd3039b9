/**
 * The parser of imports and of the operation `links`: it finds links and where they stand. markdown-it reads 8 MB/s here;
 * mdast-util-from-markdown with gfm 0.3.
 */
import type { Token } from 'markdown-it'
import { newMarkdown, nextOf } from './dialect.ts'

/** Links that are deeper are not found: each line is tried at each level. */
const maxNesting = 40

/**
 * Raw HTML is passed through as tokens; rules that take time and do not concern links are off. The rule `inline` is off too:
 * inline tokens are read by `inlineTokens`, one block at a time.
 */
export const markdown = newMarkdown({
  html: true,
  maxNesting,
  kindOf: ({ inner, length }, text, at) =>
    inner.includes(footnoteBracket) ? 'other' : isTomlTable(text, at, length) ? 'text' : 'link',
}).disable(['linkify', 'replacements', 'smartquotes', 'text_join', 'inline'])

// Addresses that begin with a scheme; the rule of the same name that looks for `www.` in whole texts stays off.
markdown.inline.ruler.enable('linkify')

/** `map` of an inline token is where the parser stood in the inline content when it made the token. */
markdown.inline.State = class extends markdown.inline.State {
  override push(type: string, tag: string, nesting: -1 | 0 | 1): Token {
    const token = super.push(type, tag, nesting)
    token.map = [this.pos, this.pos]
    return token
  }
}

/** What is known of a document: its references. */
export type Env = Record<string, unknown>

/** The tokens of inline content: of the token of a block, or of a piece of text with the `env` of its document. */
export function inlineTokens(content: string, env: Env): Token[] {
  const tokens: Token[] = []
  markdown.inline.parse(content, markdown, env, tokens)
  return tokens
}

/** Stands for `[` before `^`, so that a footnote is no link and its definition no definition of one; the length stays. */
const footnoteBracket = '\ufdd0'

/** A text of a token, as its source has it. */
export function withBrackets(text: string): string {
  return text.replaceAll(footnoteBracket, '[')
}

/** A source as the parser reads it, unit by unit, but for the ends of lines. */
export function asRead(source: string): string {
  return source.replaceAll('\0', '\ufffd').replaceAll(footnoteBracket, '\ufffd')
}

markdown.core.ruler.after('normalize', 'footnotes', (state) => {
  state.src = asRead(state.src).replace(/(?<!\\)\[(?=\^)/g, footnoteBracket)
})

/** Where each label of a reference is defined: the line, from 0. By the `env` of a document. */
export const definitionLines = new WeakMap<object, Map<string, number>>()

markdown.core.ruler.before('strip_references', 'definition_lines', (state) => {
  const lines = new Map<string, number>()
  for (const { type, meta, map } of state.tokens) {
    if (type !== 'reference_definition' || !map) continue
    const label = String(meta?.label)
    if (!lines.has(label)) lines.set(label, map[0])
  }
  definitionLines.set(state.env, lines)
})

/** Whether it stands alone on its line and a key with a value follows: `[[menus.main]]`, `name = 'x'`. */
function isTomlTable(text: string, at: number, length: number): boolean {
  if (at > 0 && text[at - 1] !== '\n') return false
  tomlKey.lastIndex = at + length
  return tomlKey.test(text)
}

const tomlKey = /[ \t]*\n[ \t]*[\w.-]{1,100}[ \t]*=/y

/** Hugo's shortcodes, `{{< ref "x" >}}` and `{{% note %}}`, and Obsidian's comments, `%% … %%`: what they hold is no link. */
markdown.inline.ruler.before('wikilink', 'not_markdown', (state, silent) => {
  const opening = state.src.slice(state.pos, state.pos + 3)
  const closing = closings[opening] ?? (opening.startsWith('%%') ? '%%' : undefined)
  if (closing === undefined) return false
  const length = closing === '%%' ? 2 : 3
  const end = nextOf(state, state.src, closing, state.pos + length)
  if (end < 0 || end + closing.length > state.posMax) return false
  if (!silent) {
    const source = state.src.slice(state.pos, end + closing.length)
    state.pending += source
    const [, target] = hugoReference.exec(source) ?? []
    if (target !== undefined) Object.assign(state.push('hugo_reference', '', 0), { meta: { target } })
  }
  state.pos = end + closing.length
  return true
})

/** `{{< ref "page" >}}` and `{{< relref "page" >}}`: links that Hugo resolves. */
const hugoReference = /^\{\{[<%]\s*(?:rel)?ref\s+["'`]?([^\s"'`>%]{1,1000})/

const closings: Readonly<Record<string, string>> = { '{{<': '>}}', '{{%': '%}}' }

/** A comment of Obsidian over several blocks: from a line that begins with `%%` to the next line that has it. */
markdown.block.ruler.before(
  'fence',
  'comment',
  (state, startLine, endLine, silent) => {
    const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
    const end = state.eMarks[startLine] ?? 0
    if (!state.src.startsWith('%%', start) || state.src.slice(start + 2, end).includes('%%')) return false
    const closing = nextOf(state.env, state.src, '%%', end)
    if (closing < 0) return false
    let line = startLine + 1
    const isBefore = () => line < endLine && (state.eMarks[line] ?? 0) < closing
    while (isBefore() && (state.isEmpty(line) || (state.sCount[line] ?? 0) >= state.blkIndent)) line++
    if (line >= endLine || isBefore()) return false
    if (!silent) state.line = line + 1
    return true
  },
  { alt: ['paragraph', 'reference', 'blockquote', 'list'] },
)
