/** What a Markdown text says beside its words: its first heading, its links, Obsidian's inline tags. */
import type { Token } from 'markdown-it'
import { addressesIn, headingIn } from './html.ts'
import { asLine } from './line.ts'
import { markdown } from './markdown.ts'

export interface Link {
  /** As it is written, without what follows `#`, `?` or `|`; never empty. */
  readonly target: string
  readonly form: 'wikilink' | 'path'
  readonly type: 'links_to' | 'embeds'
  /** '' where the text has no words of its own for it. */
  readonly label: string
}

export interface Prose {
  /** The first level-1 heading, '' if there is none. */
  readonly heading: string
  readonly tags: readonly string[]
  /** Those that may lead to other files of the folder, in order, repeated as they are. */
  readonly links: readonly Link[]
  /** Only the beginning was read. */
  readonly cut: boolean
}

/** Characters: in the worst case the parser needs some seconds and 700 MB for that many. */
const maxLength = 2 * 1_048_576

export function readProse(text: string): Prose {
  const cut = text.length > maxLength
  // The escape keeps a footnote's definition from being taken for a link reference.
  const source = (cut ? text.slice(0, maxLength) : text).replace(/(?<!\\)\[\^/g, '\\[^')
  let heading = ''
  const tags: string[] = []
  const links: (Link | undefined)[] = []
  let before: Token | undefined
  for (const token of markdown.parse(source, {})) {
    if (token.type === 'html_block') {
      heading ||= titleIn(markdown.parseInline(headingIn(token.content), {}))
      links.push(...linksInHtml(token.content))
    } else if (token.type === 'inline') {
      const isTitle = before?.type === 'heading_open' && before.tag === 'h1' && before.level === 0
      if (isTitle) heading ||= titleIn([token])
      readInline(token.children ?? [], tags, links)
    }
    before = token
  }
  return { heading, tags, links: links.filter((link) => link !== undefined), cut }
}

function readInline(tokens: readonly Token[], tags: string[], links: (Link | undefined)[]): void {
  let opened: { readonly url: ReturnType<Token['attrGet']>; readonly at: number } | undefined
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'link_open') opened = { url: token.attrGet('href'), at }
    else if (token.type === 'link_close' && opened) {
      links.push(pathLink(opened.url, 'links_to', textOf(tokens.slice(opened.at, at))))
      opened = undefined
    } else if (token.type === 'image') links.push(pathLink(token.attrGet('src'), 'embeds', textOf([token])))
    else if (token.type === 'wikilink') links.push(wikilink(token.content, token.markup === '!'))
    else if (token.type === 'html_inline') links.push(...linksInHtml(token.content))
    else if (token.type === 'text' && !opened) for (const [, name = ''] of token.content.matchAll(tag)) tags.push(name)
  }
}

/** Obsidian's rule, and a letter or an emoji in it, so that `#12-34` is none. */
const tag =
  /(?<![^\s])#(?![/-])(?=[\p{N}_/-]*[\p{L}\p{Emoji_Presentation}])((?:[\p{L}\p{M}\p{N}\p{Emoji_Presentation}_-]|\/(?=\S))+)/gu

function linksInHtml(html: string): (Link | undefined)[] {
  return addressesIn(html).map(({ url, embedded }) => pathLink(url, embedded ? 'embeds' : 'links_to', ''))
}

/** `inner` is what stands between the brackets: `path#heading|words`. */
export function wikilink(inner: string, embedded: boolean): Link | undefined {
  const [address = '', ...words] = inner.split('|')
  // In a table the | is written \|.
  const target = address.replace(/\\$/, '').split('#')[0]?.trim()
  if (!target || target.includes('://')) return undefined
  return { target, form: 'wikilink', type: embedded ? 'embeds' : 'links_to', label: asLine(words.join('|'), 500) }
}

function pathLink(url: ReturnType<Token['attrGet']>, type: Link['type'], label: string): Link | undefined {
  const target = String(url ?? '').split(/[?#]/)[0]
  if (!target || isUrl(target)) return undefined
  return { target, form: 'path', type, label: asLine(label, 500) }
}

/** `https:`, `mailto:`, `//host`: not this folder's. */
function isUrl(target: string): boolean {
  return /^([a-z][a-z0-9+.-]+:|\/\/)/i.test(target)
}

/** The words of a heading; badges and logos only where there are none. */
function titleIn(tokens: readonly Token[]): string {
  const words = textOf(tokens, (token) => token.type === 'image')
  return asLine((words.trim() ? words : textOf(tokens)).replace(/\{#[\w-]+\}\s*$/, ''), 500)
}

function textOf(tokens: readonly Token[], isLeftOut: (token: Token) => boolean = () => false): string {
  const kept = tokens.filter((token) => !isLeftOut(token))
  return kept.map((token) => (token.children ? textOf(token.children, isLeftOut) : ownText(token))).join('')
}

function ownText(token: Token): string {
  if (token.type === 'softbreak' || token.type === 'hardbreak') return ' '
  if (token.type === 'wikilink') return token.content.split('|').at(-1) ?? ''
  return token.type === 'html_inline' ? '' : token.content
}
