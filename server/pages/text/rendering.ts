/** Renders the text of a node as HTML. Used by the server and the editor's preview. */

import { withoutHead } from '../../markdown/front-matter-lines.ts'
import { drawing, type Tools } from './drawing.ts'
import { type Env, type Heading, longestText, markdown, plainText, type Resolve, titleText } from './markdown.ts'

export interface ShownText {
  readonly html: string
  /** The headings of levels 2 and 3. */
  readonly headings: readonly Heading[]
  /** The beginning as plain text; '' without a paragraph. */
  readonly summary: string
}

const summaryCharacters = 200

type Tokens = ReturnType<typeof markdown.parse>

/**
 * Renders a text.
 *
 * @param title the node's title; a first heading that repeats it is left out
 * @param tools without them, formulas stay TeX and code has no colours
 */
export function renderText(text: string, title: string, resolve: Resolve, tools: Tools = {}): ShownText {
  if (text.length > longestText) return asSource(text)
  const env = newEnv(resolve)
  const tokens = markdown.parse(withoutHead(text), env)
  for (const _ of drawing(tokens, tools));
  return renderPage(tokens, title, env)
}

export function newEnv(resolve: Resolve, scope?: string): Env {
  return { ...(scope === undefined ? {} : { scope }), resolve, ids: new Map(), headings: [], closings: [] }
}

/** Renders tokens that were parsed with `env`. */
export function renderPage(read: Tokens, title: string, env: Env): ShownText {
  const { headings } = env
  const tokens = belowTitle(withoutTitle(read, title))
  const html = markdown.renderer.render(tokens, markdown.options, env)
  const at = tokens.findIndex(({ type, attrs }) => type === 'paragraph_open' && attrs === null)
  const summary = at < 0 ? '' : cut(plainText(tokens[at + 1]?.children ?? []))
  return { html, headings: headings.filter(({ level }) => level === 2 || level === 3), summary }
}

/** Lowers all headings by one level if the text has an h1. The title is the page's h1. */
function belowTitle<T extends { type: string; tag: string }>(tokens: T[]): T[] {
  const headings = tokens.filter(({ type }) => type === 'heading_open' || type === 'heading_close')
  if (headings.some(({ tag }) => tag === 'h1'))
    for (const heading of headings) heading.tag = `h${Math.min(6, Number(heading.tag.slice(1)) + 1)}`
  return tokens
}

export function withoutTitle<T extends { type: string; tag: string; children: Parameters<typeof titleText>[0] | null }>(
  tokens: readonly T[],
  title: string,
): T[] {
  const [first, words] = tokens
  // An imported title may contain `{ #id }`.
  const shown = title.replace(/\{\s*#[\w-]+\s*\}\s*$/, '').trim()
  const isTitle = first?.type === 'heading_open' && first.tag === 'h1' && titleText(words?.children ?? []) === shown
  return tokens.slice(isTitle ? 3 : 0)
}

/** Shows a text that is too long to parse as plain text. */
export function asSource(text: string): ShownText {
  const html = `<pre class="long" tabindex="0">${markdown.utils.escapeHtml(text)}</pre>`
  return { html, headings: [], summary: '' }
}

function cut(text: string): string {
  if (text.length <= summaryCharacters) return text
  return `${text.slice(0, summaryCharacters).replace(/\s+\S*$/u, '')}…`
}
