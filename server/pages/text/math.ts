/** Formulas on pages: MathML, or the TeX if there is none. */

import type { Token } from 'markdown-it'
import type { Markdown } from '../../markdown/dialect.ts'
import { isFormula } from './drawing.ts'
import type { Drawn } from './formulas.ts'

/** UTF-16 units of TeX that fit on a phone. The keyboard must reach a longer formula to scroll it. */
const fitting = 30

export function addMathRules({ renderer, utils: { escapeHtml } }: Markdown): void {
  const { rules } = renderer
  const { fence } = rules
  rules.math_inline = (tokens, index) => {
    const token = tokens[index]
    if (token?.markup === '$$') return `<span class="math block">${shown(token)}</span>`
    const { isLong } = drawnOf(token)
    return isLong ? `<span class="math long">${shown(token)}</span>` : shown(token)
  }
  rules.math_block = (tokens, index) => block(tokens[index])
  rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index]
    return token && isFormula(token) ? block(token) : (fence?.(tokens, index, ...rest) ?? '')
  }

  function block(token: Token | undefined): string {
    const reach = (token?.content.length ?? 0) > fitting ? ' tabindex="0"' : ''
    return `<div class="math block"${reach}>${shown(token)}</div>\n`
  }

  function shown(token: Token | undefined): string {
    const { html, problem } = drawnOf(token)
    if (html !== undefined) return html
    const why = problem === undefined ? '' : ` title="This formula cannot be shown: ${escapeHtml(problem)}."`
    return `<code class="tex"${why}>${escapeHtml(token?.content.trim() ?? '')}</code>`
  }
}

function drawnOf(token: Token | undefined): Drawn {
  return token?.meta?.drawn ?? {}
}

/** Returns the characters of an inline formula that a reader sees, or its TeX. */
export function textOfFormula(token: Token): string {
  return drawnOf(token).text ?? sourceOfFormula(token)
}

export function sourceOfFormula({ content, markup }: Token): string {
  return markup + content + markup
}
