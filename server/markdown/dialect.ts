/**
 * The Markdown that Grove reads: markdown-it with Obsidian's `[[wikilinks]]`. Pages (server/pages/text/markdown.ts) and imports
 * (markdown.ts) add rules of their own. Runs in browsers, too.
 */
import MarkdownIt from 'markdown-it'
import { type Wikilink, wikilinkAt } from './wikilinks.ts'

export type Markdown = InstanceType<typeof MarkdownIt>

interface Dialect {
  /** Raw HTML becomes tokens; else it is text. */
  readonly html: boolean
  /** Levels of quotes and lists, of which an item has two. */
  readonly maxNesting?: number
  /** What `[[…]]` at a place of a text is: a link, text, or something that another rule reads. */
  readonly kindOf?: (link: Wikilink, text: string, at: number) => 'link' | 'text' | 'other'
}

/** A token `wikilink` has what stands between the brackets as `content`, and `!` as `markup` if it embeds. */
export function newMarkdown({ kindOf = () => 'link', ...options }: Dialect): Markdown {
  const markdown = new MarkdownIt({ ...options, linkify: true })
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  // Addresses stay as they are written.
  markdown.normalizeLink = (url) => url
  markdown.normalizeLinkText = (url) => url
  markdown.inline.ruler.before('link', 'wikilink', (state, silent) => {
    const { src, pos } = state
    const link = wikilinkAt(src, pos)
    if (link === undefined || pos + link.length > state.posMax) return false
    // `[[1]]` where [1] is defined is a reference in brackets.
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

/** The last search for each mark, by the document or the state whose text was searched. */
const searches = new WeakMap<object, Map<string, Search>>()

/**
 * As `text.indexOf`; a place that is known is not searched for again, so that many openings take linear time.
 *
 * @param owner of the text, and of no other
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

/** Whether the last search has found nothing. */
export function wasMissing(owner: object, mark: string): boolean {
  return searches.get(owner)?.get(mark)?.found === -1
}
