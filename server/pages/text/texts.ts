/** Texts of nodes as HTML, kept as long as the blob and what its links lead to are the same. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { withoutHead } from '../../markdown/front-matter-lines.ts'
import { longestText, markdown, type Resolve, readInline, readingInline } from './markdown.ts'
import { asSource, newEnv, renderPage, type ShownText } from './rendering.ts'

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

export async function showText({ key, text, title, resolve }: Written): Promise<ShownText> {
  const known = kept.get(key)
  if (known !== undefined) return known
  const shown = await renderInTurns(text, title, resolve)
  kept.set(key, shown, { size: 2 * (shown.html.length + key.length) + 500 })
  return shown
}

/** Milliseconds of reading between two turns of the event loop. */
const turnMs = 5

/** As renderText, with turns of the event loop between the steps of reading and between blocks. */
export async function renderInTurns(text: string, title: string, resolve: Resolve): Promise<ShownText> {
  if (text.length > longestText) return asSource(text)
  const env = newEnv(resolve)
  const state = new markdown.core.State(withoutHead(text), markdown, env)
  let turn = performance.now()
  const turned = async () => {
    if (performance.now() - turn < turnMs) return
    await nextTurn()
    turn = performance.now()
  }
  for (const rule of markdown.core.ruler.getRules('')) {
    if (rule === readInline) for (const _ of readingInline(state)) await turned()
    else rule(state)
    await turned()
  }
  return renderPage(state.tokens, title, env)
}
