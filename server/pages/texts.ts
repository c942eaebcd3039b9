/** Texts of nodes as HTML, kept as long as the blob and what its links lead to are the same. */

import { LRUCache } from 'lru-cache'
import type { Resolve } from './markdown.ts'
import { renderText, type ShownText } from './rendering.ts'

export type { ShownText } from './rendering.ts'

/** Bytes of memory. */
const kept = new LRUCache<string, ShownText>({ maxSize: 16 * 1_048_576 })

interface Written {
  /** Names the text and all that its links lead to. */
  readonly key: string
  readonly text: string
  /** Of the node: a heading of the same words that begins the text is left out. */
  readonly title: string
  readonly resolve: Resolve
}

export function showText({ key, text, title, resolve }: Written): ShownText {
  const known = kept.get(key)
  if (known !== undefined) return known
  const shown = renderText(text, title, resolve)
  kept.set(key, shown, { size: 2 * (shown.html.length + key.length) + 500 })
  return shown
}
