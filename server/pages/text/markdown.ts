/**
 * Markdown as a page shows it. HTML from authors is shown as text, except a few elements without attributes. Wiki links,
 * embeds, callouts, comments and block ids follow Obsidian.
 */

import type { Token } from 'markdown-it'
import addMarks from 'markdown-it-mark'
import * as limits from '../../base/limits.ts'
import { newMarkdown } from '../../markdown/dialect.ts'
import { wikilinkParts } from '../../markdown/wikilinks.ts'
import { type Alone, addAlone } from './alone.ts'
import { addCallouts } from './callouts.ts'
import { code } from './code.ts'
import { addDocsMarks } from './docs-marks.ts'
import { type Card, cardBlock } from './embeds.ts'
import { addFootnotes } from './footnotes.ts'
import { addInlineHtml } from './inline-html.ts'
import { addMathRules, sourceOfFormula, textOfFormula } from './math.ts'
import {
  type Embedded,
  elsewhere,
  embeddedOf,
  fileBlock,
  fileLink,
  isMediaName,
  type Media,
  picture,
  pictureBlock,
  player,
  playerBlock,
} from './media.ts'
import { addMermaid } from './mermaid.ts'
import { addPageRules } from './page-rules.ts'
import { addTasks } from './tasks.ts'

/** Maximum length of a paragraph in UTF-16 units. Parsing its links may take quadratic time. */
const longestBlock = 8 * 1024

/** A text has more blocks, or would make more HTML, than a page shows. */
export class TooMuchError extends Error {}

export interface Heading {
  readonly level: number
  readonly id: string
  readonly text: string
}

/** The target of a link or an image. */
export interface Target {
  readonly href: string
  /**
   * `node`: a node of this organisation. `file`: a file of the node. `outside`: on another host. `missing`: the form that
   * creates the node.
   */
  readonly kind: 'node' | 'file' | 'outside' | 'missing'
  /** The text to show if the link has none. */
  readonly name: string
  /** The way to show a file. Absent if it is not a picture, a sound, a video or a PDF. */
  readonly media?: Media
  /** The card of a node that is embedded. */
  readonly card?: Card
}

/**
 * Resolves a target; undefined if it does not exist. `isWiki`: written as `[[target]]`. `isEmbed`: an image or
 * `![[target]]`.
 */
export type Resolve = (target: string, isWiki: boolean, isEmbed?: boolean) => Target | undefined

/** State that the rules share for one text. Notes of markdown-it are also in it. */
export interface Env {
  readonly [note: string | symbol]: unknown
  readonly resolve: Resolve
  /** Distinguishes the texts of one page in ids of footnotes. */
  readonly scope?: string
  /** Number of headings by id so far. */
  readonly ids: Map<string, number>
  readonly headings: Heading[]
  /** Closing tags of the open links. */
  readonly closings: string[]
}

export const markdown = newMarkdown({ html: false })
// `Resolve` decides which targets become links.
markdown.validateLink = () => true
const { State } = markdown.block
markdown.block.State = class extends State {
  override push(...token: Parameters<InstanceType<typeof State>['push']>) {
    if (this.tokens.length >= limits.markdownBlocks) throw new TooMuchError()
    return super.push(...token)
  }
}
addMarks(markdown)
addFootnotes(markdown)
addInlineHtml(markdown)
addPageRules(markdown)
addTasks(markdown)
addCallouts(markdown)
addDocsMarks(markdown)
addAlone(markdown)

/** Turns a paragraph that is too long into plain text. */
markdown.core.ruler.before('inline', 'long_blocks', (state) => {
  for (const token of state.tokens) {
    if (token.type !== 'inline' || token.content.length <= longestBlock) continue
    const text = new state.Token('text', '', 0)
    text.content = token.content
    Object.assign(token, { type: 'inline_text', children: [text] })
  }
})

type CoreState = InstanceType<typeof markdown.core.State>

/** Parses the blocks as markdown-it does. Yields after each block that is in no other. */
export function* readingBlocks({ src, env, tokens }: CoreState): Generator<undefined> {
  const state = new markdown.block.State(src, markdown, env, tokens)
  const rules = markdown.block.ruler.getRules('')
  for (;;) {
    const line = state.skipEmptyLines(state.line)
    if (line >= state.lineMax) return
    state.line = line
    rules.some((rule) => rule(state, line, state.lineMax, false))
    yield
  }
}

/** The block rule of markdown-it. `rendering.ts` replaces it by `readingBlocks`, step by step. */
export const readBlocks = (state: CoreState): void => {
  for (const _ of readingBlocks(state));
}
markdown.core.ruler.at('block', readBlocks)

/** Parses the inline content of the blocks. Yields after each block. */
export function* readingInline({ tokens, env }: CoreState): Generator<undefined> {
  for (const { type, content, children } of tokens) {
    if (type !== 'inline') continue
    markdown.inline.parse(content, markdown, env, children ?? [])
    yield
  }
}

/** The inline rule of markdown-it. `rendering.ts` replaces it by `readingInline`, step by step. */
export const readInline = (state: CoreState): void => {
  for (const _ of readingInline(state));
}
markdown.core.ruler.at('inline', readInline)

const escapeHtml = markdown.utils.escapeHtml
const { rules } = markdown.renderer

rules.link_open = (tokens, index, _options, env) => {
  const token = tokens[index]
  const target = envOf(env).resolve(String(token?.attrGet('href') ?? ''), false)
  closings(env).push(target === undefined ? '</span>' : '</a>')
  const title = token?.attrGet('title')
  const titled = title ? ` title="${escapeHtml(String(title))}"` : ''
  return target === undefined ? missing : opening(target, titled)
}
rules.link_close = (_tokens, _index, _options, env) => closings(env).pop() ?? ''

rules.wikilink = (tokens, index, _options, env) => {
  const token = tokens[index]
  if (token?.markup === '!') return embedded(embeddedOf(token, ''), envOf(env))
  const { target, words } = wikilinkParts(token?.content ?? '')
  const found = envOf(env).resolve(target, true)
  const name = escapeHtml(words || found?.name || target)
  return found === undefined ? `${missing}${name}</span>` : `${opening(found)}${name}</a>`
}

rules.image = (tokens, index, _options, env) => {
  const token = tokens[index]
  return token === undefined ? '' : embedded(embeddedOf(token, altOf(token)), envOf(env))
}

/** A line that has only an image or an embed. */
rules.alone = (tokens, index, _options, env) => {
  const { children, meta } = tokens[index] ?? {}
  const [token] = children ?? []
  if (token === undefined) return ''
  const { isWhole, isTight } = meta as unknown as Alone // the rule `alone` sets it
  const one = embeddedOf(token, altOf(token))
  const id = tokens[index]?.attrGet('id')
  const html = embeddedBlock(one, envOf(env), isWhole)
  const own = html ?? (isTight ? embedded(one, envOf(env)) : `<p>${embedded(one, envOf(env))}</p>\n`)
  return id ? own.replace(/^<\w+/, `$& id="${escapeHtml(String(id))}"`) : own
}

function altOf({ type, children, content }: Token): string {
  if (type === 'wikilink') return ''
  return children === null ? content : plainText(children)
}

/** Returns an image or an embed as part of a line. */
function embedded(one: Embedded, env: Env): string {
  const { target, isWiki, alt } = one
  const isInLink = env.closings.length > 0
  const found = env.resolve(target, isWiki, true)
  const asText = (html: string) => (isInLink ? escapeHtml(alt || found?.name || target) : html)
  if (found === undefined) return broken(one)
  const { kind, media, name, href } = found
  if (kind === 'file' && media !== undefined) {
    const shown = { href, name, media }
    if (media.kind === 'picture') return picture(shown, one, isInLink)
    return asText(
      media.kind === 'pdf' ? fileLink(shown, one, fragmentOf(target)) : player(shown, one, fragmentOf(target)),
    )
  }
  const isOutsidePicture = kind === 'outside' && !/^(mailto|tel):/i.test(href)
  const words = isOutsidePicture && !isInLink ? elsewhere(href, alt) : alt || name || 'picture'
  return asText(`${opening(found)}${escapeHtml(words)}</a>`)
}

/** Returns an image or an embed as a block. Undefined if it is only a link. */
function embeddedBlock(one: Embedded, env: Env, isWhole: boolean): string | undefined {
  const found = env.resolve(one.target, one.isWiki, true)
  if (found?.card !== undefined) return cardBlock({ ...found, card: found.card }, env)
  if (found?.kind !== 'file' || found.media === undefined) return undefined
  const shown = { href: found.href, name: found.name, media: found.media }
  if (found.media.kind === 'picture') return pictureBlock(shown, one, isWhole)
  if (found.media.kind === 'pdf') return fileBlock(shown, one, fragmentOf(one.target))
  return playerBlock(shown, one, fragmentOf(one.target))
}

function fragmentOf(target: string): string {
  return target.split('#')[1] ?? ''
}

/** Returns the words for an image or an embed that does not exist. The name of its file says what is missing. */
function broken({ target, isWiki, alt }: Embedded): string {
  const path = target.split(/[?#]/, 1)[0] ?? ''
  const name = path.split('/').at(-1) ?? ''
  if (isWiki && !isMediaName(path)) return `${missing}${escapeHtml(alt || target)}</span>`
  const says = `Missing file: ${name.slice(0, 200) || 'no name'}`
  return `<span class="missing" title="This page has no file with this name">${escapeHtml(alt === '' || alt === name ? says : `${alt} · ${says}`)}</span>`
}

rules.inline_text = (tokens, index) => escapeHtml(tokens[index]?.content ?? '')

rules.heading_open = (tokens, index, _options, env) => {
  const level = Number(tokens[index]?.tag.slice(1) ?? 2)
  const text = plainText(tokens[index + 1]?.children ?? [])
  const named = tokens[index]?.attrGet('id')
  const id = uniqueId(envOf(env).ids, headingId(named ? String(named) : text))
  envOf(env).headings.push({ level, id, text })
  const heading = `<h${level} id="${escapeHtml(id)}">`
  return hasAnchors(env) ? `<div class="heading">${heading}` : heading
}
rules.heading_close = (tokens, index, _options, env) => {
  const { tag = 'h2' } = tokens[index] ?? {}
  const { id = '', text } = envOf(env).headings.at(-1) ?? {}
  const name = escapeHtml(text ? `Link to “${text}”` : 'Link to this heading')
  const anchor = `<a class="anchor" href="#${encodeURIComponent(id)}" aria-label="${name}"></a></div>`
  return `</${tag}>${hasAnchors(env) ? anchor : ''}\n`
}

/** Comments have no ids to link to. */
function hasAnchors(env: unknown): boolean {
  return envOf(env).scope === undefined
}

// The content security policy forbids `style` attributes, so alignment is a class.
rules.th_open = (tokens, index) => `<th${alignment(tokens[index])}>`
rules.td_open = (tokens, index) => `<td${alignment(tokens[index])}>`
rules.table_open = () => '<div class="scroll" role="region" aria-label="Table" tabindex="0" dir="auto"><table>\n'
rules.table_close = () => '</table></div>\n'
rules.fence = (tokens, index) => code(tokens[index])
rules.code_block = (tokens, index) => code(tokens[index])
for (const rule of ['bullet_list_open', 'ordered_list_open', 'blockquote_open'])
  rules[rule] = (tokens, index, options, _env, self) => {
    // An inner list has the direction of the outer one.
    if (tokens[index]?.level === 0) tokens[index].attrSet('dir', 'auto')
    return self.renderToken(tokens, index, options)
  }
addMathRules(markdown)
addMermaid(markdown)

const toBeMade = ' title="No page has this name yet. Create it"'
const missing = '<span class="missing" title="No page or file has this name yet">'

/** @param titled the attribute with the title that the text gives the link */
function opening({ href, kind }: Target, titled = ''): string {
  const rel = kind === 'outside' ? ' rel="nofollow noopener"' : ''
  return `<a class="${kind}" href="${escapeHtml(href)}"${kind === 'missing' ? toBeMade : `${titled}${rel}`}>`
}

function alignment(token: Token | undefined): string {
  const [, side] = /text-align:(left|center|right)/.exec(String(token?.attrGet('style') ?? '')) ?? []
  return side === undefined ? '' : ` class="to-${side}"`
}

function closings(env: unknown): string[] {
  return envOf(env).closings
}

function envOf(env: unknown): Env {
  return env as Env // markdown-it passes on what `render` was given
}

/** Returns the text of inline tokens as a reader sees it. */
export function plainText(tokens: readonly Token[]): string {
  return tokens.map(shownText).join('').trim()
}

/** Returns the text of a heading as imports use it for titles. Formulas are TeX. */
export function titleText(tokens: readonly Token[]): string {
  const text = (token: Token) => (token.type === 'math_inline' ? sourceOfFormula(token) : shownText(token))
  return tokens.map(text).join('').trim()
}

function shownText(token: Token): string {
  const { type, content, children } = token
  if (type === 'softbreak' || type === 'hardbreak') return ' '
  if (type === 'wikilink') return shownOfLink(content)
  if (type === 'math_inline') return textOfFormula(token)
  if (type === 'image') return plainText(children ?? [])
  return type === 'text' || type === 'code_inline' ? content : ''
}

function shownOfLink(inner: string): string {
  const { target, words } = wikilinkParts(inner)
  return words || target
}

/** Returns the id of a heading, which links use. It has lower-case letters, digits (any script) and hyphens. */
export function headingId(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return words.join('-').slice(0, 100) || 'heading'
}

function uniqueId(ids: Map<string, number>, id: string): string {
  const count = ids.get(id) ?? 0
  ids.set(id, count + 1)
  return count === 0 ? id : `${id}-${count + 1}`
}
