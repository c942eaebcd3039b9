/** Rules of Markdown beyond CommonMark: wiki links and embeds, comments, a few elements of HTML, ids of blocks, boxes of tasks. */

import type MarkdownIt from 'markdown-it'
import type { Token } from 'markdown-it'

type Markdown = InstanceType<typeof MarkdownIt>

type Inline = InstanceType<Markdown['inline']['State']>

/** Not `[[1]](url)`: a link whose text is in brackets. */
const wikilink = /(!?)\[\[([^[\]\r\n]{1,1000})\]\](?!\()/y
/** Elements that pass, without attributes, around plain text. */
const element = /<(kbd|sub|sup|mark)>([^<>]{0,1000})<\/\1>|<br ?\/?>/iy
const image = /<img\s([^<>]{1,2000})>/iy
const attribute = /(?:^|\s)(src|alt|width)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi
const comments: Readonly<Record<string, string>> = { '%%': '%%', '<!': '-->' }

export function addWikiRules(markdown: Markdown): void {
  const { ruler } = markdown.inline
  ruler.before('link', 'wikilink', (state, silent) => {
    const [whole, mark, inner = ''] = at(wikilink, state)
    if (whole === undefined || state.env.references?.[markdown.utils.normalizeReference(inner)]) return false
    if (!silent) {
      const [target = '', ...words] = inner.split('|')
      // In a table the | is written \|.
      const content = target.replace(/\\$/, '').trim()
      Object.assign(state.push('wikilink', '', 0), { content, info: words.join('|').trim(), markup: mark ?? '' })
    }
    state.pos += whole.length
    return true
  })
  ruler.before('wikilink', 'comment', (state, silent) => {
    const opening = state.src.slice(state.pos, state.pos + 2)
    const closing = comments[opening]
    if (closing === undefined || (opening === '<!' && !state.src.startsWith('<!--', state.pos))) return false
    const end = nextOf(state, closing, state.pos + opening.length)
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
  markdown.block.ruler.before('fence', 'comment', commentBlock, {
    alt: ['paragraph', 'reference', 'blockquote', 'list'],
  })
  markdown.core.ruler.after('inline', 'block_ids', (state) => {
    for (const [index, token] of state.tokens.entries()) {
      if (token.type === 'inline' && token.children) markBlock(state.tokens[index - 1], token.children)
    }
  })
}

/** `<img src="…" alt="…" width="…">` */
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

/** As `indexOf`; where nothing was found once, nothing is looked for again, so that many openings take linear time. */
function nextOf(state: Inline, mark: string, from: number): number {
  const key = `no ${mark}`
  const known = state.env[key] as { src: string; from: number } | undefined // set below
  if (known?.src === state.src && known.from <= from) return -1
  const found = state.src.indexOf(mark, from)
  if (found < 0) state.env[key] = { src: state.src, from }
  return found
}

type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]

/** From a line that begins with `%%` or `<!--` to the line in which the comment ends. */
const commentBlock: BlockRule = (state, startLine, endLine, silent) => {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
  const opening = ['%%', '<!--'].find((mark) => state.src.startsWith(mark, start))
  if (opening === undefined) return false
  const closing = opening === '%%' ? '%%' : '-->'
  const key = `no block ${closing}`
  if (state.env[key]) return false
  const end = state.src.indexOf(closing, start + opening.length)
  if (end < 0) {
    state.env[key] = true
    return false
  }
  let line = startLine
  while (line < endLine && (state.eMarks[line] ?? 0) < end + closing.length) line++
  // Text behind a comment on its line is a paragraph, in which the comment is left out.
  const isWhole = state.src.slice(end + closing.length, state.eMarks[line] ?? 0).trim() === ''
  if (line >= endLine || !isWhole) return false
  if (!silent) state.line = line + 1
  return true
}

const headingMark = /[ \t]*\{[ \t]*#([\w-]{1,100})[ \t]*\}$/

/** ` ^id` at the end of a block, which links name; `[ ]` and `[x]` at the beginning of one. */
function markBlock(block: Token | undefined, children: readonly Token[]): void {
  const last = children.at(-1)
  const [mark, id] = (last?.type === 'text' && /(?:^|\s)\^([\w-]{1,100})$/.exec(last.content)) || []
  if (block && last && mark !== undefined && id !== undefined) {
    last.content = last.content.slice(0, -mark.length)
    block.attrSet('id', blockId(id))
  }
  // `{ #id }` at the end of a heading is the id that links to it have.
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
