/** Extracts a Markdown text's first heading, its links, and Obsidian's inline tags. */
import type { Token } from 'markdown-it'
import { headEnd } from './front-matter-lines.ts'
import { headingIn, isComment } from './html.ts'
import { type Env, inlineTokens, markdown, withBrackets } from './markdown.ts'
import { inHeading, inLines, inRow, type Locate, linesOf } from './points.ts'
import { toSingleLine } from './single-line.ts'
import { htmlLinks, inlineLinks, targetAndText, textOf, type WrittenLink } from './written-links.ts'

/** The types of connections that an import creates from links. */
export const linkTypes = ['links_to', 'embeds'] as const

export interface Link {
  /** The target as written, without the part after `#`, `?` or `|`; never empty. */
  readonly target: string
  readonly form: 'wikilink' | 'path'
  readonly type: (typeof linkTypes)[number]
  /** The words of the link; '' if the text has none. */
  readonly label: string
}

export interface Prose {
  /** The level-1 heading that is the first block; otherwise ''. */
  readonly heading: string
  readonly tags: readonly string[]
  /** Links that may lead to other files of the folder, in order, with repetitions. */
  readonly links: readonly Link[]
  /** The targets of Hugo's shortcodes `ref` and `relref`, as written, in order. */
  readonly hugoReferences: readonly string[]
  /** True if only the beginning was read. */
  readonly cut: boolean
}

/** Largest text in UTF-16 units. In the worst case the parser needs some seconds and 700 MB for it. */
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
  /** The words of a level-1 heading that is the first block; otherwise ''. */
  readonly title: string
  readonly links: readonly WrittenLink[]
  /** The tokens of inline content. */
  readonly tokens?: readonly Token[]
  /** Length in UTF-16 units. */
  readonly length: number
  /** True if the block is longer than `longest`, and was not read. */
  readonly isSkipped?: true
}

/**
 * Reads the blocks of a text that may hold links, in order and on demand.
 *
 * The time is proportional to the length: in the worst case 4 s for 1 MiB in one block.
 *
 * @param longest largest block that is read, in UTF-16 units
 */
export function* piecesOf(text: string, longest = Number.POSITIVE_INFINITY): Generator<Piece> {
  const start = headEnd(text)
  const lines = linesOf(text)
  const env: Env = {}
  // Keep the line breaks of the front matter, so that line numbers of tokens are those of the text.
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

/** Returns the cells of a row, with brackets as in the source. */
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

/** Obsidian's rule for a tag. It must also have a letter or an emoji, so that `#12-34` is not a tag. */
const tag =
  /(?<![^\s])#(?![/-])(?=[\p{N}_/-]*[\p{L}\p{Emoji_Presentation}])((?:[\p{L}\p{M}\p{N}\p{Emoji_Presentation}_-]|\/(?=\S))+)/gu

/** Returns the link from which a connection is created. Undefined if it cannot lead to a file of the folder. */
export function linkOf({ form, target, embeds, text }: Omit<WrittenLink, 'line' | 'column'>): Link | undefined {
  const isWikilink = form === 'wikilink'
  const path = isWikilink ? target.split('#')[0]?.trim() : target.split(/[?#]/)[0]
  if (!path || isOutside(form, target)) return undefined
  return { target: path, form: isWikilink ? 'wikilink' : 'path', type: embeds ? 'embeds' : 'links_to', label: text }
}

/** True for targets outside the folder: `https:`, `mailto:`, `//host`. A wiki link may name a note with a colon. */
export function isOutside(form: WrittenLink['form'], target: string): boolean {
  return form === 'wikilink' ? target.includes('://') : /^([a-z][a-z0-9+.-]+:|\/\/)/i.test(target)
}

/** Returns the link of a wiki link. `inner` is the text between its brackets. */
export function wikilink(inner: string): Link | undefined {
  return linkOf({ form: 'wikilink', embeds: false, ...targetAndText(inner) })
}

/** Largest part of a heading that is read, in UTF-16 units. */
const maxHeading = 10_000

/** Returns the words of a heading. The texts of badges and logos count only if there are no words. */
function titleIn(tokens: readonly Token[]): string {
  const words = textOf(tokens, (token) => token.type === 'image')
  return toSingleLine((words.trim() ? words : textOf(tokens)).replace(/\{#[\w-]+\}\s*$/, ''), maxHeading)
}
