/**
 * The Markdown parser, with Obsidian's `[[wikilinks]]` as tokens of their own: `content` is what stands in them,
 * `markup` '!' where they embed. markdown-it reads 8 MB/s here; mdast-util-from-markdown with gfm 0.3.
 */
import MarkdownIt, { type Token } from 'markdown-it'

/** Levels of quotes and lists, of which an item has two: what is deeper is no link. Each line is tried at each level. */
const maxNesting = 40

/**
 * Raw HTML is passed through as tokens; rules that take time and do not concern links are off. The rule `inline` is off too:
 * inline tokens are read by `inlineTokens`, one block at a time.
 */
export const markdown = new MarkdownIt({ html: true, linkify: true, maxNesting }).disable([
  'linkify',
  'replacements',
  'smartquotes',
  'text_join',
  'inline',
])

// Addresses that begin with a scheme; the rule of the same name that looks for `www.` in whole texts stays off.
markdown.inline.ruler.enable('linkify')
markdown.normalizeLink = (url) => url
markdown.normalizeLinkText = (url) => url

/** `map` of an inline token is where the parser stood in the inline content when it made the token. */
markdown.inline.State = class extends markdown.inline.State {
  override push(type: string, tag: string, nesting: -1 | 0 | 1): Token {
    const token = super.push(type, tag, nesting)
    token.map = [this.pos, this.pos]
    return token
  }
}

type InlineState = InstanceType<typeof markdown.inline.State>

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

markdown.inline.ruler.before('link', 'wikilink', (state, silent) => {
  wikilink.lastIndex = state.pos
  const [whole, markup = '', content] = wikilink.exec(state.src) ?? []
  if (whole === undefined || content === undefined || state.pos + whole.length > state.posMax) return false
  // `[[1]]` where [1] is defined is a reference in brackets.
  if (state.env.references?.[markdown.utils.normalizeReference(content)]) return false
  if (!silent && !isTomlTable(state.src, state.pos, whole.length)) {
    Object.assign(state.push('wikilink', '', 0), { content, markup })
  } else if (!silent) state.pending += whole
  state.pos += whole.length
  return true
})

/** Not `[[1]](url)`: a link whose text is in brackets. */
const wikilink = new RegExp(`(!?)\\[\\[([^[\\]\\r\\n${footnoteBracket}]{1,1000})\\]\\](?!\\()`, 'y')

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
  const end = nextOf(state, closing, state.pos + length)
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

/** The last search for each closing mark of a state: from where, and what it found. */
const searches = new WeakMap<InlineState, Map<string, { from: number; found: number }>>()

/** As `indexOf`; a place that is known is not searched for again, so that many openings take linear time. */
function nextOf(state: InlineState, mark: string, from: number): number {
  const known = searches.get(state) ?? new Map<string, { from: number; found: number }>()
  searches.set(state, known)
  const last = known.get(mark)
  if (last && last.from <= from && (last.found < 0 || last.found >= from)) return last.found
  const found = state.src.indexOf(mark, from)
  known.set(mark, { from, found })
  return found
}

/** A comment of Obsidian over several blocks: from a line that begins with `%%` to the next line that has it. */
markdown.block.ruler.before(
  'fence',
  'comment',
  (state, startLine, endLine, silent) => {
    const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
    const end = state.eMarks[startLine] ?? 0
    if (!state.src.startsWith('%%', start) || state.src.slice(start + 2, end).includes('%%')) return false
    const closing = nextComment(state, end)
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

type BlockState = InstanceType<typeof markdown.block.State>

const comments = new WeakMap<object, { from: number; found: number }>()

/** As nextOf, of a document. */
function nextComment({ src, env }: BlockState, from: number): number {
  const last = comments.get(env)
  if (last && last.from <= from && (last.found < 0 || last.found >= from)) return last.found
  const found = src.indexOf('%%', from)
  comments.set(env, { from, found })
  return found
}
