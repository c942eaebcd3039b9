/** Texts of comments as HTML. */

import { markdown, type Resolve } from './markdown.ts'
import { showText } from './texts.ts'

interface Said {
  /** Identifies the text. */
  readonly key: string
  /** Identifies the comment on its page. */
  readonly scope: string
  readonly text: string
  /** The names of the users whom it mentions. */
  readonly names: readonly string[]
  readonly resolve: Resolve
}

/** Renders a comment. Only its footnotes have ids, so that no other fragment of the page leads into it. */
export async function showComment({ key, scope, text, names, resolve }: Said, signal: AbortSignal): Promise<string> {
  const { html } = await showText({ key, scope, text, title: '', resolve }, signal)
  return withMentions(html, names)
}

/** Splits HTML into tags and the text between them. */
const tagsAndText = /(<[^>]*>)|[^<]+/g

/** Marks `@Name` in the text, except in code and links. Headings become paragraphs. */
function withMentions(html: string, names: readonly string[]): string {
  const escaped = names.map((name) => markdown.utils.escapeHtml(name)).filter((name) => name.trim() !== '')
  const longestFirst = escaped
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  const mention = new RegExp(`(?<![\\p{L}\\p{N}_])@(?:${longestFirst.join('|')})(?![\\p{L}\\p{N}_])`, 'giu')
  let depth = 0
  return html.replace(tagsAndText, (part, tag?: string) => {
    if (tag === undefined)
      return depth > 0 || names.length === 0 ? part : part.replace(mention, '<strong class="mention">$&</strong>')
    if (/^<(a|code|pre)\b/.test(tag)) depth++
    else if (/^<\/(a|code|pre)>/.test(tag)) depth--
    return tag
      .replace(/^<h[1-6]\b[^>]*/, '<p class="heading"')
      .replace(/^<\/h[1-6]/, '</p')
      .replace(/ id="(?!fn(?:ref)?:)[^"]*"/g, '')
  })
}
