/**
 * The Markdown dialect of Grove: markdown-it with Obsidian's `[[wikilinks]]` and formulas.
 *
 * Pages (server/pages/text/markdown.ts) and imports (markdown.ts) add their own rules. It also runs in browsers.
 */
import MarkdownIt from 'markdown-it'
import { addMath } from './math.ts'
import { type Wikilink, wikilinkAt } from './wikilinks.ts'

export type Markdown = InstanceType<typeof MarkdownIt>

interface Dialect {
  /** True if raw HTML becomes tokens; otherwise it is text. */
  readonly html: boolean
  /** Largest number of nested quotes and lists. A list item counts as two. */
  readonly maxNesting?: number
  /** Classifies `[[…]]` at a place of a text. `other` is left to another rule. */
  readonly kindOf?: (link: Wikilink, text: string, at: number) => 'link' | 'text' | 'other'
}

/** Removes punctuation and marks that follow a bare URL. `==` may end a query. Source: GFM §6.9. */
function withoutMarks(url: string): string {
  const hasQuery = url.includes('?')
  for (let end = url.length; ; ) {
    if (end > 0 && '?!.,:;*~'.includes(url.charAt(end - 1))) end--
    else if (!hasQuery && url.endsWith('==', end)) end -= 2
    else return url.slice(0, end)
  }
}

/** Creates a parser. A token `wikilink` has the text in the brackets as `content`, and `!` as `markup` if it embeds. */
export function newMarkdown({ kindOf = () => 'link', ...options }: Dialect): Markdown {
  const markdown = new MarkdownIt({ ...options, linkify: true })
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  const { matchAtStart } = markdown.linkify
  markdown.linkify.matchAtStart = (text) => {
    const match = matchAtStart.call(markdown.linkify, text)
    return match && Object.assign(match, { url: withoutMarks(match.url) })
  }
  // URLs stay as they are written.
  markdown.normalizeLink = (url) => url
  markdown.normalizeLinkText = (url) => url
  markdown.inline.ruler.before('link', 'wikilink', (state, silent) => {
    const { src, pos } = state
    const link = wikilinkAt(src, pos)
    if (link === undefined || pos + link.length > state.posMax) return false
    // If [1] is defined, `[[1]]` is a reference in brackets.
    if (state.env.references?.[markdown.utils.normalizeReference(link.inner)]) return false
    const kind = kindOf(link, src, pos)
    if (kind === 'other') return false
    if (!silent && kind === 'link')
      Object.assign(state.push('wikilink', '', 0), { content: link.inner, markup: link.mark })
    else if (!silent) state.pending += src.slice(pos, pos + link.length)
    state.pos += link.length
    return true
  })
  addMath(markdown)
  return markdown
}
