/** Texts of nodes as HTML, cached by the text and the targets of its links. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { withoutHead } from '../../markdown/front-matter-lines.ts'
import { drawing, toolsFor } from './drawing.ts'
import { type Env, longestText, markdown, type Resolve, readInline, readingInline } from './markdown.ts'
import { asSource, newEnv, renderPage, type ShownText } from './rendering.ts'

export type { ShownText } from './rendering.ts'

/** Cached HTML; `maxSize` is in bytes. */
const kept = new LRUCache<string, ShownText>({ maxSize: 16 * 1_048_576 })

interface Written {
  /** Identifies the text and the targets of its links. */
  readonly key: string
  readonly text: string
  /** The title of the node. A first heading that repeats it is left out. */
  readonly title: string
  readonly resolve: Resolve
  /** Distinguishes the texts of one page in ids of footnotes. */
  readonly scope?: string
}

export async function showText({ key, text, title, resolve, scope }: Written): Promise<ShownText> {
  const known = kept.get(key)
  if (known !== undefined) return known
  const shown = await renderInTurns(text, title, resolve, scope)
  kept.set(key, shown, { size: 2 * (shown.html.length + key.length) + 500 })
  return shown
}

/** Milliseconds of parsing between two yields to the event loop. */
const turnMs = 5

/** Renders as `renderText` does, but yields to the event loop between parsing steps and blocks. */
export async function renderInTurns(text: string, title: string, resolve: Resolve, scope?: string): Promise<ShownText> {
  if (text.length > longestText) return asSource(text)
  const env = newEnv(resolve, scope)
  return renderPage(await parseInTurns(text, env), title, env)
}

/** Parses a text and draws its formulas. Yields to the event loop between steps and blocks. */
export async function parseInTurns(text: string, env: Env): Promise<ReturnType<typeof markdown.parse>> {
  const tools = await toolsFor(text)
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
  for (const _ of drawing(state.tokens, tools)) await turned()
  return state.tokens
}
