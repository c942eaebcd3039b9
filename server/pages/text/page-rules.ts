/** Markdown rules that only pages use. They cover comments, pictures in HTML and block ids. */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'
import { nextOf, wasMissing } from '../../markdown/next-of.ts'

type Inline = InstanceType<Markdown['inline']['State']>

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
  ruler.before('autolink', 'image_element', pushImage)
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

/** ` ^id` at the end of a block, which links can name. */
export const blockMark = /(?:^|\s)\^([\w-]{1,100})$/
const headingMark = /[ \t]*\{[ \t]*#([\w-]{1,100})[ \t]*\}$/

/** Handles ` ^id` at the end of a block. */
function markBlock(block: Token | undefined, children: readonly Token[]): void {
  const last = children.at(-1)
  const [mark, id] = (last?.type === 'text' && blockMark.exec(last.content)) || []
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
}

export function blockId(id: string): string {
  return `block-${id.toLowerCase()}`
}
