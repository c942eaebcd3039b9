/** The search page, over HTTP: what it finds, counts and filters, without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the search page', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string
  let sea: string

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    const add = (body: object) => made(ann.post(`/orgs/${org}/nodes`, body))
    sea = (await add({ title: 'Sea <b>', text_content: 'Water.' })).id
    await add({ title: 'Whales', parents: [sea], text_content: 'Whales and dolphins.', tags: ['Mammal'] })
    await add({ title: 'Ships', text_content: 'Ships follow dolphins.', tags: ['wood "old"'] })
    const nodes = Array.from({ length: 45 }, (_, n) => ({ title: `Node ${n}`, text_content: 'Krill.' }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
  })

  const textOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  async function find(query: Record<string, string>, isSignedIn = false) {
    const path = `${pageAt(org)}/find?${new URLSearchParams(query)}`
    const { status, body } = await readPage(isSignedIn ? ann : client(grove), path)
    expect(status, path).to.equal(200)
    const html: string = body.replace(/[\s\S]*<main/, '<main')
    return {
      html,
      titles: [...html.matchAll(/<a class="t"[^>]*>(.*?)<\/a>/g)].map(([, title = '']) => textOf(title)),
      said: textOf(html.match(/<p class="why said">(.*?)<\/p>/)?.[1] ?? ''),
      links: [...html.matchAll(/<a class="btn" href="([^"]*)">(Previous|Next)/g)].map(([, to = '', name]) => ({
        name,
        query: Object.fromEntries(new URL(to.replaceAll('&amp;', '&'), grove.url).searchParams),
      })),
    }
  }

  it('counts all pages, and leads through them', async () => {
    const first = await find({ q: 'krill' })
    expect([first.said, first.titles.length]).to.deep.equal(['1 to 20 of 45 pages', 20])
    expect(first.links).to.deep.equal([{ name: 'Next', query: { q: 'krill', from: '20' } }])
    const second = await find({ q: 'krill', from: '20' })
    expect(second.links.map(({ name }) => name)).to.deep.equal(['Previous', 'Next'])
    const third = await find({ q: 'krill', from: '40' })
    expect([third.said, third.titles.length]).to.deep.equal(['41 to 45 of 45 pages', 5])
    expect(new Set([first, second, third].flatMap(({ titles }) => titles)).size).to.equal(45)
    expect((await find({ q: 'krill', from: '60' })).said).to.equal(
      'There are only 45 pages. Go back to the first ones.',
    )
    expect((await find({ q: 'krill', from: '9999999' })).titles).to.deep.equal([])
  })

  it('completes the last word, and shows where a page is and when it changed', async () => {
    const { titles, said, html } = await find({ q: 'dolph' })
    expect([titles.toSorted(), said]).to.deep.equal([['Ships', 'Whales'], '2 pages'])
    expect(html).to.match(/<div class="from"><a href="[^"]*">Sea &lt;b><\/a><span[^>]*> \/ <\/span><time/)
    expect(html).to.contain('<mark>dolphins</mark>')
  })

  it('filters by folder, tag and date, and keeps the filters in the form', async () => {
    const { titles, html } = await find({ q: 'dolphins', under: sea })
    expect(titles).to.deep.equal(['Whales'])
    expect(html).to.match(new RegExp(`<option value="${sea}" selected[^>]*>Sea &lt;b>`))
    expect((await find({ q: 'dolphins', tag: 'mammal' })).titles).to.deep.equal(['Whales'])
    expect((await find({ tag: 'MAMMAL' })).titles).to.deep.equal(['Whales'])
    expect((await find({ tag: 'wood "old"' })).titles).to.deep.equal(['Ships'])
    expect((await find({ q: 'ship "', tag: 'mammal' })).titles).to.deep.equal([])
    expect((await find({ under: sea })).titles.toSorted()).to.deep.equal(
      ['Sea <b>', 'Whales'].map((t) => t.replace('<', '&lt;')),
    )
    expect((await find({ q: 'dolphins', since: '2001-01-01' })).titles).to.have.length(2)
    const none = await find({ q: 'dolphins', since: '9999-01-01' })
    expect([none.titles, none.said]).to.deep.equal([[], 'No page matches the filters.'])
    expect((await find({ q: 'dolphins', since: 'x', under: 'y' })).titles).to.have.length(2)
    const gone = await find({ q: 'krill', under: '01980a60-1f00-7a33-b2d4-6c8e0f1a2b03' })
    expect([gone.titles, gone.html.includes('a deleted page')]).to.deep.equal([[], true])
  })

  it('without words shows tags and recent changes, and has the focus in its field', async () => {
    const { titles, html } = await find({})
    expect(titles).to.have.length(10)
    expect(html)
      .to.match(/href="[^"]*\/tags\?tag=Mammal"/)
      .and.to.match(/<input id="q"[^>]* autofocus/)
    expect((await find({ q: 'krill' })).html).to.not.match(/ autofocus/)
  })

  it('offers to create a missing page to those who may', async () => {
    const made = 'Create the page “Dolph”'
    expect((await find({ q: 'Dolph' }, true)).html)
      .to.contain(made)
      .and.to.contain('/new?title=Dolph"')
    expect((await find({ q: 'Dolph' })).html).to.not.contain(made)
    for (const q of ['whales', 'tag:sea', '"two words"', 'a -b'])
      expect((await find({ q }, true)).html, q).to.not.contain('Create the page “')
  })

  it('says why there is no result', async () => {
    expect((await find({ q: 'zzzz' })).said).to.equal('No results for “zzzz”.')
    expect((await find({ q: 'whalse' })).titles).to.deep.equal(['Whales'])
  })

  it('shows conditions among the words as links that remove them, and leads to the table', async () => {
    const add = (body: object) => made(ann.post(`/orgs/${org}/nodes`, body))
    await add({ title: 'Dolphin', properties: { state: 'wild', length: 3 }, tags: ['Mammal'] })
    await add({ title: 'Porpoise', properties: { state: 'tame' }, tags: ['Mammal'] })
    const chipsOf = ({ html }: { html: string }) =>
      [...html.matchAll(/<a class="chip" href="([^"]*)".*?<bdi>(.*?)<\/bdi>/g)].map(([, to = '', text = '']) => ({
        text: textOf(text),
        q: new URL(to.replaceAll('&amp;', '&'), grove.url).searchParams.get('q'),
      }))
    const found = await find({ q: 'dolphin state:WILD -length>4', tag: 'mammal' })
    expect(found.titles).to.deep.equal(['Dolphin'])
    expect(chipsOf(found)).to.deep.equal([
      { text: 'state:WILD', q: 'dolphin -length>4' },
      { text: '-length>4', q: 'dolphin state:WILD' },
    ])
    expect(found.html).not.to.include('Show as a table')
    const only = await find({ q: 'state:tame', tag: 'mammal', since: '2001-01-01' })
    expect(only.titles).to.deep.equal(['Porpoise'])
    const table = /<a href="([^"]*)">Show as a table/.exec(only.html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(new URL(table, grove.url).searchParams.get('where')).to.equal('state:tame tag:"mammal" updated>=2001-01-01')
    expect((await readPage(client(grove), table)).body)
      .to.include('Porpoise')
      .and.not.include('Dolphin')
    expect((await find({ q: 'state:none' })).said).to.equal('No page matches the conditions.')
    expect((await find({ q: 'words:none' })).html).not.to.include('class="chip"')
    expect((await find({ q: 'state:wild' }, true)).html).not.to.include('Create the page “')
  })

  it('refuses to skip matches of an expansion', async () => {
    const { status, body } = await ann.post(`/orgs/${org}/search/retrieve`, {
      query: 'krill',
      offset: 1,
      expansion_depth: 'deep',
    })
    expect({ status, loc: body.detail[0].loc }).to.deep.equal({ status: 422, loc: ['body', 'offset'] })
  })
})
