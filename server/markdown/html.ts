/** The little of raw HTML in Markdown that counts: a heading, the addresses of links and images. */

export interface Address {
  readonly url: string
  /** Where its attribute begins in the HTML. */
  readonly at: number
  readonly embedded: boolean
}

/** Every href and src of `html`, a piece that the Markdown parser found to be HTML; none of what is shown as it is. */
export function addressesIn(html: string): Address[] {
  if (/^\s*<(script|style|pre|textarea|code)\b/i.test(html)) return []
  return [...withoutComments(html, ' ').matchAll(attribute)].map(({ 1: name = '', 2: double, 3: single, index }) => ({
    url: (double ?? single ?? '').replaceAll('&amp;', '&'),
    at: index + 1,
    embedded: name.toLowerCase() === 'src',
  }))
}

const attribute = /\s(href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi

/** What stands between the first <h1> and its end, if both are in `html`. */
export function headingIn(html: string): string {
  const shown = withoutComments(html)
  const start = /<h1(?=[\s>])[^<>]*>/i.exec(shown)
  const inner = start && shown.slice(start.index + start[0].length)
  const end = inner?.search(/<\/h1\s*>/i) ?? -1
  return inner && end >= 0 ? inner.slice(0, end) : ''
}

/** Whether nothing of it is shown. */
export function isComment(html: string): boolean {
  return withoutComments(html).trim() === ''
}

/** `fill` stands for each unit of a comment. */
function withoutComments(html: string, fill = ''): string {
  const [first = '', ...others] = html.split('<!--')
  const shown = others.map((part) => {
    const end = part.indexOf('-->') < 0 ? part.length : part.indexOf('-->') + 3
    return fill.repeat(4 + end) + part.slice(end)
  })
  return first + shown.join('')
}
