/** Blocks of code: colours, the name of the language, and a button. */

import type { Token } from 'markdown-it'
import type { Coloured } from './colours.ts'

const units: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string) => text.replace(/[&<>"]/g, (unit) => units[unit] ?? unit)

/** Returns the language that the author names; '' without one. Examples: `js {1}`, `{.python}`, `rust,ignore`. */
export function languageOf({ type, info }: Token): string {
  if (type !== 'fence') return ''
  return /^\s*\{?\.?([a-z][\w#+.-]{0,30})/i.exec(info)?.[1] ?? ''
}

/** Returns a block as HTML. Without script, the button stays hidden. */
export function code(token: Token | undefined): string {
  const { name, html }: Coloured = token?.meta?.coloured ?? {}
  const label = name ?? (token ? languageOf(token) : '')
  const language = label === '' ? '' : `<span>${escaped(label)}</span>`
  const copy = '<button type="button" class="copy" data-copy hidden>Copy</button>'
  const shown = html ?? escaped(token?.content ?? '')
  return `<div class="code"><pre tabindex="0"><code>${shown}</code></pre><div class="code-bar">${language}${copy}</div></div>\n`
}
