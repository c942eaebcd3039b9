/** Markdown rules that only pages use. They cover comments, some HTML elements, block ids, task boxes and callouts. */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'
import { nextOf, wasMissing } from '../../markdown/next-of.ts'

type Core = InstanceType<Markdown['core']['State']>
type Inline = InstanceType<Markdown['inline']['State']>

/** HTML elements that are kept: without attributes, around plain text. */
const element = /<(kbd|sub|sup|mark)>([^<>]{0,1000})<\/\1>|<br ?\/?>/iy
const image = /<img\s([^<>]{1,2000})>/iy
const attribute = /(?:^|\s)(src|alt|width)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi
const comments: Readonly<Record<string, string>> = { '%%': '%%', '<!': '-->' }

export function addPageRules(markdown: Markdown): void {
  addInlineRules(markdown)
  markdown.block.ruler.before('fence', 'comment', commentBlock, {
    alt: ['paragraph', 'reference', 'blockquote', 'list'],
  })
  markdown.core.ruler.after('inline', 'block_ids', (state) => {
    for (const [index, token] of state.tokens.entries()) {
      if (token.type === 'inline' && token.children) markBlock(state.tokens[index - 1], token.children)
    }
  })
  // Runs before `block_ids`, because each is inserted directly after `inline`.
  markdown.core.ruler.after('inline', 'callouts', makeCallouts)
}

function addInlineRules(markdown: Markdown): void {
  const { ruler } = markdown.inline
  ruler.before('wikilink', 'comment', (state, silent) => {
    const opening = state.src.slice(state.pos, state.pos + 2)
    const closing = comments[opening]
    if (closing === undefined || (opening === '<!' && !state.src.startsWith('<!--', state.pos))) return false
    const end = nextOf(state, state.src, closing, state.pos + opening.length)
    if (end < 0) return false
    if (!silent) state.pending = state.pending.replace(/ $/, '')
    state.pos = end + closing.length
    return true
  })
  ruler.before('autolink', 'element', (state, silent) => {
    const [whole, tag, content = ''] = at(element, state)
    if (whole === undefined) return pushImage(state, silent)
    if (!silent && tag === undefined) state.push('hardbreak', 'br', 0)
    else if (!silent && tag !== undefined) {
      state.push(`${tag}_open`, tag.toLowerCase(), 1)
      state.push('text', '', 0).content = content
      state.push(`${tag}_close`, tag.toLowerCase(), -1)
    }
    state.pos += whole.length
    return true
  })
}

/** Parses `<img src="…" alt="…" width="…">`. Other attributes are dropped. */
function pushImage(state: Inline, silent: boolean): boolean {
  const [whole, attributes = ''] = at(image, state)
  if (whole === undefined) return false
  if (!silent) {
    const found = [...attributes.matchAll(attribute)].map(([, name = '', one, other]) => [
      name.toLowerCase(),
      one ?? other ?? '',
    ])
    const { src = '', alt = '', width = '' } = Object.fromEntries(found)
    const token = state.push('image', 'img', 0)
    Object.assign(token, { children: null, content: alt })
    token.attrSet('src', src)
    token.attrSet('width', width)
  }
  state.pos += whole.length
  return true
}

function at(pattern: RegExp, state: Inline): readonly (string | undefined)[] {
  pattern.lastIndex = state.pos
  const found = pattern.exec(state.src)
  return found && state.pos + found[0].length <= state.posMax ? found : []
}

type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]

/** Skips a comment that begins a line, from `%%` or `<!--` to its last line. */
const commentBlock: BlockRule = (state, startLine, endLine, silent) => {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
  const opening = ['%%', '<!--'].find((mark) => state.src.startsWith(mark, start))
  if (opening === undefined) return false
  const closing = opening === '%%' ? '%%' : '-->'
  // After one comment that does not end, later comments are parsed inline, even if they begin before it.
  if (wasMissing(state.env, closing)) return false
  const end = nextOf(state.env, state.src, closing, start + opening.length)
  if (end < 0) return false
  let line = startLine
  while (line < endLine && (state.eMarks[line] ?? 0) < end + closing.length) line++
  // If text follows the comment on its line, the line is a paragraph, and the inline rule removes the comment.
  const isWhole = state.src.slice(end + closing.length, state.eMarks[line] ?? 0).trim() === ''
  if (line >= endLine || !isWhole) return false
  if (!silent) state.line = line + 1
  return true
}

const headingMark = /[ \t]*\{[ \t]*#([\w-]{1,100})[ \t]*\}$/

/** Handles ` ^id` at the end of a block, and `[ ]` or `[x]` at its beginning. */
function markBlock(block: Token | undefined, children: readonly Token[]): void {
  const last = children.at(-1)
  const [mark, id] = (last?.type === 'text' && /(?:^|\s)\^([\w-]{1,100})$/.exec(last.content)) || []
  if (block && last && mark !== undefined && id !== undefined) {
    last.content = last.content.slice(0, -mark.length)
    block.attrSet('id', blockId(id))
  }
  // `{ #id }` at the end of a heading sets the id for links to it.
  const [attributes, named] = (block?.type === 'heading_open' && last && headingMark.exec(last.content)) || []
  if (block && last && attributes !== undefined && named !== undefined) {
    last.content = last.content.slice(0, -attributes.length)
    block.attrSet('id', named)
  }
  const [first] = children
  if (first?.type === 'text')
    first.content = first.content.replace(/^\[([ xX])\] /, (_, done) => (done === ' ' ? '☐ ' : '☑ '))
}

export function blockId(id: string): string {
  return `block-${id.toLowerCase()}`
}

/** The beginning of a callout, which is a quotation: `[!kind]`, then an optional title. */
const calloutMark = /^\[!([a-z][\w-]{0,30})\][+-]?[ \t]*/i

function makeCallouts(state: Core): void {
  const open: boolean[] = []
  const made: Token[] = []
  for (const [index, token] of state.tokens.entries()) {
    if (token.type === 'blockquote_close' && open.pop()) token.tag = 'div'
    made.push(token)
    if (token.type !== 'blockquote_open') continue
    const words = state.tokens[index + 2]
    const [first] = words?.children ?? []
    const [mark, kind] = (first?.type === 'text' && calloutMark.exec(first.content)) || []
    open.push(kind !== undefined)
    if (mark === undefined || kind === undefined || words?.children == null) continue
    token.tag = 'div'
    token.attrSet('class', `callout ${kind.toLowerCase()}`)
    // The title ends at the first break outside links and emphasis. Otherwise it would contain half of one.
    const end = words.children.findIndex(
      ({ type, level }) => level === 0 && (type === 'softbreak' || type === 'hardbreak'),
    )
    const title = words.children.slice(0, end < 0 ? undefined : end)
    words.children = end < 0 ? [] : words.children.slice(end + 1)
    if (first) first.content = first.content.slice(mark.length)
    made.push(...titleTokens(state, title, kind))
  }
  state.tokens = withoutEmpty(made)
}

function titleTokens(state: Core, title: Token[], kind: string): Token[] {
  const opening = new state.Token('paragraph_open', 'p', 1)
  opening.attrSet('class', 'callout-title')
  const words = new state.Token('inline', '', 0)
  words.children = title
  if (title.every(({ content, type }) => type === 'text' && content.trim() === '')) {
    const name = new state.Token('text', '', 0)
    name.content = kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase()
    words.children = [name]
  }
  return [opening, words, new state.Token('paragraph_close', 'p', -1)]
}

/** Removes paragraphs that became empty because the title used all of their text. */
function withoutEmpty(tokens: readonly Token[]): Token[] {
  const isEmpty = (at: number) =>
    tokens[at]?.type === 'paragraph_open' && tokens[at + 1]?.type === 'inline' && tokens[at + 1]?.children?.length === 0
  const kept: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    if (isEmpty(at)) at += 2
    else if (token) kept.push(token)
  }
  return kept
}
