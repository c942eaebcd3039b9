/** Pictures, players and embedded pages that have a line for themselves become blocks. */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'

type Core = InstanceType<Markdown['core']['State']>

/** The `meta` of a token `alone`. */
export interface Alone {
  /** True if it is the whole paragraph, whose words may be a caption. */
  readonly isWhole: boolean
  /** True in a list whose items are not paragraphs. */
  readonly isTight: boolean
}

/** Adds the rule. It runs last, because other rules change paragraphs and their ids. */
export function addAlone(markdown: Markdown): void {
  markdown.core.ruler.push('alone', (state) => {
    const made: Token[] = []
    for (let at = 0; at < state.tokens.length; at++) {
      const [open, inline, close] = state.tokens.slice(at, at + 3)
      // The last paragraph of a footnote ends with the link back instead, and keeps its pictures inline.
      const isWhole = open && isParagraph(open) && close?.type === 'paragraph_close'
      const parts = isWhole ? partsOf(inline?.children ?? []) : []
      if (open && inline && close && parts.some(({ alone }) => alone)) {
        made.push(...blocks(state, { open, inline, close }, parts))
        at += 2
      } else if (open) made.push(open)
    }
    state.tokens = made
  })
}

function isParagraph(token: Token): boolean {
  return token.type === 'paragraph_open' && token.attrGet('class') === null
}

interface Part {
  readonly tokens: readonly Token[]
  /** The image or embed, if the line has nothing else. */
  readonly alone?: Token
}

/** Returns the parts of a paragraph. Lines of text that follow each other are one part. */
function partsOf(children: readonly Token[]): Part[] {
  const lines: Token[][] = [[]]
  for (const token of children) {
    if (token.level === 0 && isBreak(token)) lines.push([token])
    else lines.at(-1)?.push(token)
  }
  const parts: Part[] = []
  const written = lines.filter((line) => !line.every(isBlank))
  for (const line of written) {
    const alone = aloneIn(line, written.length === 1)
    const before = parts.at(-1)
    if (alone) parts.push({ tokens: [alone], alone })
    else if (before && !before.alone) parts[parts.length - 1] = { tokens: [...before.tokens, ...line] }
    else parts.push({ tokens: line.slice(line[0] && isBreak(line[0]) ? 1 : 0) })
  }
  return parts
}

function isBreak({ type }: Token): boolean {
  return type === 'softbreak' || type === 'hardbreak'
}

function isBlank(token: Token): boolean {
  return isBreak(token) || (token.type === 'text' && token.content.trim() === '')
}

function aloneIn(line: readonly Token[], isWhole: boolean): Token | undefined {
  const [token, ...others] = line.filter((one) => !isBlank(one))
  if (token === undefined || others.length > 0) return undefined
  if (token.type === 'wikilink') return token.markup === '!' ? token : undefined
  // Badges of other hosts, a line each, stay together.
  const isElsewhere = /^(https?:)?\/\//i.test(String(token.attrGet('src') ?? ''))
  return token.type === 'image' && (isWhole || !isElsewhere) ? token : undefined
}

interface Paragraph {
  readonly open: Token
  readonly inline: Token
  readonly close: Token
}

function blocks(state: Core, { open, inline, close }: Paragraph, parts: readonly Part[]): Token[] {
  const made = parts.flatMap(({ tokens, alone }) => {
    if (!alone) return paragraph(state, { open, inline, close }, tokens)
    const block = new state.Token('alone', '', 0)
    const meta: Alone = { isWhole: parts.length === 1, isTight: open.hidden }
    Object.assign(block, { block: true, children: [alone], level: open.level, map: open.map, meta })
    return [block]
  })
  const id = open.attrGet('id')
  if (id !== null) made[0]?.attrSet('id', String(id))
  return made
}

function paragraph(state: Core, { open, inline, close }: Paragraph, children: readonly Token[]): Token[] {
  const copy = (token: Token) => Object.assign(new state.Token(token.type, token.tag, token.nesting), token)
  return [
    Object.assign(copy(open), { attrs: null }),
    Object.assign(copy(inline), { children, content: '' }),
    copy(close),
  ]
}
