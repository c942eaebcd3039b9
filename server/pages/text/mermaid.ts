/** Fenced blocks of Mermaid. Without script their source is shown. With script, client/diagrams.ts draws them. */

import * as limits from '../../base/limits.ts'
import type { Markdown } from '../../markdown/dialect.ts'
import { escaped } from './escape.ts'

/** Number of diagrams by text. */
const counts = new WeakMap<object, number>()

/** Adds the rule. It leaves other fences to the rule before it. */
export function addMermaid(markdown: Markdown): void {
  const { rules } = markdown.renderer
  const others = rules.fence
  rules.fence = (tokens, index, options, env, self) => {
    const { info = '', content = '' } = tokens[index] ?? {}
    if (!/^\s*mermaid\s*$/i.test(info)) return others?.(tokens, index, options, env, self) ?? ''
    const text = env ?? {}
    const number = (counts.get(text) ?? 0) + 1
    counts.set(text, number)
    const source = `<pre tabindex="0"><code>${escaped(content)}</code></pre>`
    const why =
      number > limits.diagrams
        ? `Only the first ${limits.diagrams} diagrams of a page are drawn.`
        : content.length > limits.diagramUnits
          ? `This diagram is not drawn, because its source has over ${limits.diagramUnits.toLocaleString('en')} characters.`
          : undefined
    const details = `<details open><summary>Source of the diagram</summary>${source}</details>`
    if (why !== undefined) return `<figure class="diagram">${details}<p class="why">${why}</p></figure>\n`
    return `<figure class="diagram" data-diagram>${details}</figure>\n`
  }
}

/** True if HTML of a text has a diagram to draw. */
export function hasDiagrams(html: string): boolean {
  return html.includes(' data-diagram>')
}
