/** Extracts headings, and the URLs of links and images, from raw HTML in Markdown. */

export interface Address {
  readonly url: string
  /** The offset of its attribute in the HTML. */
  readonly at: number
  readonly embedded: boolean
}

/** Returns every href and src of a piece of raw HTML. Preformatted text, code, scripts and styles have none. */
export function addressesIn(html: string): Address[] {
  if (/^\s*<(script|style|pre|textarea|code)\b/i.test(html)) return []
  return [...withoutComments(html, ' ').matchAll(attribute)].map(({ 1: name = '', 2: double, 3: single, index }) => ({
    url: (double ?? single ?? '').replaceAll('&amp;', '&'),
    at: index + 1,
    embedded: name.toLowerCase() === 'src',
  }))
}

const attribute = /\s(href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi

/** Returns the content of the first <h1>. Returns '' unless its start and end are both in `html`. */
export function headingIn(html: string): string {
  const shown = withoutComments(html)
  const start = /<h1(?=[\s>])[^<>]*>/i.exec(shown)
  const inner = start && shown.slice(start.index + start[0].length)
  const end = inner?.search(/<\/h1\s*>/i) ?? -1
  return inner && end >= 0 ? inner.slice(0, end) : ''
}

/** True if the HTML shows nothing. */
export function isComment(html: string): boolean {
  return withoutComments(html).trim() === ''
}

/** Removes comments, or replaces each of their UTF-16 units with `fill`. */
function withoutComments(html: string, fill = ''): string {
  const [first = '', ...others] = html.split('<!--')
  const shown = others.map((part) => {
    const end = part.indexOf('-->') < 0 ? part.length : part.indexOf('-->') + 3
    return fill.repeat(4 + end) + part.slice(end)
  })
  return first + shown.join('')
}
