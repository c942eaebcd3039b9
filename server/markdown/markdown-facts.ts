/** What a Markdown text says beside its words: its first heading, its links, Obsidian's inline tags. */
import type { Token } from 'markdown-it'
import { headEnd } from './front-matter-lines.ts'
import { headingIn, isComment } from './html.ts'
import { type Env, inlineTokens, markdown, withBrackets } from './markdown.ts'
import { inHeading, inLines, inRow, type Locate, linesOf } from './positions.ts'
import { toSingleLine } from './single-line.ts'
import { htmlLinks, inlineLinks, targetAndText, textOf, type WrittenLink } from './written-links.ts'

/** Of the connections that an import makes of links. */
export const linkTypes = ['links_to', 'embeds'] as const

export interface Link {
  /** As it is written, without what follows `#`, `?` or `|`; never empty. */
  readonly target: string
  readonly form: 'wikilink' | 'path'
  readonly type: (typeof linkTypes)[number]
  /** '' where the text has no words of its own for it. */
  readonly label: string
}

export interface Prose {
  /** The level-1 heading that is the first block, '' if there is none. */
  readonly heading: string
  readonly tags: readonly string[]
  /** Those that may lead to other files of the folder, in order, repeated as they are. */
  readonly links: readonly Link[]
  /** What Hugo's shortcodes `ref` and `relref` lead to, as written, in order. */
  readonly hugoReferences: readonly string[]
  /** Only the beginning was read. */
  readonly cut: boolean
}

/** Characters: in the worst case the parser needs some seconds and 700 MB for that many. */
const maxLength = 2 * 1_048_576

export function readProse(text: string): Prose {
  const cut = text.length > maxLength
  let heading = ''
  const tags: string[] = []
  const links: Link[] = []
  const hugoReferences: string[] = []
  for (const piece of piecesOf(cut ? text.slice(0, maxLength) : text)) {
    heading ||= piece.title
    links.push(...piece.links.map(linkOf).filter((link) => link !== undefined))
    if (piece.tokens) readTags(piece.tokens, tags)
    for (const { type, meta } of piece.tokens ?? [])
      if (type === 'hugo_reference') hugoReferences.push(String(meta?.target))
  }
  return { heading, tags, links, hugoReferences, cut }
}

interface Piece {
  /** Of a level-1 heading that is the first block; else ''. */
  readonly title: string
  readonly links: readonly WrittenLink[]
  /** Of inline content. */
  readonly tokens?: readonly Token[]
  /** UTF-16 units. */
  readonly length: number
  /** It is longer than asked for: it was not read. */
  readonly isSkipped?: true
}

/**
 * The blocks of a text that may hold links, in order; each is read when it is asked for. Reading takes time by the unit, in
 * the worst case 4 s for 1 MiB in one block.
 *
 * @param longest UTF-16 units of a block that is read
 */
export function* piecesOf(text: string, longest = Number.POSITIVE_INFINITY): Generator<Piece> {
  const start = headEnd(text)
  const lines = linesOf(text)
  const env: Env = {}
  // As many lines as before, so that those of the tokens are those of the text.
  const source = text.slice(0, start).replace(/[^\r\n]+/g, '') + text.slice(start)
  let before: Token | undefined
  let row: Locate[] = []
  const tokens = markdown.parse(source, env)
  // A comment shows nothing.
  const first = tokens.findIndex(({ type, content }) => type !== 'html_block' || !isComment(content))
  for (const [at, token] of tokens.entries()) {
    const { type, content } = token
    if (type === 'tr_open') row = inRow(lines, token.map?.[0] ?? 0, cellsOf(tokens, at))
    else if ((type === 'html_block' || type === 'inline') && content.length > longest) {
      if (token.map === null) row.shift()
      yield { title: '', links: [], length: 0, isSkipped: true }
    } else if (type === 'html_block') {
      const locate = inLines(lines, token.map?.[0] ?? 0, content)
      const title = at === first ? titleIn(inlineTokens(headingIn(content), {})) : ''
      yield { title, links: htmlLinks(content, locate), length: content.length }
    } else if (type === 'inline') {
      const isTitle = at === first + 1 && before?.type === 'heading_open' && before.tag === 'h1'
      const line = token.map?.[0]
      const isLine = before?.type === 'heading_open' && before.markup.startsWith('#')
      const inBlock = isLine ? inHeading : inLines
      const locate = line === undefined ? row.shift() : inBlock(lines, line, withBrackets(content))
      const children = inlineTokens(content, env)
      const title = isTitle ? titleIn(children) : ''
      if (locate) yield { title, links: inlineLinks(children, env, locate), tokens: children, length: content.length }
    }
    before = token
  }
}

/** The cells of a row, brackets as in the source. */
function cellsOf(tokens: readonly Token[], row: number): { content: string }[] {
  const cells: { content: string }[] = []
  for (let at = row + 1; tokens[at] && tokens[at]?.type !== 'tr_close'; at++)
    if (tokens[at]?.type === 'inline') cells.push({ content: withBrackets(tokens[at]?.content ?? '') })
  return cells
}

function readTags(tokens: readonly Token[], tags: string[]): void {
  let isOpen = false
  for (const { type, content } of tokens) {
    if (type === 'link_open') isOpen = true
    else if (type === 'link_close') isOpen = false
    else if (type === 'text' && !isOpen) for (const [, name = ''] of content.matchAll(tag)) tags.push(name)
  }
}

/** Obsidian's rule, and a letter or an emoji in it, so that `#12-34` is none. */
const tag =
  /(?<![^\s])#(?![/-])(?=[\p{N}_/-]*[\p{L}\p{Emoji_Presentation}])((?:[\p{L}\p{M}\p{N}\p{Emoji_Presentation}_-]|\/(?=\S))+)/gu

/** A link as connections are made from it; undefined where it leads to nothing in a folder. */
export function linkOf({ form, target, embeds, text }: Omit<WrittenLink, 'line' | 'column'>): Link | undefined {
  const isWikilink = form === 'wikilink'
  const path = isWikilink ? target.split('#')[0]?.trim() : target.split(/[?#]/)[0]
  if (!path || isOutside(form, target)) return undefined
  return { target: path, form: isWikilink ? 'wikilink' : 'path', type: embeds ? 'embeds' : 'links_to', label: text }
}

/** `https:`, `mailto:`, `//host`: not this folder's. A wiki link may name a note with a colon. */
export function isOutside(form: WrittenLink['form'], target: string): boolean {
  return form === 'wikilink' ? target.includes('://') : /^([a-z][a-z0-9+.-]+:|\/\/)/i.test(target)
}

/** `inner` is what stands between the brackets of a wiki link. */
export function wikilink(inner: string): Link | undefined {
  return linkOf({ form: 'wikilink', embeds: false, ...targetAndText(inner) })
}

/** UTF-16 units of a heading that are read. */
const maxHeading = 10_000

/** The words of a heading; badges and logos only where there are none. */
function titleIn(tokens: readonly Token[]): string {
  const words = textOf(tokens, (token) => token.type === 'image')
  return toSingleLine((words.trim() ? words : textOf(tokens)).replace(/\{#[\w-]+\}\s*$/, ''), maxHeading)
}
