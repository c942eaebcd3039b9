/** The tree of pages without script: which siblings it shows, where its links lead, and the list of a level. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the tree of pages', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let anybody: Client
  let org: string
  let folder: string
  let pages: readonly string[]

  const add = async (titles: readonly string[], parents: readonly string[] = []) => {
    const nodes = titles.map((title) => ({ id: randomUUID(), title, parents }))
    await made(ann.post(`/orgs/${org}/nodes/batch`, { nodes }))
    return nodes.map(({ id }) => id)
  }
  before(async () => {
    anybody = client(grove)
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    ;[folder = ''] = await add(['Folder', 'Other'])
    pages = await add(
      Array.from({ length: 250 }, (_, n) => `Page ${n + 1}`),
      [folder],
    )
  })

  const show = async (path: string, who: Client = anybody) => {
    const { status, body } = await readPage(who, path)
    expect(status, path).to.equal(200)
    return body as string
  }
  /** The titles in the tree, and its links to lists of levels. */
  const treeOf = (html: string) => {
    const tree = /<nav class="side tree"[\s\S]*?<\/nav>/.exec(html)?.[0] ?? ''
    const titles = Array.from(tree.matchAll(/<a class="t"[^>]*>(.*?)<\/a>/g), ([, title]) => title)
    const more = Array.from(tree.matchAll(/<li class="more"><a href="(.*?)">(.*?)<\/a>/g), ([, href, text]) => [
      text,
      href,
    ])
    return { tree, titles, more }
  }

  it('has 50 siblings on each side of the page, and links to all', async () => {
    const list = `${pageAt(org, folder)}/subpages`
    for (const [at, first, last, more] of [
      [0, 1, 101, [['All 250 pages', list]]],
      [
        99,
        50,
        150,
        [
          ['49 before', list],
          ['All 250 pages', list],
        ],
      ],
      [
        249,
        150,
        250,
        [
          ['149 before', list],
          ['All 250 pages', list],
        ],
      ],
    ] as const) {
      const { tree, titles, more: shown } = treeOf(await show(pageAt(org, pages[at])))
      expect(titles).to.deep.equal([
        'Folder',
        ...Array.from({ length: last - first + 1 }, (_, n) => `Page ${first + n}`),
        'Other',
      ])
      expect(shown).to.deep.equal(more)
      expect(tree.match(/<a class="t"[^>]*aria-current="page"/g)).to.have.length(1)
    }
  })

  it('opens and closes a level by a link', async () => {
    const hrefOf = (html: string) => /<a class="chev" href="(.*?)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const closed = await show(pageAt(org))
    expect(treeOf(closed).titles).to.deep.equal(['Folder', 'Other'])
    expect(closed).to.contain('aria-expanded="false"')
    const open = await show(hrefOf(closed))
    expect(treeOf(open).titles).to.have.length(103)
    expect(open).to.contain('aria-expanded="true"')
    expect(treeOf(await show(hrefOf(open))).titles).to.deep.equal(['Folder', 'Other'])
    const below = await show(`${pageAt(org, pages[0])}?at=main`)
    const shut = await show(hrefOf(below))
    expect(hrefOf(below)).to.match(/\?at=main&close=/)
    expect(treeOf(shut).titles).to.deep.equal(['Folder', 'Other'])
    expect(treeOf(await show(hrefOf(shut))).titles).to.have.length(103)
    expect(hrefOf(shut)).to.match(/\?at=main$/)
    const unknown = await show(`${pageAt(org)}?open=${randomUUID()}&open=nonsense&close=nonsense`)
    expect(treeOf(unknown).titles).to.deep.equal(['Folder', 'Other'])
  })

  it('shows a page however deep it is', async () => {
    const chain: string[] = []
    for (let depth = 1; depth <= 16; depth++) chain.push(...(await add([`Depth ${depth}`], chain.slice(-1))))
    const { titles, tree } = treeOf(await show(pageAt(org, chain.at(-1))))
    expect(titles).to.deep.equal([
      'Depth 1',
      'Folder',
      'Other',
      ...Array.from({ length: 13 }, (_, n) => `Depth ${n + 4}`),
    ])
    expect(tree).to.match(/aria-current="page">Depth 16</)
  })

  it('offers new pages and moves only to those who may make them', async () => {
    const path = pageAt(org, pages[0])
    const ben = await signUp(grove, 'Ben')
    await made(ann.put(`/orgs/${org}/members/${ben.user.email}`, { role: 'reader' }))
    for (const who of [anybody, ben]) {
      const { tree } = treeOf(await show(path, who))
      expect(tree).to.not.match(/\/new\?|settings#move|data-move/)
    }
    const mine = treeOf(await show(path, ann)).tree
    expect(mine).to.contain(`href="${pageAt(org)}/new?parent=${pages[0]}"`)
    expect(mine).to.contain(`href="${pageAt(org, pages[0])}/settings#move"`)
    expect(mine).to.contain('data-move')
    await made(ann.patch(`/orgs/${org}`, { require_pull_requests: true }))
    const guarded = treeOf(await show(path, ann)).tree
    await made(ann.patch(`/orgs/${org}`, { require_pull_requests: false }))
    expect(guarded)
      .to.contain('/new?parent=')
      .and.not.match(/settings#move|data-move/)
  })

  describe('has a list of each level', () => {
    const listed = (html: string) =>
      Array.from(
        (/<ul class="level">([\s\S]*?)<\/ul>/.exec(html)?.[1] ?? '').matchAll(/class="t"[^>]*>(.*?)<\/a>/g),
        ([, title]) => title,
      )
    const linkOf = (html: string, rel: string) =>
      new RegExp(`rel="${rel}" href="(.*?)"`).exec(html)?.[1]?.replaceAll('&amp;', '&')
    const list = () => `${pageAt(org, folder)}/subpages`

    it('page by page, in the order of the tree', async () => {
      const all: (string | undefined)[] = []
      let last = ''
      for (let next: string | undefined = list(); next; next = linkOf(last, 'next')) {
        last = await show(next)
        all.push(...listed(last))
      }
      expect(all).to.deep.equal(Array.from({ length: 250 }, (_, n) => `Page ${n + 1}`))
      expect(last).to.contain('201 to 250 of 250 pages')
      expect(linkOf(last, 'prev')).to.equal(`${list()}?from=100`)
      expect(listed(await show(`${list()}?from=9999`))).to.deep.equal([])
      expect(listed(await show(`${pageAt(org)}/subpages`))).to.include.members(['Folder', 'Other'])
    })

    it('filtered by the beginnings of words', async () => {
      const html = await show(`${list()}?filter=PAGE+24`)
      expect(listed(html)).to.deep.equal(['Page 24', ...Array.from({ length: 10 }, (_, n) => `Page ${240 + n}`)])
      expect(html).to.contain('11 pages with “PAGE 24” in the title').and.contain('value="PAGE 24"')
      const second = linkOf(await show(`${list()}?filter=page`), 'next')
      expect(second).to.equal(`${list()}?filter=page&from=100`)
      expect(await show(`${list()}?filter=${encodeURIComponent('<b>')}`)).to.contain(
        'No page here has “&lt;b>” in its title.',
      )
    })

    it('to which the page of the folder leads, with the first 100 in the same order', async () => {
      const html = await show(pageAt(org, folder))
      const section = /<section class="below">[\s\S]*?<\/section>/.exec(html)?.[0] ?? ''
      const titles = Array.from(section.matchAll(/<li><a [^>]*>(.*?)<\/a>/g), ([, title]) => title)
      expect(titles).to.deep.equal(Array.from({ length: 100 }, (_, n) => `Page ${n + 1}`))
      expect(section).to.contain(`href="${list()}"`).and.contain('All 250 subpages')
    })
  })
})
