/**
 * The HTML that pages keep: some elements within a line, `<details>` and headings.
 *
 * Only `title` of `<abbr>`, `href` of `<a>` and `open` of `<details>` are kept. Elements that only group or style, such as
 * `<span>` and `<div>`, lose their tags and keep their content. All other HTML, and tags without a partner, are shown as
 * text.
 */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'

type Inline = InstanceType<Markdown['inline']['State']>
type Block = InstanceType<Markdown['block']['State']>
type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]

const kept = 'abbr|b|cite|del|dfn|em|i|ins|kbd|mark|q|s|samp|small|strong|sub|sup|u|var'
const dropped = 'article|center|div|figcaption|figure|font|footer|header|main|p|section|span'

/** Content that is not Markdown: of keys, and marks such as `*`. */
const plain = /<(kbd|samp|sub|sup)>((?<=<(?:kbd|samp)>)[^<>]{1,200}|[*_~=^$`\\[\]!]{1,9})<\/\1>/iy
const lineBreak = /<br(?:\s[^<>]{0,100})?\/?>/iy
const tag = new RegExp(`<(/?)(${kept}|${dropped}|a)((?:\\s[^<>]{0,2000})?)/?>`, 'iy')
const isKept = new RegExp(`^(?:${kept})$`)
/** Lines that have only tags of groups. */
const groups = new RegExp(`^(?:\\s*</?(?:${dropped}|picture)(?:\\s[^<>]*)?>)+\\s*$`, 'i')
const heading = /^<h([1-6])(?:\s[^<>]*)?>(.*)<\/h\1>\s*$/i
const attribute = (name: string) => new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i')
const [title, href] = [attribute('title'), attribute('href')]

/** Limits of HTML. `line`: UTF-16 units. `lines`: of one `<details>`. `summary`: lines. */
const most = { line: 2_000, lines: 2_000, summary: 10 } as const
/** Lines of a text that are searched for the ends of `<details>`. */
const mostSearched = 20_000

export function addInlineHtml(markdown: Markdown): void {
  const { inline, block } = markdown
  inline.ruler.before('autolink', 'html_tag', readTag)
  inline.ruler2.push('html_tag', ({ tokens }) => {
    if (tokens.some(({ type }) => type === 'html_tag')) pairTags(tokens)
    return false
  })
  const alt = ['paragraph', 'reference', 'blockquote', 'list']
  block.ruler.before('fence', 'html_groups', skipGroups, { alt })
  block.ruler.before('fence', 'html_heading', readHeading, { alt })
  block.ruler.before('fence', 'details', readDetails, { alt })
}

function readTag(state: Inline, silent: boolean): boolean {
  const { src, pos, posMax } = state
  if (src[pos] !== '<') return false
  const at = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = pos
    const found = pattern.exec(src)
    return found && pos + found[0].length <= posMax ? found : undefined
  }
  const asPlain = at(plain)
  const found = asPlain ?? at(lineBreak) ?? at(tag)
  if (found === undefined) return false
  const [whole, first = '', second = '', third = ''] = found
  state.pos += whole.length
  if (silent) return true
  if (asPlain) {
    const name = first.toLowerCase()
    state.push(`${name}_open`, name, 1)
    state.push('text', '', 0).content = second
    state.push(`${name}_close`, name, -1)
  } else if (/^<br/i.test(whole)) state.push('hardbreak', 'br', 0)
  else Object.assign(state.push('html_tag', second.toLowerCase(), 0), { content: whole, markup: first, info: third })
  return true
}

/** Turns tags into elements where they pair, and into text elsewhere. */
function pairTags(tokens: Token[]): void {
  const open: Token[] = []
  const isTag = ({ type }: Token) => type === 'html_tag'
  for (const token of tokens) {
    if (isTag(token) && token.markup === '') open.push(token)
    else if (isTag(token)) closeTag(token, open)
    else if (token.nesting === 1) open.push(token)
    else if (token.nesting === -1) {
      // Tags that are open here began in the link or emphasis that ends.
      while (open.length > 0 && isTag(open.at(-1) as Token)) open.pop()
      open.pop()
    }
  }
  let level = 0
  for (const token of tokens) {
    if (isTag(token)) Object.assign(token, { type: 'text' })
    if (token.nesting < 0) level--
    token.level = level
    if (token.nesting > 0) level++
  }
}

function closeTag(token: Token, open: Token[]): void {
  let at = open.length - 1
  while (at >= 0 && open[at]?.type === 'html_tag' && open[at]?.tag !== token.tag) at--
  const partner = open[at]
  if (partner?.type !== 'html_tag') return
  open.length = at
  const first = partner
  const { tag } = token
  const isLink = tag === 'a' && href.test(first.info) && !open.some(({ type }) => type === 'link_open')
  if (isLink) {
    first.attrSet('href', attributeOf(href, first.info))
    first.type = 'link_open'
    token.type = 'link_close'
  } else if (isKept.test(tag)) {
    if (tag === 'abbr' && title.test(first.info)) first.attrSet('title', attributeOf(title, first.info))
    first.type = `${tag}_open`
    token.type = `${tag}_close`
  } else {
    for (const one of [first, token]) Object.assign(one, { type: 'text', tag: '', content: '' })
    return
  }
  for (const [one, nesting] of [
    [first, 1],
    [token, -1],
  ] as const)
    Object.assign(one, { nesting, content: '', markup: '', info: '' })
}

function attributeOf(pattern: RegExp, attributes: string): string {
  const [, double, single] = pattern.exec(attributes) ?? []
  return (double ?? single ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

function lineOf({ src, bMarks, tShift, eMarks }: Block, line: number): string {
  const [start, end] = [(bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line] ?? 0]
  return src[start] === '<' && end - start <= most.line ? src.slice(start, end) : ''
}

const skipGroups: BlockRule = (state, startLine, _endLine, silent) => {
  if (!groups.test(lineOf(state, startLine))) return false
  if (!silent) state.line = startLine + 1
  return true
}

const readHeading: BlockRule = (state, startLine, _endLine, silent) => {
  const [whole, level, words = ''] = heading.exec(lineOf(state, startLine)) ?? []
  if (whole === undefined) return false
  if (silent) return true
  const map: [number, number] = [startLine, startLine + 1]
  state.push('heading_open', `h${level}`, 1).map = map
  Object.assign(state.push('inline', '', 0), { content: words.trim(), map, children: [] })
  state.push('heading_close', `h${level}`, -1)
  state.line = startLine + 1
  return true
}

const detailsStart = /^<details((?:\s[^<>]*)?)>/i
const summaryWhole = /^\s*<summary(?:\s[^<>]*)?>([\s\S]*?)<\/summary>/i

/** Reads `<details>` up to its end, which must be the end of a line. Its content is blocks. */
const readDetails: BlockRule = (state, startLine, endLine, silent) => {
  const [opening, attributes = ''] = detailsStart.exec(lineOf(state, startLine)) ?? []
  if (opening === undefined) return false
  const end = detailsEnd(state, startLine, endLine)
  if (end === undefined) return false
  if (silent) return true
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0) + opening.length
  const token = state.push('details_open', 'details', 1)
  Object.assign(token, { block: true, map: [startLine, end.line + 1] })
  if (/\sopen(?:[\s=]|$)/i.test(attributes)) token.attrSet('open', '')
  readBetween(state, readSummary(state, startLine, end, start), end)
  state.push('details_close', 'details', -1).block = true
  state.line = end.line + 1
  return true
}

interface Place {
  readonly line: number
  readonly at: number
}

/** Finds the closing tag; undefined if there is none, or too much to read. */
function detailsEnd(state: Block, startLine: number, endLine: number): Place | undefined {
  const env = state.env as { searched?: number }
  let depth = 0
  for (let line = startLine; line < endLine && line - startLine < most.lines; line++) {
    env.searched = (env.searched ?? 0) + 1
    if (env.searched > mostSearched) return undefined
    if ((state.sCount[line] ?? 0) < state.blkIndent && !state.isEmpty(line)) return undefined
    const from = (state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0)
    const text = state.src.slice(from, Math.min(state.eMarks[line] ?? 0, from + most.line))
    const ending = /<\/details\s*>\s*$/i.exec(text)
    depth += (/^<details[\s>]/i.test(text) ? 1 : 0) - (ending ? 1 : 0)
    if (ending && depth === 0) return { line, at: from + ending.index }
  }
  return undefined
}

/** Pushes the summary, and returns the place after it. Without one, the summary is `Details`. */
function readSummary(state: Block, startLine: number, { line: last, at: end }: Place, start: number): Place {
  let first = startLine
  if (state.src.slice(start, state.eMarks[startLine]).trim() === '') {
    first++
    while (first < last && state.isEmpty(first)) first++
  }
  const from = first === startLine ? start : (state.bMarks[first] ?? 0) + (state.tShift[first] ?? 0)
  const to = Math.min(end, state.eMarks[Math.min(last, first + most.summary)] ?? end)
  const text = state.src.slice(from, Math.min(to, from + most.line))
  const [whole = '', words = 'Details'] = summaryWhole.exec(text) ?? []
  state.push('summary_open', 'summary', 1)
  Object.assign(state.push('inline', '', 0), { content: words.trim() || 'Details', children: [] })
  state.push('summary_close', 'summary', -1)
  const at = from + whole.length
  let line = first
  while (line < last && (state.eMarks[line] ?? 0) < at) line++
  return { line, at }
}

/** Reads the blocks between two places, which may be within lines. */
function readBetween(state: Block, start: Place, end: Place): void {
  const { bMarks, eMarks, tShift, sCount, lineMax, parentType } = state
  const before = { b: bMarks[start.line], t: tShift[start.line], s: sCount[start.line], e: eMarks[end.line] }
  const isWithinLine = start.at > (bMarks[start.line] ?? 0) + (tShift[start.line] ?? 0)
  if (isWithinLine) {
    let at = start.at
    while (at < (eMarks[start.line] ?? 0) && /[ \t]/.test(state.src[at] ?? '')) at++
    bMarks[start.line] = start.at
    tShift[start.line] = at - start.at
    sCount[start.line] = state.blkIndent
  }
  eMarks[end.line] = Math.max(end.at, bMarks[end.line] ?? 0)
  state.lineMax = end.line + 1
  state.parentType = 'root'
  state.md.block.tokenize(state, start.line, end.line + 1)
  state.parentType = parentType
  state.lineMax = lineMax
  Object.assign(bMarks, { [start.line]: before.b })
  Object.assign(tShift, { [start.line]: before.t })
  Object.assign(sCount, { [start.line]: before.s })
  Object.assign(eMarks, { [end.line]: before.e })
}
