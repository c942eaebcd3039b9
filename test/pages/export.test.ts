/** The page that downloads an organisation, and the ways to it. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { sendForm } from './forms.ts'

describe('the page of an export', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let cookie: string
  let org: string
  let whales: string

  before(async () => {
    const { headers } = await sendForm(grove, '/sign-in', { email: ann.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    whales = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales & <b>' }))).id
  })

  const open = (path: string, sent: object = { cookie }) =>
    readPage(client(grove), path, {
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': 'same-origin',
      ...sent,
    })
  const linksIn = (html: string, words: RegExp): string[] =>
    [...html.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)]
      .filter(([, , text = '']) => words.test(text.replace(/<[^>]*>/g, '')))
      .map(([, href = '']) => href.replaceAll('&amp;', '&'))

  it('downloads all pages, or one with its subpages, with the cookie of the browser', async () => {
    for (const [path, name] of [
      [`${pageAt(org)}/export`, 'atlas'],
      [`${pageAt(org)}/export?under=${whales}`, 'whales-b'],
    ]) {
      const { status, body } = await open(path ?? '')
      expect(status).to.equal(200)
      for (const format of ['zip', 'tar']) {
        const [href = ''] = linksIn(body, new RegExp(`Download .${format}`))
        const sent = await open(href)
        expect([sent.status, sent.headers['content-disposition']?.split(';')[1]]).to.deep.equal([
          ...[200, ` filename="${name}.${format}"`],
        ])
      }
    }
  })

  it('is linked from the settings, and from the menu and the side of a page', async () => {
    expect(linksIn((await open(`${pageAt(org)}/settings/general`)).body, /^\s*Export\s*$/)).to.deep.equal([
      `${pageAt(org)}/export`,
    ])
    const { body } = await open(pageAt(org, whales))
    expect(linksIn(body, /All pages/)).to.deep.equal([`${pageAt(org)}/export`])
    expect(linksIn(body, /[Ww]ith subpages/)).to.deep.equal(
      ['menu', 'side'].map(() => `${pageAt(org)}/export?under=${whales}`),
    )
  })

  it('is open to anyone if the organisation is published, and hidden if it is not', async () => {
    expect((await open(`${pageAt(org)}/export`, {})).status).to.equal(401)
    const bob = await signUp(grove, 'Bob')
    const signedIn = await sendForm(grove, '/sign-in', { email: bob.user.email, password })
    const his = { cookie: signedIn.headers['set-cookie']?.split(';')[0] ?? '' }
    expect((await open(`${pageAt(org)}/export`, his)).status).to.equal(404)
    await ann.patch(`/orgs/${org}`, { published: true })
    for (const who of [{}, his]) {
      const { status, body } = await open(`${pageAt(org)}/export`, who)
      expect(status).to.equal(200)
      expect(body).to.include(`/orgs/${org}/clone-urls | xargs`).and.not.include('import the folder')
    }
    await ann.patch(`/orgs/${org}`, { published: false })
  })

  it('says so if there is nothing to export, and is missing for an unknown page', async () => {
    const empty = (await made(ann.post('/orgs', { name: 'Empty' }))).id
    expect((await open(`${pageAt(empty)}/export`)).body)
      .to.include('no pages to export')
      .and.not.include('Download')
    for (const under of [empty, 'x', '', '../x'])
      expect((await open(`${pageAt(org)}/export?under=${under}`)).status, under).to.equal(404)
  })
})
