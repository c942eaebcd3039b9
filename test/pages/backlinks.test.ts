/** Backlinks with the sentences around their links, over HTTP and without script. */

import { expect } from 'chai'
import fc from 'fast-check'
import { connectionOf } from '../../server/pages/linking.ts'
import { fitted } from '../../server/pages/parts/backlinks.tsx'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { useWorld } from '../support/world.ts'

describe('backlinks on pages', () => {
  const { ann } = useWorld({ ann: 'owner' })
  let org: string
  let krill: string

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
    krill = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill' }))).id
  })

  /** Adds a node that has a connection to krill. */
  const link = async (title: string, text_content: string) => {
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title, text_content }))
    await made(ann.post(`/orgs/${org}/nodes/${id}/connections`, { target: krill, type: 'links_to' }))
    return id as string
  }
  const see = async (path = '') => {
    const { status, body } = await readPage(ann, `/o/${org}/n/${krill}${path}`)
    const part =
      path === '' ? /<section class="below backlinks"[\s\S]*?<\/section>/ : /<div class="wide backlinks"[\s\S]*<\/main>/
    const html: string = part.exec(body)?.[0] ?? ''
    const items = [...html.matchAll(/<li>([\s\S]*?)<\/li>/g)].map(([, item = '']) =>
      item.replace(/<a class="t"[^>]*>([\s\S]*?)<\/a>/, '$1: ').replace(/<\/?p>/g, ''),
    )
    return {
      status,
      html,
      items,
      buttons: [...html.matchAll(/<a class="btn" href="([^"]*)">([^<]*)/g)].map(([, ...found]) => found),
    }
  }

  it('show the sentence of the first link, in the order of titles', async () => {
    await link('Whales 10', 'They swim. Whales eat *much* [[Krill|small krill]] every day. They sleep.\n')
    await link('Whales 2', 'Food: [[Krill]].\n')
    await link('By hand', 'No link here.\n')
    const { items } = await see()
    expect(items).to.deep.equal([
      'By hand: Linked outside its text',
      'Whales 2: Food: <mark>Krill</mark>.',
      'Whales 10: Whales eat much <mark>small krill</mark> every day.',
    ])
  })

  it('say that a link is in the properties of a page, and such a link leads to its page', async () => {
    const properties = { about: '[[Krill|small ones]] and [[Nobody]]', related: ['[[Krill#Food]]'] }
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', properties }))
    const connection = connectionOf('Krill', 'links_to', krill)
    await made(ann.post(`/orgs/${org}/nodes/${id}/connections`, connection))
    expect((await see()).items).to.deep.equal(['Whales: Linked in its properties'])
    const { body } = await readPage(ann, pageAt(org, id))
    const shown = /<section class="properties"[\s\S]*?<\/section>/.exec(body)?.[0] ?? ''
    const to = pageAt(org, krill)
    expect(shown).to.include(`<a href="${to}">small ones</a> and <span class="missing"`)
    expect(shown).to.include(`<a href="${to}">Krill#Food</a>`)
    expect(shown).not.to.include('[[')
  })

  it('say what connections outside a text mean, on both pages', async () => {
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
    const types = [{ type: 'depends_on' }, { type: 'supports', label: 'a <b>' }, { type: 'links_to' }]
    for (const one of types) await made(ann.post(`/orgs/${org}/nodes/${id}/connections`, { target: krill, ...one }))
    for (const path of ['', '/backlinks']) {
      const { items } = await see(path)
      expect(items).to.have.length(1)
      expect(items[0]?.split(': ').slice(0, 2)).to.deep.equal(['Whales', 'Linked outside its text'])
      expect(new Set(items[0]?.split(': ')[2]?.split('; '))).to.deep.equal(
        new Set(['depends on', 'supports · a &lt;b>']),
      )
    }
  })

  it('are one link in the column next to the text', async () => {
    const column = async (at = '') => {
      const { body } = await readPage(ann, `${pageAt(org, krill)}${at}`)
      const [rail = ''] = /<aside class="rail[\s\S]*?<\/aside>/.exec(body) ?? []
      return {
        leads: rail.includes('<a href="#backlinks">2 backlinks</a>'),
        titles: [...rail.matchAll(/<span>(Seals|Whales) /g)].map(([, title]) => title),
      }
    }
    await link('Whales', 'They eat [[Krill]].\n')
    await link('Seals', 'They eat [[Krill]].\n')
    const { body } = await ann.get(`/orgs/${org}/nodes/${krill}`)
    expect(await column()).to.deep.equal({ leads: true, titles: [] })
    expect((await see()).html).to.contain('<h2 id="backlinks">')
    expect(await column(`?at=${body.head}`)).to.deep.equal({ leads: false, titles: ['Seals', 'Whales'] })
  })

  it('are absent without any', async () => {
    expect((await see()).html).to.equal('')
    expect((await see('/backlinks')).html).to.contain('No other page links to this one.')
  })

  it('follow the text that links', async () => {
    const id = await link('Whales', 'Old [[Krill]].\n')
    const etag = async () => (await readPage(ann, `/o/${org}/n/${krill}`)).headers.etag
    const before = await etag()
    await made(ann.patch(`/orgs/${org}/nodes/${id}`, { text_content: 'New [[Krill]].\n' }))
    expect((await see()).items).to.deep.equal(['Whales: New <mark>Krill</mark>.'])
    expect(await etag()).to.not.equal(before)
  })

  it('show hostile texts as text', async () => {
    await link('<img src=x>', '<script>alert(1)</script> &amp; [[Krill|<b>"krill"</b>]] <img src=x onerror=alert(1)>\n')
    for (const path of ['', '/backlinks']) {
      const { html } = await see(path)
      expect(html).to.not.match(/<(script|img|b)\b/)
      expect(html).to.contain('&lt;img src=x>')
    }
  })

  it.deep('show 20, and all on pages of their own', async () => {
    for (let n = 0; n < 27; n++) await link(`Page ${n}`, `See [[Krill]]. Again, [[Krill|n${n}]].\n`)
    const { items, buttons } = await see()
    expect([items.length, buttons]).to.deep.equal([20, [[`${pageAt(org, krill)}/backlinks`, 'All 27 backlinks']]])
    const first = await see('/backlinks')
    expect(first.html).to.contain('1 to 25 of 27 backlinks')
    expect(first.items[0]).to.match(/^Page \d+: See <mark>Krill<\/mark>\.Again, <mark>n\d+<\/mark>\.$/)
    const second = await see('/backlinks?from=25')
    expect(second.items).to.have.length(2)
    expect(new Set([...first.items, ...second.items]).size).to.equal(27)
    expect((await see('/backlinks?from=50')).status).to.equal(302)
  })

  it('keep the link in a sentence that is cut', () => {
    const words = fc
      .array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 40 })
      .map((all) => all.join(' '))
    fc.assert(
      fc.property(words, words, words, (before, text, after) => {
        const cut = fitted({ before, text, target: 'target', after })
        expect(cut.before.length + cut.link.length + cut.after.length).to.be.at.most(240)
        const whole = `${before}${text || 'target'}${after}`
        if (whole.length <= 240 && text.length <= 120) expect(`${cut.before}${cut.link}${cut.after}`).to.equal(whole)
        expect(before.endsWith(cut.before.replace(/^…/, ''))).to.equal(true)
        expect(after.startsWith(cut.after.replace(/…$/, ''))).to.equal(true)
        const halfPairs = /(?<![\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])/
        for (const part of Object.values(cut)) expect(part).to.not.match(halfPairs)
      }),
    )
  })
})
