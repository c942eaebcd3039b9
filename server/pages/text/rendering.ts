/** Renders the text of a node as HTML. Used by the server and the editor's preview. */

import * as limits from '../../base/limits.ts'
import { withoutHead } from '../../markdown/front-matter-lines.ts'
import { drawing, type Tools } from './drawing.ts'
import {
  type Env,
  type Heading,
  markdown,
  plainText,
  type Resolve,
  readBlocks,
  readInline,
  readingBlocks,
  readingInline,
  TooMuchError,
  titleText,
} from './markdown.ts'

export interface ShownText {
  readonly html: string
  /** The first headings of levels 2 and 3. */
  readonly headings: readonly Heading[]
  /** The beginning as plain text; '' without a paragraph. */
  readonly summary: string
}

const summaryCharacters = 200

type Tokens = ReturnType<typeof markdown.parse>

/**
 * Renders a text at once.
 *
 * @param title the node's title; a first heading that repeats it is left out
 * @param tools without them, formulas stay TeX and code has no colours
 */
export function renderText(text: string, title: string, resolve: Resolve, tools: Tools = {}): ShownText {
  const steps = rendering(text, title, newEnv(resolve), tools)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

export function newEnv(resolve: Resolve, scope?: string): Env {
  return { ...(scope === undefined ? {} : { scope }), resolve, ids: new Map(), headings: [], closings: [] }
}

/** True if a text is shown as source, without its links. */
export function isTooLong(text: string): boolean {
  return text.length > limits.markdownBytes || new TextEncoder().encode(text).length > limits.markdownBytes
}

/** Renders a text in steps of some milliseconds. A text beyond a limit is shown as source. */
export function* rendering(
  text: string,
  title: string,
  env: Env,
  tools: Tools,
): Generator<undefined, ShownText, undefined> {
  if (isTooLong(text)) return asSource(text, 'is longer than 512 KiB')
  try {
    const tokens = belowTitle(withoutTitle(yield* parsing(text, env, tools), title))
    const html = yield* writing(tokens, env, limits.htmlUnits)
    return { html, headings: contentsOf(env), summary: summaryOf(tokens) }
  } catch (error) {
    if (!(error instanceof TooMuchError)) throw error
    return asSource(text, 'has too many parts')
  }
}

/** Parses a text and draws its formulas, in steps. @throws TooMuchError it has too many blocks */
export function* parsing(text: string, env: Env, tools: Tools): Generator<undefined, Tokens, undefined> {
  const state = new markdown.core.State(withoutHead(text), markdown, env)
  for (const rule of markdown.core.ruler.getRules('')) {
    if (rule === readInline) yield* readingInline(state)
    else if (rule === readBlocks) yield* readingBlocks(state)
    else rule(state)
    yield
  }
  yield* drawing(state.tokens, tools)
  return state.tokens
}

/**
 * Writes the HTML of tokens that were parsed with `env`, block by block.
 *
 * @throws TooMuchError the HTML has more than `longest` UTF-16 units
 */
export function* writing(tokens: Tokens, env: Env, longest: number): Generator<undefined, string, undefined> {
  let html = ''
  let from = 0
  for (const [at, { level, nesting }] of tokens.entries()) {
    if (level > 0 || nesting > 0) continue
    html += markdown.renderer.render(tokens.slice(from, at + 1), markdown.options, env)
    from = at + 1
    if (html.length > longest) throw new TooMuchError()
    yield
  }
  return html
}

function contentsOf({ headings }: Env): readonly Heading[] {
  // A heading that is only a picture has no words to list.
  return headings
    .filter(({ level, text }) => (level === 2 || level === 3) && text !== '')
    .slice(0, limits.contentsHeadings)
}

function summaryOf(tokens: Tokens): string {
  const at = tokens.findIndex(({ type, attrs }) => type === 'paragraph_open' && attrs === null)
  return at < 0 ? '' : cut(plainText(tokens[at + 1]?.children ?? []))
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

/** Shows a text as its source. @param why what the text is or has, after "This text" */
export function asSource(text: string, why: string): ShownText {
  const reason = `<p class="why">This text ${why}, so it is shown as its source.</p>`
  const html = `${reason}\n<pre class="long" tabindex="0">${markdown.utils.escapeHtml(text)}</pre>`
  return { html, headings: [], summary: '' }
}

function cut(text: string): string {
  if (text.length <= summaryCharacters) return text
  return `${text.slice(0, summaryCharacters).replace(/\s+\S*$/u, '')}…`
}
