/** Paths of pages as links have them, and reading a page as a browser does. */

import { idIn, segmentOf } from '../../server/base/page-segments.ts'
import type { Headers } from './exchange.ts'
import type { Answer, Client } from './people.ts'

/** An id, or an organisation or a node of which the path shows the name. */
type Place = string | { readonly id: string; readonly name?: string; readonly title?: string }

/** Returns the path of the page of an organisation, or of a node. */
export function pageAt(org: Place, node?: Place): string {
  return `/o/${partOf(org)}${node === undefined ? '' : `/${partOf(node)}`}`
}

function partOf(place: Place): string {
  const { id, name, title = name } = typeof place === 'string' ? { id: place } : place
  return encodeURIComponent(segmentOf(id, title))
}

/** Removes the words from the paths of pages, so that `pageAt` builds them from ids. */
export function withoutWords(text: string): string {
  return text.replace(/\/o\/([^/?#"&<>\s]+)(?:\/([^/?#"&<>\s]+))?/g, (whole, org: string, next?: string) => {
    const [orgId, nodeId] = [idIn(org), idIn(next ?? '')]
    if (orgId === undefined) return whole
    return nodeId === undefined ? `${pageAt(orgId)}${next === undefined ? '' : `/${next}`}` : pageAt(orgId, nodeId)
  })
}

/** Follows the redirect from a path without words. In the answer, paths of pages have none. */
export async function readPage(who: Pick<Client, 'get'>, path: string, headers: Headers = {}): Promise<Answer> {
  const asked = { accept: 'text/html', ...headers }
  const answer = await who.get(path, asked)
  const { location = '' } = answer.headers
  return plain(answer.status === 301 ? await who.get(location, asked) : answer)
}

/** Returns the HTML of each line in lists of acts. Leaves out times, facts and buttons. */
export function linesOf(html: string): string[] {
  const said = /<div class="line">(?:<time[^>]*>[^<]*<\/time>)?([\s\S]*?)(?:<small>|<ul>|<\/div>)/g
  return Array.from(html.matchAll(said), ([, line = '']) => line)
}

/** Returns an answer in which paths of pages have no words. Tests of other things compare ids. */
export function plain(answer: Answer): Answer {
  const { status, body, headers } = answer
  const { location } = headers
  const plainHeaders = { ...headers, ...(location !== undefined && { location: withoutWords(location) }) }
  const shown = { status, body: typeof body === 'string' ? withoutWords(body) : body }
  return Object.defineProperty(shown, 'headers', { value: plainHeaders, enumerable: false }) as Answer // defineProperty does not change the type
}
