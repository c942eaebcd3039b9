/** The Atom feed, the sitemap, robots.txt and the icon. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { assetName } from '../assets.ts'
import { noPageError, type PageContext, type PageResult, param, redirect, type Text } from '../page-context.ts'
import { xml } from '../text/escape.ts'

/** `changes`: in the feed. `atOnce`: nodes per API call. */
const most = { changes: 50, atOnce: 200 } as const

export async function showFeed(visit: PageContext): Promise<Text> {
  const { api, urls, query } = visit
  const { path, org } = await publishedOrg(visit)
  const where = query.get('where') ?? undefined
  const chosen = where === undefined ? ({ order: 'changed' } as const) : { where, sort: '-updated' }
  const { nodes } = await api.listNodes({ path, query: { ...chosen, limit: most.changes } })
  const entries = nodes.map(({ id, title, updated_at, created_at }) => {
    const href = xml(urls.absolute(urls.node(org.id, id, title)))
    return [
      `<entry><id>${xml(urls.feedId(org.id, id))}</id><title>${xml(title)}</title><link href="${href}"/>`,
      `<published>${created_at}</published><updated>${updated_at}</updated></entry>`,
    ].join('')
  })
  const self = xml(urls.absolute(urls.feed(org.id, where)))
  const id = xml(urls.feedId(org.id) + urls.whereOf(where))
  const title = xml(where === undefined ? org.name : `${org.name}: ${where}`)
  const home = xml(urls.absolute(urls.org(org.id)))
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    `<feed xmlns="http://www.w3.org/2005/Atom"><id>${id}</id><title>${title}</title>`,
    `<link rel="self" href="${self}"/><link href="${home}"/><updated>${nodes[0]?.updated_at ?? org.updated_at}</updated>`,
    `<author><name>${xml(org.name)}</name></author>`,
    ...entries,
    '</feed>',
  ]
  return { kind: 'text', type: 'application/atom+xml; charset=utf-8', text: `${lines.join('\n')}\n` }
}

/** Answers the sitemap; for a large organisation, an index of its parts. */
export async function showSitemap(visit: PageContext): Promise<Text> {
  const { api, urls, query } = visit
  const { path, org } = await publishedOrg(visit)
  const { total } = await api.listNodes({ path, query: { limit: 1 } })
  const end = Math.min(total, limits.sitemap)
  const parts = Math.max(1, Math.ceil(end / limits.sitemapPart))
  const asked = query.get('part')
  const part = Number(asked ?? 1)
  if (asked !== null && !(/^[1-9]\d?$/.test(asked) && part <= parts)) throw noPageError()
  if (asked === null && parts > 1) {
    const lists = Array.from({ length: parts }, (_, at) => `${urls.sitemap(org.id)}?part=${at + 1}`)
    return listOf(
      'sitemapindex',
      lists.map((list) => `<sitemap><loc>${xml(urls.absolute(list))}</loc></sitemap>`),
    )
  }
  const rows = part === 1 ? [`<url><loc>${xml(urls.absolute(urls.org(org.id)))}</loc></url>`] : []
  const from = (part - 1) * limits.sitemapPart
  let after: string | undefined
  for (let offset = from; offset < Math.min(end, from + limits.sitemapPart); offset += most.atOnce) {
    const place = after === undefined ? { offset } : { after }
    const { nodes, next } = await api.listNodes({ path, query: { limit: most.atOnce, ...place } })
    after = next
    for (const { id, title, updated_at } of nodes) {
      const href = xml(urls.absolute(urls.node(org.id, id, title)))
      rows.push(`<url><loc>${href}</loc><lastmod>${updated_at}</lastmod></url>`)
    }
  }
  return listOf('urlset', rows)
}

/** Builds a sitemap or a sitemap index. Source: sitemaps.org, protocol 0.9. */
function listOf(element: 'sitemapindex' | 'urlset', rows: readonly string[]): Text {
  const lines = [
    '<?xml version="1.0" encoding="utf-8"?>',
    `<${element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`,
    ...rows,
    `</${element}>`,
  ]
  return { kind: 'text', type: 'application/xml; charset=utf-8', text: `${lines.join('\n')}\n` }
}

/** Leads programs that ask for the icon without reading a page. */
export async function showFavicon({ urls }: PageContext): Promise<PageResult> {
  return redirect(302, urls.asset(assetName('leaf.svg')))
}

/** Answers robots.txt. Crawlers may read pages, but not the API, which has the same content, or searches. */
export async function showRobots({ urls }: PageContext): Promise<Text> {
  const closed = ['/orgs/', '/git/', '/auth/', '/sign-in', '/sign-up', '/reset', '/o/*/find']
  const lines = ['User-agent: *', ...closed.map((path) => `Disallow: ${urls.root}${path}`), `Allow: ${urls.root}/o/`]
  return { kind: 'text', type: 'text/plain; charset=utf-8', text: `${lines.join('\n')}\n` }
}

/** Reads the organisation. @throws AppError org_not_found, also if it is not published */
async function publishedOrg(visit: PageContext) {
  const path = { org_id: param(visit, 'org') }
  const org = await visit.api.getOrg({ path })
  if (!org.published) throw new AppError('org_not_found', 'Organisation not found')
  return { path, org }
}
