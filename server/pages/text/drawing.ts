/**
 * The parts of a text that large libraries draw: formulas and the colours of code.
 *
 * A page draws them one by one, so that the event loop gets its turns. Pages and the editor's preview load a library only
 * for texts that need it.
 */

import type { Token } from 'markdown-it'
import type { Drawn } from './formulas.ts'

export interface Tools {
  readonly formula?: (tex: string, isDisplay: boolean) => Drawn
}

/** Loads the tools that a text may need. */
export async function toolsFor(text: string): Promise<Tools> {
  const hasFormulas = /\$|^[ \t>]*[`~]{3,}[ \t]*math\b/m.test(text)
  const { formula } = hasFormulas ? await import('./formulas.ts') : {}
  return formula ? { formula } : {}
}

/** Limits of a text. `tex`, `allTex`: UTF-16 units of one formula and of all. */
const most = { tex: 2_000, formulas: 1_000, allTex: 40_000 } as const

/** Draws the formulas of a parsed text. Each is one step. Token `meta` has the result. */
export function* drawing(tokens: readonly Token[], { formula }: Tools): Generator<undefined> {
  const left = { formulas: most.formulas, tex: most.allTex }
  for (const token of withChildren(tokens)) {
    if (!isFormula(token) || formula === undefined) continue
    const tex = token.content.trim()
    left.formulas--
    left.tex -= tex.length
    const drawn: Drawn =
      tex.length > most.tex
        ? { problem: `it has more than ${most.tex.toLocaleString('en')} characters` }
        : left.formulas < 0 || left.tex < 0
          ? { problem: 'this page has too many formulas' }
          : formula(tex, token.markup !== '$')
    token.meta = { ...token.meta, drawn }
    yield
  }
}

/** True for `$…$`, `$$…$$` and a fence of the language `math`. */
export function isFormula({ type, info }: Token): boolean {
  return type === 'math_inline' || type === 'math_block' || (type === 'fence' && /^\s*math\s*$/i.test(info))
}

function* withChildren(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    yield token
    if (token.type === 'inline' && token.children) yield* token.children
  }
}
