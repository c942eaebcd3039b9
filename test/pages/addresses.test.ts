/** Addresses of pages: those that lead nowhere, those with a slash at their end, and what programs ask for again. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('an address of pages', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string
  /** The address of the organisation. */
  let home: string
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  const get = (path: string, headers: Record<string, string> = html) => client(grove).get(path, headers)

  before(async () => {
    const atlas = await made(ann.post('/orgs', { name: 'Atlas', published: true }))
    org = atlas.id
    home = pageAt(atlas)
    for (const title of ['Whales', 'Krill']) await made(ann.post(`/orgs/${org}/nodes`, { title }))
  })

  it('that is unknown tells a browser so by a page, a program by JSON', async () => {
    for (const path of ['/nope', '/me', '/settings', '/o', '/nope/deeper?x=1', '//nope', '/%', '/sign-in/none']) {
      const { status, body, headers } = await get(path)
      expect([status, headers['content-type']], path).to.deep.equal([404, 'text/html; charset=utf-8'])
      expect(body, path).to.contain('<header class="top">').and.contain('<h1>Not found</h1>')
      expect(headers.vary, path).to.match(/\bAccept\b/)
    }
    const { status, body } = await ann.get('/nope', html)
    expect(status).to.equal(404)
    expect(body).to.contain('Sign out').and.not.contain('Sign in')
    const json = { detail: 'Not found: the API has no such path. See /docs', code: 'not_found' }
    expect(await get('/nope', {})).to.deep.equal({ status: 404, body: json })
    expect(await client(grove).post('/nope', {}, html)).to.deep.equal({ status: 404, body: json })
    expect((await get('/auth/me')).body).to.have.property('code')
    expect((await get('/healthz')).status).to.equal(200)
    expect((await get('/docs')).body).to.contain('swagger')
  })

  it('with a slash at its end leads to the one without, with its query', async () => {
    const answer = async (path: string) => {
      const { status, headers } = await get(path)
      return [status, headers.location]
    }
    expect(await answer(`${home}/`)).to.deep.equal([301, home])
    expect(await answer(`${home}/find/?q=x`)).to.deep.equal([301, `${home}/find?q=x`])
    expect(await answer('/sign-in/')).to.deep.equal([301, '/sign-in'])
    expect((await answer('//example.org/'))[0]).to.equal(404)
  })

  it('of a feed or a list for crawlers is not sent again until it changes', async () => {
    for (const file of ['changes.atom', 'sitemap.xml']) {
      const path = `${home}/${file}`
      const { status, headers } = await get(path)
      expect([status, headers.etag === undefined], file).to.deep.equal([200, false])
      const known = { 'if-none-match': headers.etag ?? '' }
      expect(await get(path, known), file).to.deep.equal({ status: 304, body: undefined })
      await made(ann.post(`/orgs/${org}/nodes`, { title: `After ${file}` }))
      expect((await get(path, known)).status, file).to.equal(200)
    }
  })

  it('of an organisation tells crawlers what it is about, also if it says nothing of itself', async () => {
    const said = async () => (await get(home)).body.match(/<meta name="description" content="([^"]*)"/)?.[1]
    expect(await said()).to.match(/^Atlas: \d pages, among them .*Krill, Whales$/)
    await ann.patch(`/orgs/${org}`, { description: 'What lives in the sea.' })
    expect(await said()).to.equal('What lives in the sea.')
  })

  it.deep('has forms of search that a button sends', async () => {
    for (const path of [home, `${home}/find`, `${home}/graph`]) {
      const forms = (await get(path)).body.match(/<form[^>]*action="[^"]*\/(find|graph)"[\s\S]*?<\/form>/g) ?? []
      expect(forms.length, path).to.be.at.least(1)
      for (const form of forms) expect(form, path).to.match(/<button[^>]* type="submit"|<button type="submit"/)
    }
  })
})
