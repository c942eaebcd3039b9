/**
 * The grammar of `[[…]]`, which pages, links, imports and the editor share.
 *
 * It also runs in browsers, so it imports nothing. The search has a copy (index/search/text/inline-marks.ts), and
 * test/search/grammar.test.ts compares the two.
 */

export interface Wikilink {
  /** The text between the brackets. */
  readonly inner: string
  /** `!` if the link embeds, otherwise ''. */
  readonly mark: string
  /** Length in UTF-16 units, including brackets. */
  readonly length: number
}

/** A wiki link. `[[1]](url)` is a link whose text is in brackets instead. */
const link = /(!?)\[\[([^[\]\r\n]{1,1000})\]\](?!\()/y

/** Returns the wiki link that begins at this offset, if any. */
export function wikilinkAt(text: string, at: number): Wikilink | undefined {
  link.lastIndex = at
  const [whole, mark = '', inner = ''] = link.exec(text) ?? []
  return whole === undefined ? undefined : { inner, mark, length: whole.length }
}

/** Splits a wiki link. @param inner `path#heading|words` */
export function wikilinkParts(inner: string): { readonly target: string; readonly words: string } {
  const [target = '', ...words] = inner.split('|')
  // In a table the | is written \|.
  return { target: target.replace(/\\$/, '').trim(), words: words.join('|').trim() }
}

const beginnings = /(!?)\[\[([^[\]|#\r\n]{1,500})/g

/** Returns the names of wiki links, including unfinished ones, which a user may be typing. */
export function* namesBegun(text: string): Generator<Pick<Wikilink, 'mark'> & { readonly name: string }> {
  for (const [, mark = '', name = ''] of text.matchAll(beginnings)) yield { mark, name }
}

/** A wiki link whose name is being typed, at the end of a text. */
export const typedLink = /\[\[([^[\]|#\r\n]{0,200})$/

/** True if a title can be the name of a wiki link. */
export function isLinkable(title: string): boolean {
  return !/[[\]|#]/.test(title)
}
