/**
 * TeX formulas: `$…$` in a line, `$$…$$` on its own. The rules are Obsidian's and Pandoc's.
 *
 * Tokens `math_inline` and `math_block` have the TeX as `content`, and `$` or `$$` as `markup`. In a formula, other marks of
 * Markdown mean nothing. It also runs in browsers.
 */
import type MarkdownIt from 'markdown-it'
import { nextOf } from './next-of.ts'

type Markdown = InstanceType<typeof MarkdownIt>
type Inline = InstanceType<Markdown['inline']['State']>
type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]

/** Maximum lines of a block. The rule reads them each time a line may begin one. */
const mostLines = 1_000

export function addMath(markdown: Markdown): void {
  markdown.inline.ruler.after('escape', 'math_inline', inlineRule)
  markdown.block.ruler.after('fence', 'math_block', blockRule, {
    alt: ['paragraph', 'reference', 'blockquote', 'list'],
  })
}

function inlineRule(state: Inline, silent: boolean): boolean {
  const { src, pos } = state
  if (src[pos] !== '$') return false
  const markup = src[pos + 1] === '$' ? '$$' : '$'
  const end = markup === '$$' ? displayEnd(state) : inlineEnd(state)
  if (end < 0) {
    // `$$` is not two dollars, each of which may begin a formula.
    if (markup === '$') return false
    if (!silent) state.pending += markup
    state.pos += 2
    return true
  }
  if (!silent)
    Object.assign(state.push('math_inline', 'math', 0), { content: src.slice(pos + markup.length, end), markup })
  state.pos = end + markup.length
  return true
}

/**
 * Returns the offset of the closing dollar, or -1 for money.
 *
 * In a formula, the opening dollar has no white space after it. The closing one has none before it, and no digit after it.
 */
function inlineEnd({ src, pos, posMax }: Inline): number {
  if (/\s/.test(src[pos + 1] ?? ' ')) return -1
  const end = nextDollar(src, pos + 1, posMax)
  if (end < 0 || /\s/.test(src[end - 1] ?? '') || /\d/.test(src[end + 1] ?? '')) return -1
  // In `$a and ``b$`` ` the second dollar is code.
  return src.slice(pos, end).includes('`') ? -1 : end
}

function displayEnd(state: Inline): number {
  const { src, pos, posMax } = state
  for (let end = nextOf(state, src, '$$', pos + 2); end >= 0 && end + 2 <= posMax; end = src.indexOf('$$', end + 1)) {
    if (isEscaped(src, end)) continue
    return src.slice(pos + 2, end).trim() === '' ? -1 : end
  }
  return -1
}

function nextDollar(text: string, from: number, to: number): number {
  for (let at = text.indexOf('$', from); at >= 0 && at < to; at = text.indexOf('$', at + 1))
    if (!isEscaped(text, at)) return at
  return -1
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text[at - slashes - 1] === '\\') slashes++
  return slashes % 2 === 1
}

/** Reads a block, from a line that begins with `$$`. It ends with the next `$$`, and may have blank lines. */
const blockRule: BlockRule = (state, startLine, endLine, silent) => {
  const start = (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0)
  if (!state.src.startsWith('$$', start) || (state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false
  if (silent && isClosing(state.env, state.src, state.bMarks[state.line] ?? 0, start)) return false
  const first = state.src.slice(start + 2, state.eMarks[startLine])
  const lines: string[] = []
  let line = startLine
  for (let text = first; ; text = lineAt(line)) {
    const end = text.indexOf('$$')
    if (end >= 0 && text.slice(end + 2).trim() !== '') return false
    lines.push(end < 0 ? text : text.slice(0, end))
    if (end >= 0) break
    line++
    const isOutside = line >= endLine || ((state.sCount[line] ?? 0) < state.blkIndent && !state.isEmpty(line))
    if (isOutside || line - startLine > mostLines) return false
    // Without another `$$` in the text, the rest need not be read.
    if (nextOf(state.env, state.src, '$$', state.bMarks[line] ?? 0) < 0) return false
  }
  const content = lines.join('\n').trim()
  if (content === '') return false
  if (silent) return true
  const token = state.push('math_block', 'math', 0)
  Object.assign(token, { content, markup: '$$', block: true, map: [startLine, line + 1] })
  state.line = line + 1
  return true

  function lineAt(at: number): string {
    return state.getLines(at, at + 1, state.blkIndent, false)
  }
}

/** The last count of marks in a paragraph, by the environment of a text. */
const counted = new WeakMap<object, { readonly paragraph: number; readonly to: number; readonly marks: number }>()

/** True if the paragraph before `at` has begun a formula, which this `$$` ends. Linear for all lines of a text. */
function isClosing(env: object, source: string, paragraph: number, at: number): boolean {
  const last = counted.get(env)
  const isSame = last?.paragraph === paragraph && last.to <= at
  const from = isSame ? last.to : paragraph
  const marks = (isSame ? last.marks : 0) + source.slice(from, at).split('$$').length - 1
  counted.set(env, { paragraph, to: at, marks })
  return marks % 2 === 1
}
