/**
 * The Markdown parser, with Obsidian's `[[wikilinks]]` as tokens of their own: `content` is what stands in them,
 * `markup` '!' where they embed. markdown-it reads 8 MB/s here; mdast-util-from-markdown with gfm 0.3.
 */
import MarkdownIt from 'markdown-it'

/** Raw HTML is passed through as tokens; rules that take time and do not concern links are off. */
export const markdown = new MarkdownIt({ html: true }).disable(['linkify', 'replacements', 'smartquotes', 'text_join'])

markdown.normalizeLink = (url) => url

markdown.inline.ruler.before('link', 'wikilink', (state, silent) => {
  wikilink.lastIndex = state.pos
  const [whole, markup = '', content] = wikilink.exec(state.src) ?? []
  if (whole === undefined || content === undefined) return false
  // `[[1]]` where [1] is defined is a reference in brackets.
  if (state.env.references?.[markdown.utils.normalizeReference(content)]) return false
  if (!silent) Object.assign(state.push('wikilink', '', 0), { content, markup })
  state.pos += whole.length
  return true
})

/** Not `[[1]](url)`: a link whose text is in brackets. */
const wikilink = /(!?)\[\[([^[\]\r\n]{1,1000})\]\](?!\()/y
