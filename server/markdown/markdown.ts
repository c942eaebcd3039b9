/**
 * The parser that finds links and their positions, for imports and the operation `links`.
 *
 * markdown-it reads 8 MB/s here, and mdast-util-from-markdown with gfm 0.3 MB/s.
 */
import type { Token } from 'markdown-it'
import { newMarkdown } from './dialect.ts'
import { nextOf } from './next-of.ts'

/** Deeper links are not found. The limit bounds time, because each line is tried at each level. */
const maxNesting = 40

/**
 * The parser. Raw HTML becomes tokens, and rules that take time and do not concern links are off.
 *
 * The rule `inline` is also off, because `inlineTokens` reads inline tokens, one block at a time.
 */
export const markdown = newMarkdown({
  html: true,
  maxNesting,
  kindOf: ({ inner, length }, text, at) =>
    inner.includes(footnoteBracket) ? 'other' : isTomlTable(text, at, length) ? 'text' : 'link',
}).disable(['linkify', 'replacements', 'smartquotes', 'text_join', 'inline'])

// Finds URLs that begin with a scheme. The core rule of the same name, which searches whole texts for `www.`, stays
// off.
markdown.inline.ruler.enable('linkify')

/** Sets `map` of an inline token to the parser's position when it created the token. */
markdown.inline.State = class extends markdown.inline.State {
  override push(type: string, tag: string, nesting: -1 | 0 | 1): Token {
    const token = super.push(type, tag, nesting)
    token.map = [this.pos, this.pos]
    return token
  }
}

/** The parser's environment of a document: its references. */
export type Env = Record<string, unknown>

/** Returns the tokens of inline content. It is a block's, or a piece of text with its document's `env`. */
export function inlineTokens(content: string, env: Env): Token[] {
  const tokens: Token[] = []
  markdown.inline.parse(content, markdown, env, tokens)
  return tokens
}

/** Replaces `[` before `^`, so that footnotes and their definitions are not read as links. The length stays. */
const footnoteBracket = '\ufdd0'

/** Restores the brackets of a token's text. */
export function withBrackets(text: string): string {
  return text.replaceAll(footnoteBracket, '[')
}

/** Returns the source as the parser reads it, unit by unit, except line ends. */
export function asRead(source: string): string {
  return source.replaceAll('\0', '\ufffd').replaceAll(footnoteBracket, '\ufffd')
}

markdown.core.ruler.after('normalize', 'footnotes', (state) => {
  state.src = asRead(state.src).replace(/(?<!\\)\[(?=\^)/g, footnoteBracket)
})

/** The line, from 0, that defines each reference label. Keyed by the `env` of a document. */
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

/** True if it has its own line, and a key with a value follows. Example: `[[menus.main]]`, `name = 'x'`. */
function isTomlTable(text: string, at: number, length: number): boolean {
  if (at > 0 && text[at - 1] !== '\n') return false
  tomlKey.lastIndex = at + length
  return tomlKey.test(text)
}

const tomlKey = /[ \t]*\n[ \t]*[\w.-]{1,100}[ \t]*=/y

// Hugo's shortcodes, `{{< ref "x" >}}` and `{{% note %}}`, and Obsidian's comments, `%% … %%`, do not contain links.
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

/** Links that Hugo resolves: `{{< ref "page" >}}` and `{{< relref "page" >}}`. */
const hugoReference = /^\{\{[<%]\s*(?:rel)?ref\s+["'`]?([^\s"'`>%]{1,1000})/

const closings: Readonly<Record<string, string>> = { '{{<': '>}}', '{{%': '%}}' }

// A comment of Obsidian over several blocks: from a line that begins with `%%` to the next line that contains `%%`.
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
