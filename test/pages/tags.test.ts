/** The pages of tags, over HTTP and without script. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the pages of tags', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let org: string

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })

  const add = (nodes: readonly object[]) => made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
  const textOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, found = '']) => textOf(found))
  async function see(query: Record<string, string> = {}, who: Pick<PersonClient, 'get'> = ann) {
    const { status, body } = await readPage(who, `${pageAt(org)}/tags?${new URLSearchParams(query)}`)
    expect(status).to.equal(200)
    const html = /<main[\s\S]*<\/main>/.exec(body)?.[0] ?? ''
    return {
      html,
      said: all(html, /<p class="why said"[^>]*>([\s\S]*?)<\/p>/g)[0],
      tags: all(html, /<li class="in-\d">([\s\S]*?)<\/li>/g),
      titles: all(html, /<a class="t"[^>]*>([\s\S]*?)<\/a>/g),
      path: all(/<nav class="path"[\s\S]*?<\/nav>/.exec(html)?.[0] ?? '', /<a [^>]*>([\s\S]*?)<\/a>/g),
      turns: all(html, /<a class="btn" href="[^"]*">((?:Previous|Next))/g),
    }
  }

  it('list all tags nested, with the pages of each counted', async () => {
    await add([
      { title: 'Rings', tags: ['math/algebra', 'math'] },
      { title: 'Groups', tags: ['math/algebra/groups', 'sea'] },
      { title: 'Limits', tags: ['history/old'] },
    ])
    const { tags, said, html } = await see()
    expect(said).to.equal('6 tags')
    expect(tags).to.deep.equal([
      'history 1 in nested tags',
      'history/old 1',
      'math 1, 2 with nested tags',
      'math/algebra 1, 2 with nested tags',
      'math/algebra/groups 1',
      'sea 1',
    ])
    expect(html).to.contain(`href="${pageAt(org)}/tags?tag=math%2Falgebra"`)
  })

  it('filter tags by a part, and say if none has it', async () => {
    await add([{ title: 'Rings', tags: ['math/algebra', 'sea'] }])
    const { html, said } = await see({ filter: 'ALG' })
    expect(said).to.equal('1 tag with “ALG”')
    expect(all(html, /<li>([\s\S]*?)<\/li>/g)).to.deep.equal(['math/algebra 1'])
    expect((await see({ filter: '<b>' })).said).to.equal('No tag has “&lt;b>” in it.')
  })

  it('say so if there are no tags', async () => {
    expect((await see()).html).to.include('Tags group pages across the tree.')
    expect((await see({ tag: 'nothing' })).said).to.equal('No page has this tag. All tags')
    expect((await see({ tag: 'x'.repeat(101) })).html).to.include('Tags group pages across the tree.')
  })

  it('lead through thousands of tags', async () => {
    const nodes = Array.from({ length: 5 }, (_, n) => ({
      title: `Node ${n}`,
      tags: Array.from({ length: 90 }, (_, at) => `tag ${90 * n + at}`),
    }))
    await add(nodes)
    const first = await see()
    expect([first.said, first.tags.length, first.turns]).to.deep.equal(['1 to 200 of 450 tags', 200, ['Next']])
    expect(first.tags.slice(0, 3)).to.deep.equal(['tag 0 1', 'tag 1 1', 'tag 2 1'])
    const last = await see({ from: '400' })
    expect([last.said, last.tags.length, last.turns]).to.deep.equal(['401 to 450 of 450 tags', 50, ['Previous']])
    expect((await see({ from: '600' })).said).to.equal('There are only 450 tags. Go back to the first ones.')
  })

  it('list the pages of a tag by title, with those of nested tags or without', async () => {
    await add([
      { title: 'Week 10', tags: ['math'] },
      { title: 'week 2', tags: ['math/algebra'] },
      { title: '<b>Bold</b>', tags: ['math', '<i>"&'] },
    ])
    const found = await see({ tag: 'math' })
    expect(found.titles).to.deep.equal(['&lt;b>Bold&lt;/b>', 'week 2', 'Week 10'])
    expect(found.said).to.equal('3 pages with this tag or a nested one. Show only the 2 pages with exactly this tag')
    const exact = await see({ tag: 'math', exact: '' })
    expect(exact.titles).to.deep.equal(['&lt;b>Bold&lt;/b>', 'Week 10'])
    expect(exact.said).to.equal('2 pages with exactly this tag. Show all 3 pages')
    expect((await see({ tag: 'math/algebra' })).path).to.deep.equal(['Tags', 'math'])
    expect((await see({ tag: '<i>"&' })).titles).to.deep.equal(['&lt;b>Bold&lt;/b>'])
  })

  it('lead through the pages of a tag', async () => {
    await add(Array.from({ length: 130 }, (_, n) => ({ title: `Node ${n}`, tags: ['a/b'] })))
    const first = await see({ tag: 'a' })
    expect([first.said?.slice(0, 19), first.turns]).to.deep.equal(['1 to 100 of 130 pag', ['Next']])
    const second = await see({ tag: 'a', from: '100' })
    expect([second.titles.length, second.turns]).to.deep.equal([30, ['Previous']])
    expect((await see({ tag: 'a', from: '200' })).said).to.contain('There are only 130 pages.')
  })

  it('are where the tags of a page and the tabs lead, and open to anyone if the organisation is published', async () => {
    const [{ id }] = (await add([{ title: 'Whales', tags: ['big sea'] }])).nodes
    const { body } = await readPage(ann, pageAt(org, id))
    expect(body).to.contain(`<a class="tag" href="${pageAt(org)}/tags?tag=big%20sea">`)
    expect((await readPage(ann, pageAt(org))).body).to.contain(`href="${pageAt(org)}/tags"`)
    const anyone = client(grove)
    expect((await readPage(anyone, `${pageAt(org)}/tags`)).status).to.not.equal(200)
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    expect((await see({ tag: 'big sea' }, anyone)).titles).to.deep.equal(['Whales'])
  })

  it('offer the pages with exactly a tag only if there are any', async () => {
    await add([{ title: 'Rings', tags: ['math/algebra'] }])
    expect((await see({ tag: 'math' })).said).to.equal('1 page with this tag or a nested one.')
    await add([{ title: 'Numbers', tags: ['math'] }])
    expect((await see({ tag: 'math' })).said).to.contain('Show only the 1 page with exactly this tag')
  })
})
