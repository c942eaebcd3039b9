/** Marks of documentation generators: callouts between colons, and imports of MDX. */

import type { Markdown } from '../../markdown/dialect.ts'
import { familyOf } from './callouts.ts'

type BlockRule = Parameters<Markdown['block']['ruler']['before']>[2]
type BlockState = Parameters<BlockRule>[0]

/** `:::note`, `::: tip Title` or `:::note[Title]{…}`, as in Docusaurus, Starlight and VitePress. */
const opening =
  /^(:{3,})[ \t]*(note|info|tip|success|important|caution|warning|danger|details)(?:\[([^\]]*)\]|[ \t]+([^{]*))?[ \t]*(?:\{.*\})?[ \t]*$/i
const importLine =
  /^(?:import\s(?:[\w$*{},\s]+\sfrom\s+)?(["'])[^"']+\1;?|export\s+(?:const|let|default|function)\b.*)\s*$/

/** Lines of a callout. The search for its end may be repeated for each line. */
const mostLines = 200

export function addDocsMarks(markdown: Markdown): void {
  const alt = ['paragraph', 'reference', 'blockquote', 'list']
  markdown.block.ruler.before('fence', 'colon_callout', colonCallout, { alt })
  markdown.block.ruler.before('fence', 'mdx_lines', mdxLines)
}

function lineAt(state: BlockState, line: number): string {
  return state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line])
}

const colonCallout: BlockRule = (state, start, endLine, silent) => {
  const [, colons = '', kind = '', inBrackets, after] = opening.exec(lineAt(state, start)) ?? []
  if (colons === '') return false
  const last = Math.min(endLine, start + mostLines)
  let end = start + 1
  while (end < last && !isEnd(lineAt(state, end), colons.length)) end++
  if (end >= last) return false
  if (silent) return true
  const [isFolded, family] = [kind.toLowerCase() === 'details', familyOf.get(kind.toLowerCase()) ?? 'note']
  const [outer, inner] = isFolded ? ['details', 'summary'] : ['div', 'p']
  const open = state.push('colon_callout_open', outer, 1)
  open.attrSet('class', `callout ${family}`)
  open.attrSet('dir', 'auto')
  state.push('callout_title_open', inner, 1).attrSet('class', 'callout-title')
  state.push('callout_icon', '', 0).info = family
  const title = (inBrackets ?? after ?? '').trim() || kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase()
  Object.assign(state.push('inline', '', 0), { content: title, children: [] })
  state.push('callout_title_close', inner, -1)
  const { lineMax, parentType } = state
  Object.assign(state, { lineMax: end, parentType: 'blockquote' })
  state.md.block.tokenize(state, start + 1, end)
  Object.assign(state, { lineMax, parentType })
  state.push('colon_callout_close', outer, -1)
  state.line = end + 1
  return true
}

/** True for a line of at least so many colons. */
function isEnd(line: string, colons: number): boolean {
  return line.startsWith(':::') && /^:+\s*$/.test(line) && line.trimEnd().length >= colons
}

/** Leaves out the imports and exports with which a text of MDX begins. */
const mdxLines: BlockRule = (state, start, endLine, silent) => {
  if (silent || state.tokens.length > 0) return false
  let line = start
  while (line < endLine && importLine.test(lineAt(state, line))) line++
  if (line === start) return false
  state.line = line
  return true
}
