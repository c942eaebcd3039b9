/**
 * Pages that anyone reads: without scripts, sound to axe-core in light and dark, and quiet about whatever a text
 * holds.
 */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, useScene, type Visitor } from './scene.ts'

const text = `Whales are mammals. They eat [[Krill|small things]] and never [[Kraken]].

## What they eat

> [!tip] Remember
> A whale is no *fish*. ^fish

![A whale](files/whale.png) and [the sea](https://example.org/sea "Sea").

| food | share |
|------|------:|
| krill | 90 % |

## Where they live

In the sea: \`depth > 0\`. <kbd>Esc</kbd> %%nobody sees this%%

- [x] found
`

describe('pages to read', () => {
  useScene()
  let org: string
  let whales: string
  let krill: string
  let links: { readonly org: string; readonly whales: string; readonly krill: string }
  let visitor: Visitor

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', description: 'All about the sea.', published: true }))).id
    krill = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill', text_content: 'Small crustaceans.' }))).id
    whales = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', tags: ['sea'], text_content: text }))).id
    const at = `/orgs/${org}/nodes/${whales}`
    await made(ann.put(`/orgs/${org}/nodes/${krill}/parents/${whales}`, {}))
    await made(ann.post(`${at}/connections`, { target: krill, type: 'feeds_on', label: 'most of it' }))
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    const changes = [{ action: 'put', path: 'files/whale.png', content: pixel, encoding: 'base64' }]
    await made(ann.post(`${at}/tree/main/commits`, { message: 'Add a picture', changes }))
    const atlas = { id: org, name: 'Atlas' }
    links = {
      org: pageAt(atlas),
      whales: pageAt(atlas, { id: whales, title: 'Whales' }),
      krill: pageAt(atlas, { id: krill, title: 'Krill' }),
    }
    visitor = await newVisitor({ javaScriptEnabled: false })
  })
  after(() => visitor.context.close())

  it('show a node with its text, the way to it and what lies around it', async () => {
    const { page, open, faults } = visitor
    expect(await open(pageAt(org, whales))).to.deep.equal({ status: 200 })
    expect(await page.title()).to.equal('Whales · Atlas')
    const prose = page.locator('.prose')
    expect(await prose.getByRole('link', { name: 'small things' }).getAttribute('href')).to.equal(links.krill)
    expect(await prose.locator('.missing').textContent()).to.equal('Kraken')
    expect(await prose.getByRole('heading', { level: 2 }).allTextContents()).to.deep.equal([
      'What they eat',
      'Where they live',
    ])
    expect(await prose.locator('.callout.tip').textContent())
      .to.include('Remember')
      .and.include('A whale is no fish.')
    expect(await prose.locator('#block-fish').count()).to.equal(1)
    expect(await prose.textContent()).not.to.include('nobody sees this')
    expect(await prose.getByRole('link', { name: 'the sea' }).getAttribute('rel')).to.equal('nofollow noopener')
    const rail = page.getByRole('complementary')
    expect(await rail.textContent())
      .to.include('1 link')
      .and.include('feeds on')
      .and.include('whale.png')
    expect(
      await page
        .getByRole('navigation', { name: 'Contents' })
        .getByRole('link', { name: 'Whales', exact: true })
        .getAttribute('aria-current'),
    ).to.equal('page')
    expect(faults).to.deep.equal([])
  })

  it('show the picture of a node', async () => {
    const { page, open } = visitor
    const bytes = page.waitForResponse(/raw\/files%2Fwhale\.png$/)
    await open(pageAt(org, whales))
    await page.locator('.prose img').scrollIntoViewIfNeeded()
    expect((await bytes).status()).to.be.oneOf([200, 304])
  })

  it('have one address: a slug that is wrong or old leads to the right one', async () => {
    const { status, headers } = await client(grove).get(`${pageAt(org, { id: whales, title: 'Fish' })}?at=main`)
    expect([status, headers.location]).to.deep.equal([301, `${links.whales}?at=main`])
    const { body } = await client(grove).get(links.whales)
    expect(body).to.include(`<link rel="canonical" href="${grove.url}${links.whales}"/>`)
    expect(body).to.include('"@type":"Article"').and.include('property="og:title" content="Whales · Atlas"')
  })

  it('are not sent again to who has them', async () => {
    for (const path of [links.org, links.whales, `${links.whales}/history`, '/sign-in']) {
      const first = await client(grove).get(path)
      const etag = first.headers.etag ?? ''
      expect((await client(grove).get(path, { 'if-none-match': etag })).status, path).to.equal(304)
    }
    const { headers } = await client(grove).get(links.whales)
    await made(ann.patch(`/orgs/${org}/nodes/${krill}`, { title: 'Krills' }))
    const again = await client(grove).get(links.whales, { 'if-none-match': headers.etag ?? '' })
    expect(again.status).to.equal(200)
    await made(ann.patch(`/orgs/${org}/nodes/${krill}`, { title: 'Krill' }))
  })

  it('tell others their first picture, and lead to the icon', async () => {
    const { body } = await client(grove).get(links.whales)
    expect(body).to.match(/property="og:image" content="http[^"]*\/raw\/files%2Fwhale\.png"/)
    const { status, headers } = await client(grove).get('/favicon.ico')
    expect([status, headers.location?.replace(/\.\w+\.svg/, '.svg')]).to.deep.equal([302, '/assets/leaf.svg'])
  })

  it('mark the section that is read in the contents', async () => {
    const reader = await newVisitor({ viewport: { width: 1440, height: 300 } })
    await reader.open(pageAt(org, whales))
    const marked = reader.page.locator('.toc [aria-current]')
    await reader.page.getByRole('heading', { name: 'Where they live' }).evaluate((one) => one.scrollIntoView())
    await reader.page.locator('.toc [aria-current]', { hasText: 'Where they live' }).waitFor()
    await reader.page.getByRole('heading', { name: 'What they eat' }).evaluate((one) => one.scrollIntoView())
    await reader.page.locator('.toc [aria-current]', { hasText: 'What they eat' }).waitFor()
    expect(await marked.count()).to.equal(1)
    await reader.context.close()
  })

  it('find by titles and by texts', async () => {
    const { page, open } = visitor
    await open(`${pageAt(org)}/find?q=crustaceans`)
    expect(await page.locator('.results .t').allTextContents()).to.deep.equal(['Krill'])
    expect((await page.getByLabel('Plain words').boundingBox())?.width).to.be.below(20)
    await open(`${pageAt(org)}/find?q=tag:sea`)
    expect(await page.locator('.results .t').allTextContents()).to.deep.equal(['Whales'])
    await open(`${pageAt(org)}/find?q=zzzz`)
    expect(await page.locator('.said').textContent()).to.equal('No results for “zzzz”.')
    const { status, headers } = await client(grove).get(`${pageAt(org)}/find?title=krill`)
    expect([status, headers.location]).to.deep.equal([302, links.krill])
  })

  it('show history, one commit in words, and who wrote what', async () => {
    const at = `/orgs/${org}/nodes/${krill}`
    await made(ann.patch(at, { text_content: 'Small and tasty crustaceans.', message: 'Say how they taste' }))
    const { page, open, faults } = visitor
    await open(`${pageAt(org, krill)}/history`)
    await page.getByRole('link', { name: 'Say how they taste' }).click()
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['and tasty '])
    await page.getByRole('link', { name: 'View this version' }).click()
    expect(await page.locator('.prose').textContent()).to.include('Small and tasty')
    await open(`${pageAt(org, krill)}/blame`)
    expect(await page.locator('.blame .who').textContent()).to.include('Ann')
    expect(faults).to.deep.equal([])
  })

  it('tell feeds and crawlers what is published', async () => {
    const atom = await client(grove).get(`${pageAt(org)}/changes.atom`)
    expect([atom.status, atom.headers['content-type']]).to.deep.equal([200, 'application/atom+xml; charset=utf-8'])
    expect(atom.body).to.include('<title>Whales</title>')
    const sitemap = await client(grove).get(`${pageAt(org)}/sitemap.xml`)
    expect(sitemap.body).to.include(`<loc>${grove.url}${links.whales}</loc>`)
    expect((await client(grove).get('/robots.txt')).body).to.include('Disallow: /orgs/')
  })

  it('end with the publication', async () => {
    const { id } = await made(ann.post('/orgs', { name: 'Brief', published: true }))
    for (const path of ['', '/changes.atom', '/sitemap.xml', '/find?q=x'])
      expect((await client(grove).get(`${pageAt({ id, name: 'Brief' })}${path}`)).status, path).to.equal(200)
    await made(ann.patch(`/orgs/${id}`, { published: false }))
    for (const path of ['', '/changes.atom', '/sitemap.xml', '/find?q=x']) {
      const { status, body } = await client(grove).get(`${pageAt(id)}${path}`)
      expect(status, path).to.equal(401)
      expect(body).not.to.include('Brief')
    }
  })

  it('that are not there are 404, and take no other method', async () => {
    for (const path of [
      '/o/',
      '/o/x/y',
      pageAt(org, org),
      `${pageAt(org, whales)}/commits/1234`,
      '/me/x',
      '/assets/none.js',
      '/assets/../main.js',
      '/o/%ff',
    ])
      expect((await ann.get(path)).status, path).to.equal(404)
    const { status, headers } = await client(grove).post(pageAt(org))
    expect([status, headers.allow]).to.deep.equal([405, 'GET, HEAD'])
  })

  it('are sound in light and dark, on a telephone and on a desk', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const reader = await newVisitor({ colorScheme })
      const { page, open, faults } = reader
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        const at = pageAt(org, whales)
        const paths = [
          '/',
          '/sign-in',
          '/sign-up',
          '/reset',
          pageAt(org),
          `${pageAt(org)}/find?q=krill`,
          at,
          `${at}/history`,
          `${at}/blame`,
          '/o/none',
        ]
        for (const path of paths) {
          await open(path)
          await expectSound(page)
        }
      }
      expect(faults).to.deep.equal([])
      await reader.context.close()
    }
  })

  it('are small on the first visit', async () => {
    const sizeOf = async (path: string) => {
      const answer = await fetch(grove.url + path, { headers: { accept: 'text/html', 'accept-encoding': 'gzip' } })
      await answer.body?.cancel()
      return Number(answer.headers.get('content-length'))
    }
    const assets: Record<string, string> = JSON.parse(await readFile('dist/assets/assets.json', 'utf8'))
    // Other pages have the pictures, the diagrams, the import and the map.
    const names = Object.values(assets).filter((name) => !/\.webp$|^(diagram|import|map)/.test(name))
    const shared = await Promise.all(names.map((name) => sizeOf(`/assets/${name}`)))
    const sum = shared.reduce((total, size) => total + size, 0)
    expect(Math.min(...shared)).to.be.above(0)
    expect((await sizeOf(pageAt(org, whales))) + sum, 'a node, with all fonts').to.be.below(182_000)
    const { body } = await client(grove).get('/', { accept: 'text/html' })
    const scripts = [...String(body).matchAll(/src="(\/assets\/[^"]+\.js)"/g)].map(([, src = '']) => src)
    expect(scripts).to.have.length(3)
    const sizes = await Promise.all(scripts.map(sizeOf))
    expect(
      sizes.reduce((total, size) => total + size, 0),
      'scripts of every page',
    ).to.be.below(2_304)
  })

  it('are missing if an address cannot be one', async () => {
    for (const path of ['/o/none', `${pageAt(org)}/n/whales`, '/me/nothing']) {
      const { status, body } = await client(grove).get(path)
      expect([status, body.includes('<h1>Not found</h1>')], path).to.deep.equal([404, true])
    }
  })

  it('show results while one types, by keys alone', async () => {
    const reader = await newVisitor()
    const { page, open, faults } = reader
    await open(pageAt(org))
    await page.keyboard.press('/')
    await page.keyboard.type('kri')
    await page.getByRole('option', { name: 'Krill', exact: true }).waitFor()
    const look = await page.getByRole('listbox', { name: 'Results' }).evaluate((list) => {
      const { borderTopStyle, rowGap, paddingTop } = getComputedStyle(list)
      return { borderTopStyle, rowGap, isPadded: Number.parseFloat(paddingTop) > 8 }
    })
    expect(look).to.deep.equal({ borderTopStyle: 'solid', rowGap: 'normal', isPadded: false })
    await page.keyboard.press('ArrowDown')
    await expectSound(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${grove.url}${links.krill}`)
    await page.keyboard.press('d')
    await page.locator('html[data-theme=dark]').waitFor()
    await page.reload()
    expect(await page.evaluate('document.documentElement.dataset.theme')).to.equal('dark')
    expect(faults).to.deep.equal([])
    await reader.context.close()
  })

  it('tell on a card what a link leads to, for the pointer and the focus, until it is dismissed', async () => {
    const reader = await newVisitor()
    const { page, open, faults } = reader
    await open(pageAt(org, whales))
    const link = page.locator('.prose').getByRole('link', { name: 'small things' })
    const card = page.getByRole('tooltip')
    await link.focus()
    await card.getByText('crustaceans').waitFor()
    expect(await card.innerText()).to.match(/^Krill\s+Small .*crustaceans\.\s+1 link$/)
    expect(await link.getAttribute('aria-describedby')).to.equal(await card.getAttribute('id'))
    await link.blur()
    await card.waitFor({ state: 'hidden' })
    expect(await link.getAttribute('aria-describedby')).to.equal(null)
    await link.hover()
    await card.waitFor()
    await card.hover()
    await expectSound(page)
    await page.keyboard.press('Escape')
    await card.waitFor({ state: 'hidden' })
    expect(faults).to.deep.equal([])
    await reader.context.close()
  })

  it('show on a card the first picture of a page and its description', async () => {
    const add = async (title: string, fields: object) =>
      (await made(ann.post(`/orgs/${org}/nodes`, { title, ...fields }))).id as string
    const text_content = '![[gone.png]] ![far](https://example.org/a.png)\n\n![[wide.svg]]\n'
    const target = await add('Squid', { text_content, properties: { description: 'Ten <b>arms</b>.' } })
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="608" height="200"><rect width="608" height="200"/></svg>'
    const changes = [{ action: 'put', path: 'wide.svg', content: svg }]
    await made(ann.post(`/orgs/${org}/nodes/${target}/tree/main/commits`, { message: 'A picture', changes }))
    await add('No picture', { text_content: '![[gone.png]]\n' })
    const from = await add('Links', { text_content: `[[Squid]] and [[No picture]]\n` })
    const reader = await newVisitor()
    const { page, open, faults } = reader
    await open(pageAt(org, from))
    const card = page.getByRole('tooltip')
    await page.locator('.prose').getByRole('link', { name: 'Squid' }).hover()
    await card.getByText('Ten <b>arms</b>.').waitFor()
    const picture = card.locator('img')
    expect(await picture.getAttribute('alt')).to.equal('')
    expect(await picture.getAttribute('loading')).to.equal('lazy')
    expect(await picture.getAttribute('src')).to.equal(`/orgs/${org}/nodes/${target}/tree/main/raw/wide.svg`)
    const fits = async () => {
      const { width = 0, height = 0 } = (await picture.boundingBox()) ?? {}
      expect(width).to.equal(302)
      expect(height).to.be.closeTo(100, 1)
    }
    await fits()
    await page.waitForFunction('document.querySelector("#card img").complete')
    expect(await page.evaluate('document.querySelector("#card img").naturalWidth')).to.equal(608)
    await fits()
    await expectSound(page)
    await page.keyboard.press('Escape')
    await card.waitFor({ state: 'hidden' })
    await page.locator('.prose').getByRole('link', { name: 'No picture' }).focus()
    await card.getByRole('heading', { name: 'No picture', includeHidden: true }).waitFor()
    expect(await picture.count()).to.equal(0)
    expect(
      await page.locator('.prose').getByRole('link', { name: 'No picture' }).getAttribute('aria-describedby'),
    ).to.equal('card')
    expect(faults).to.deep.equal([])
    await reader.context.close()
  })

  it('do not open a card for a touch', async () => {
    const phone = await newVisitor({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 800 } })
    const { page, open } = phone
    await open(pageAt(org, whales))
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.locator('.prose').getByRole('link', { name: 'small things' }).tap()
    await page.waitForURL(`${grove.url}${pageAt({ id: org, name: 'Atlas' }, { id: krill, title: 'Krill' })}`)
    expect(requests.filter((url) => url.endsWith(`/orgs/${org}/nodes/${krill}`))).to.deep.equal([])
    await phone.context.close()
  })
})
