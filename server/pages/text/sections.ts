/** Finds the part of a text that an embed shows. */

import type { Token } from 'markdown-it'
import { headingId, plainText } from './markdown.ts'
import { blockId } from './page-rules.ts'

/** A section by its heading, or a block by its id. Neither: the whole text. */
export interface Part {
  readonly heading?: string
  readonly block?: string
}

/** Returns the tokens of the part; undefined if the text does not have it. @param tokens those of the whole text */
export function partOf(tokens: readonly Token[], { heading, block }: Part): readonly Token[] | undefined {
  if (block !== undefined) return blockOf(tokens, blockId(block))
  return heading === undefined ? tokens : sectionOf(tokens, headingId(heading.split('#').at(-1) ?? heading))
}

/** Returns the section. It ends before the next heading of the same or a higher level. */
function sectionOf(tokens: readonly Token[], id: string): readonly Token[] | undefined {
  const from = tokens.findIndex((token, at) => isHeading(token) && idOf(tokens, at) === id)
  const tag = tokens[from]?.tag
  if (tag === undefined) return undefined
  const ends = tokens.findIndex(
    (token, at) => at > from && ((isHeading(token) && token.tag <= tag) || token.type === 'footnote_block_open'),
  )
  return tokens.slice(from, ends < 0 ? undefined : ends)
}

function isHeading({ type, level }: Token): boolean {
  return type === 'heading_open' && level === 0
}

function idOf(tokens: readonly Token[], at: number): string {
  return headingId(String(tokens[at]?.attrGet('id') ?? '') || plainText(tokens[at + 1]?.children ?? []))
}

/** Returns the block with an id. For an item of a list, that is the item with all that is in it. */
function blockOf(tokens: readonly Token[], id: string): readonly Token[] | undefined {
  const at = tokens.findIndex(
    ({ attrs, type }) => type !== 'heading_open' && attrs?.some(([name, value]) => name === 'id' && value === id),
  )
  const isBlockId = at >= 0 ? at : tokens.findIndex((token) => token.attrGet('id') === id)
  if (isBlockId < 0) return undefined
  const [from, to] = widened(tokens, isBlockId)
  const [list] =
    tokens[from]?.type === 'list_item_open'
      ? tokens
          .slice(0, from)
          .filter((one) => holds(one, tokens[from]))
          .slice(-1)
      : []
  const block = tokens.slice(from, to + 1)
  return list ? [list, ...block, closing(list)] : block
}

function holds({ type, level }: Token, item: Token | undefined): boolean {
  return /^(bullet|ordered)_list_open$/.test(type) && level === (item?.level ?? 0) - 1
}

/** Returns the token that ends a list. */
function closing(list: Token): Token {
  const type = list.type.replace('open', 'close')
  return Object.assign(Object.create(Object.getPrototypeOf(list)), list, { type, nesting: -1, attrs: null, map: null })
}

/** Returns the first and last token of the block whose token `at` has the id. */
function widened(tokens: readonly Token[], at: number): readonly [number, number] {
  const end = endOf(tokens, at)
  const before = tokens[at - 1]
  const cell = /^t[hd]_open$/.test(tokens[at]?.type ?? '')
  if (cell)
    return around(
      tokens,
      tokens.findLastIndex(({ type }, index) => index < at && type === 'table_open'),
      at,
    )
  if (before?.type === 'list_item_open') return [at - 1, endOf(tokens, at - 1)]
  if (before?.type === 'blockquote_open' && tokens[end + 1]?.type === 'blockquote_close') return [at - 1, end + 1]
  // A line that has only the id names the block before it.
  const isEmpty = tokens[at]?.type === 'paragraph_open' && plainText(tokens[at + 1]?.children ?? []) === ''
  return isEmpty && before && before.level === tokens[at]?.level ? [beginOf(tokens, at - 1), at - 1] : [at, end]
}

function around(tokens: readonly Token[], from: number, at: number): readonly [number, number] {
  return from < 0 ? [at, endOf(tokens, at)] : [from, endOf(tokens, from)]
}

function endOf(tokens: readonly Token[], at: number): number {
  const open = tokens[at]
  if (open?.nesting !== 1) return at
  const end = tokens.findIndex(({ nesting, level }, index) => index > at && nesting === -1 && level === open.level)
  return end < 0 ? tokens.length - 1 : end
}

function beginOf(tokens: readonly Token[], at: number): number {
  const close = tokens[at]
  if (close?.nesting !== -1) return at
  return Math.max(
    0,
    tokens.findLastIndex(({ nesting, level }, index) => index < at && nesting === 1 && level === close.level),
  )
}
