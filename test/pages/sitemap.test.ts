/** The list of pages for crawlers: of a large organisation in parts, each of which asks for no more nodes than it has. */

import { expect } from 'chai'
import { AppError } from '../../server/base/errors.ts'
import type { PageContext } from '../../server/pages/page-context.ts'
import { showSitemap } from '../../server/pages/pages/feeds.ts'
import { Urls } from '../../server/pages/urls.ts'

describe('the sitemap', () => {
  /** The answer for an organisation with `total` nodes, and how often nodes were read. */
  async function ask(total: number, query = '') {
    let asked = 0
    const listNodes = async ({ query }: { query: { limit: number; offset?: number } }) => {
      asked++
      const { limit, offset = 0 } = query
      const length = Math.max(0, Math.min(limit, total - offset))
      const nodes = Array.from({ length }, (_, at) => ({ id: `n${offset + at}`, slug: 's', updated_at: 'now' }))
      return { total, nodes }
    }
    const api = { getOrg: async () => ({ id: 'o', published: true }), listNodes }
    const visit = { api, urls: new Urls('', 'https://x'), params: { org: 'o' }, query: new URLSearchParams(query) }
    const { text } = await showSitemap(visit as unknown as PageContext) // it uses no more of it
    return { asked, places: [...text.matchAll(/<loc>https:\/\/x\/o\/o([^<]*)<\/loc>/g)].map(([, place]) => place) }
  }

  it('of 2,000 nodes is one list', async () => {
    expect((await ask(0)).places).to.deep.equal([''])
    const { asked, places } = await ask(2_000)
    expect([asked, places.length, places.at(-1)]).to.deep.equal([11, 2_001, '/n1999'])
  })

  it('of more is in parts, with every node once, up to 50,000', async () => {
    const { asked, places } = await ask(5_000)
    expect([asked, places]).to.deep.equal([1, [1, 2, 3].map((part) => `/sitemap.xml?part=${part}`)])
    const parts = await Promise.all([1, 2, 3].map((part) => ask(5_000, `part=${part}`)))
    expect(parts.map((part) => part.asked)).to.deep.equal([11, 11, 6])
    const nodes = Array.from({ length: 5_000 }, (_, at) => `/n${at}`)
    expect(parts.flatMap((part) => part.places)).to.deep.equal(['', ...nodes])
    expect((await ask(1_000_000)).places).to.have.length(25)
  })

  it('has no other parts', async () => {
    for (const part of ['', '0', '01', '4', '-1', '1e0', '26'])
      await ask(5_000, `part=${part}`).then(
        () => expect.fail(part),
        (error: unknown) => expect(error, part).to.be.instanceOf(AppError),
      )
  })
})
