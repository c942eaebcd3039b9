/**
 * The parts of a text that large libraries draw: formulas and the colours of code.
 *
 * A page draws them one by one, so that the event loop gets its turns. Pages and the editor's preview load a library only
 * for texts that need it.
 */

import type { Token } from 'markdown-it'
import { languageOf } from './code.ts'
import type { Coloured } from './colours.ts'
import type { Drawn } from './formulas.ts'

export interface Tools {
  readonly formula?: (tex: string, isDisplay: boolean) => Drawn
  readonly colour?: (code: string, named: string) => Coloured
}

/** Loads the tools that a text may need. */
export async function toolsFor(text: string): Promise<Tools> {
  const hasFormulas = /\$|^[ \t>]*[`~]{3,}[ \t]*math\b/m.test(text)
  const hasCode = /(?:`{3}|~{3})[ \t]*[\w{]/.test(text)
  const [formulas, colours] = await Promise.all([
    hasFormulas ? import('./formulas.ts') : undefined,
    hasCode ? import('./colours.ts') : undefined,
  ])
  return { ...(formulas && { formula: formulas.formula }), ...(colours && { colour: colours.colour }) }
}

/** Limits of a text, in UTF-16 units. `tex`, `allTex`: of one formula, of all. `allCode`: with colours. */
const most = { tex: 2_000, formulas: 1_000, allTex: 40_000, allCode: 40_000 } as const

/** Draws the formulas and the code of a parsed text. Each is one step. `meta` of the token has the result. */
export function* drawing(tokens: readonly Token[], tools: Tools): Generator<undefined> {
  const left = { formulas: most.formulas, tex: most.allTex, code: most.allCode }
  for (const token of withChildren(tokens)) {
    const language = languageOf(token)
    if (isFormula(token)) drawFormula(token, tools, left)
    else if (language !== '' && tools.colour) {
      left.code -= token.content.length
      if (left.code >= 0) token.meta = { ...token.meta, coloured: tools.colour(token.content, language) }
    } else continue
    yield
  }
}

function drawFormula(token: Token, { formula }: Tools, left: { formulas: number; tex: number }): void {
  if (formula === undefined) return
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
