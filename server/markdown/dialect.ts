/**
 * The Markdown dialect of Grove: markdown-it with Obsidian's `[[wikilinks]]`.
 *
 * Pages (server/pages/text/markdown.ts) and imports (markdown.ts) add their own rules. It also runs in browsers.
 */
import MarkdownIt from 'markdown-it'
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

/** Creates a parser. A token `wikilink` has the text in the brackets as `content`, and `!` as `markup` if it embeds. */
export function newMarkdown({ kindOf = () => 'link', ...options }: Dialect): Markdown {
  const markdown = new MarkdownIt({ ...options, linkify: true })
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
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
  return markdown
}

interface Search {
  readonly from: number
  readonly found: number
}

/** The last search for each mark, by the owner of the text. */
const searches = new WeakMap<object, Map<string, Search>>()

/**
 * Works like `text.indexOf`, but reuses the last result, so that many openings take linear time.
 *
 * @param owner an object that belongs only to this text
 */
export function nextOf(owner: object, text: string, mark: string, from: number): number {
  const known = searches.get(owner) ?? new Map<string, Search>()
  searches.set(owner, known)
  const last = known.get(mark)
  if (last && last.from <= from && (last.found < 0 || last.found >= from)) return last.found
  const found = text.indexOf(mark, from)
  known.set(mark, { from, found })
  return found
}

/** True if the last search found nothing. */
export function wasMissing(owner: object, mark: string): boolean {
  return searches.get(owner)?.get(mark)?.found === -1
}
