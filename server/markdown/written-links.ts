/** Finds each link of a Markdown text with its position. Imports and the operation `links` use it. */
import type { Token } from 'markdown-it'
import { addressesIn } from './html.ts'
import { definitionLines, type Env, withBrackets } from './markdown.ts'
import type { Locate, Point } from './points.ts'
import { toSingleLine } from './single-line.ts'
import { wikilinkParts } from './wikilinks.ts'

type LinkForm = 'wikilink' | 'inline' | 'reference' | 'autolink' | 'html'

export interface WrittenLink extends Point {
  readonly form: LinkForm
  readonly embeds: boolean
  /** The words of the link; '' if it has none. */
  readonly text: string
  /** The target, including `#` and `?` parts. Escapes of Markdown and HTML are resolved, `%20` is not. */
  readonly target: string
  /** For a reference: its normalized label, and the line of its definition, from 1. */
  readonly definition?: { readonly label: string; readonly line: number }
}

/** Returns the links of an inline token, in the order in which they begin. */
export function inlineLinks(tokens: readonly Token[], env: Env, locate: Locate): WrittenLink[] {
  const links: WrittenLink[] = []
  /** The index in `links` of the open link, and the index of its first token. */
  let opened: { readonly link: number; readonly at: number } | undefined
  for (const [at, token] of tokens.entries()) {
    const place = token.map?.[0] ?? 0
    if (token.type === 'link_open') {
      const target = urlOf(token, 'href')
      opened = { link: links.length, at }
      links.push({ ...locate(beginning(token, place)), ...formOf(token, env), embeds: false, text: '', target })
    } else if (token.type === 'link_close' && opened) {
      const link = links[opened.link]
      // An autolink has no words: its text is its URL.
      if (link && link.form !== 'autolink')
        links[opened.link] = { ...link, text: toSingleLine(textOf(tokens.slice(opened.at, at)), 500) }
      opened = undefined
    } else if (token.type === 'image') {
      const text = toSingleLine(textOf([token]), 500)
      links.push({ ...locate(place), ...formOf(token, env), embeds: true, text, target: urlOf(token, 'src') })
    } else if (token.type === 'wikilink') {
      links.push({ ...locate(place), form: 'wikilink', embeds: token.markup === '!', ...targetAndText(token.content) })
    } else if (token.type === 'html_inline') links.push(...htmlLinks(token.content, (offset) => locate(place + offset)))
  }
  return links
}

/** Returns the links of a piece of HTML. */
export function htmlLinks(html: string, locate: Locate): WrittenLink[] {
  return addressesIn(withBrackets(html)).map(({ url, embedded, at }) => ({
    ...locate(at),
    ...{ form: 'html', embeds: embedded, text: '', target: url },
  }))
}

/** @param inner the text between the brackets of a wiki link */
export function targetAndText(inner: string): { readonly target: string; readonly text: string } {
  const { target, words } = wikilinkParts(inner)
  return { target, text: toSingleLine(words, 500) }
}

function urlOf(token: Token, attribute: 'href' | 'src'): string {
  return withBrackets(String(token.attrGet(attribute) ?? ''))
}

/**
 * Returns the offset where a link begins.
 *
 * The parser is after its `[`, or, for a bare URL, at the `:` of the scheme.
 */
function beginning({ markup, ...token }: Token, place: number): number {
  if (markup === 'autolink') return place
  return markup === 'linkify' ? place - String(token.attrs?.[0]?.[1]).indexOf(':') : place - 1
}

function formOf({ markup, meta }: Token, env: Env): Pick<WrittenLink, 'form' | 'definition'> {
  if (markup === 'autolink' || markup === 'linkify') return { form: 'autolink' }
  const label = meta?.label
  if (typeof label !== 'string') return { form: 'inline' }
  const line = (definitionLines.get(env)?.get(label) ?? 0) + 1
  return { form: 'reference', definition: { label: withBrackets(label).slice(0, 500), line } }
}

/** Returns the words of tokens. */
export function textOf(tokens: readonly Token[], isLeftOut: (token: Token) => boolean = () => false): string {
  const kept = tokens.filter((token) => !isLeftOut(token))
  return kept.map((token) => (token.children ? textOf(token.children, isLeftOut) : ownText(token))).join('')
}

function ownText(token: Token): string {
  if (token.type === 'softbreak' || token.type === 'hardbreak') return ' '
  if (token.type === 'wikilink') return token.content.split('|').at(-1) ?? ''
  if (token.type === 'math_inline') return withBrackets(token.markup + token.content + token.markup)
  return token.type === 'html_inline' ? '' : withBrackets(token.content)
}
