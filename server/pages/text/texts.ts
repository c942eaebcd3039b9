/** Texts of nodes as HTML, cached by the text and the targets of its links. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createCache } from '../../../gitstore/caching/caches.ts'
import { toolsFor } from './drawing.ts'
import type { Resolve } from './markdown.ts'
import { newEnv, rendering, type ShownText } from './rendering.ts'
import { createSharedWork } from './shared-work.ts'

export type { ShownText } from './rendering.ts'

/** Cached HTML. */
const kept = createCache<ShownText>('shown_texts')
const shared = createSharedWork<ShownText>()

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

/** Renders a text, or waits until another reader's rendering of it ends. @throws the signal's reason */
export async function showText({ key, text, title, resolve, scope }: Written, signal: AbortSignal): Promise<ShownText> {
  const known = kept.get(key)
  if (known !== undefined) return known
  return shared(key, signal, async (wanted) => {
    const shown = await renderInTurns(text, title, { resolve, ...(scope !== undefined && { scope }) }, wanted)
    kept.set(key, shown, { size: 2 * (shown.html.length + key.length) + 500 })
    return shown
  })
}

/** Renders as `renderText` does, but yields to the event loop. @throws the signal's reason */
export async function renderInTurns(
  text: string,
  title: string,
  { resolve, scope }: Pick<Written, 'resolve' | 'scope'>,
  signal: AbortSignal,
): Promise<ShownText> {
  return inTurns(rendering(text, title, newEnv(resolve, scope), await toolsFor(text)), signal)
}

/** Milliseconds of steps between two yields to the event loop. */
const turnMs = 5

/** Runs all steps and returns the result. @throws the signal's reason, and errors of the steps */
export async function inTurns<T>(steps: Generator<undefined, T, undefined>, signal: AbortSignal): Promise<T> {
  let turn = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (performance.now() - turn < turnMs) continue
    await nextTurn()
    signal.throwIfAborted()
    turn = performance.now()
  }
}
