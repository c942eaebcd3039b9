/** The cards that show embedded pages, and the HTML in them. */

import type { Token } from 'markdown-it'
import * as limits from '../../base/limits.ts'
import { escaped } from './escape.ts'

/** The part of an embedded page that is shown. */
export interface Card {
  /** The title of the page, and the heading of the section that is shown. */
  readonly title: string
  /** The HTML of the text; undefined if only a link is shown. */
  readonly html?: string
  /** A sentence below the text, or instead of it. */
  readonly why?: string
}

export const fewCards = `Only the first ${limits.embeds} embedded pages are shown here.`

/** Number of cards by text. Ids of a card begin with its number, so that they are unique on the page. */
const counts = new WeakMap<object, number>()

/** Returns the card of an embedded page, with its title as link. */
export function cardBlock({ href, card }: { readonly href: string; readonly card: Card }, env: object): string {
  const number = (counts.get(env) ?? 0) + 1
  counts.set(env, number)
  const link = `<a class="node" href="${escaped(href)}">${escaped(card.title)}</a>`
  const { html, why: reason } = number > limits.embeds ? { why: fewCards } : card
  const why = reason === undefined ? '' : `<p class="why">${escaped(reason)}</p>\n`
  if (html === undefined) return `<div class="embed">\n<p class="embed-of">${link}</p>\n${why}</div>\n`
  const text = withOwnIds(html, `embed_${number}_`, href.replace(/#.*$/, ''))
  return `<blockquote class="embed">\n<p class="embed-of">${link}</p>\n<div class="embed-text">\n${text}</div>\n${why}</blockquote>\n`
}

/** Attributes that name the id of another element. */
const references = /^(?:id|for|aria-labelledby|aria-describedby)$/

/** Begins all ids with `prefix`. Links to ids that the HTML does not have lead to `page`. */
function withOwnIds(html: string, prefix: string, page: string): string {
  const ids = new Set([...html.matchAll(/<[^>]*\sid="([^"]*)"[^>]*>/g)].map(([, id]) => id))
  return html.replace(/<[a-z][^>]*>/gi, (tag) =>
    tag.replace(/ ([a-z-]+)="([^"]*)"/gi, (attribute, name: string, value: string) => {
      if (references.test(name)) return ` ${name}="${prefix}${value}"`
      if (name !== 'href' || !value.startsWith('#')) return attribute
      return ids.has(value.slice(1)) ? ` href="#${prefix}${value.slice(1)}"` : ` href="${escaped(page)}${value}"`
    }),
  )
}

/**
 * Prepares the tokens of a part for a card. Headings become paragraphs that look like headings, because the page has its
 * own table of contents. Ids of headings and blocks are left out, because links to them lead to the embedded page.
 */
export function asQuoted(tokens: readonly Token[]): Token[] {
  return tokens.map((token) => {
    const isHeading = token.type === 'heading_open' || token.type === 'heading_close'
    const attrs = token.attrs?.filter(([name]) => name !== 'id') ?? null
    const copy: Token = Object.assign(Object.create(Object.getPrototypeOf(token)), token, {
      attrs: attrs?.length === 0 ? null : attrs,
    })
    if (!isHeading) return copy
    if (token.nesting === 1) copy.attrSet('class', `heading heading-${token.tag.slice(1)}`)
    return Object.assign(copy, { type: token.type.replace('heading', 'paragraph'), tag: 'p' })
  })
}

/** Returns the first blocks, at least one. @param most UTF-16 units of their source */
export function firstBlocks(tokens: readonly Token[], text: string, most: number): readonly Token[] {
  const lengths = text.split('\n').map(({ length }) => length + 1)
  let units = 0
  for (const [at, { level, nesting, map, type }] of tokens.entries()) {
    if (level !== 0 || nesting < 0) continue
    if (type === 'footnote_block_open') return tokens.slice(0, at)
    const [from, to] = map ?? [0, 0]
    for (const length of lengths.slice(from, to)) units += length
    if (units > most && at > 0) return tokens.slice(0, at)
  }
  return tokens
}
