/** Change sets in the list of an organisation's pull requests, which have their items otherwise. */

import { expect } from 'chai'
import { mainOf, visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt as urlOf } from '../support/pages.ts'
import type { Answer } from '../support/people.ts'
import { ann, aPage, bob, cy, di, gitOf, grove, open, pageAt, sets, useScene } from './scene.ts'

describe('lists with change sets', () => {
  useScene()
  let whales = ''
  let seals = ''

  before(async () => {
    whales = await aPage('Whales')
    seals = await aPage('Seals', { parents: [whales] })
    await open(cy, { title: 'Both', reviewers: [bob.user.id], nodes: [{ title: 'Krill' }, { id: seals, tags: ['x'] }] })
    await open(di, { title: 'Merged', nodes: [{ title: 'Otters' }] })
    await di.post(`${sets}/2/merge`).then(expecting(200))
    const git = gitOf(whales)
    git.point('draft', git.commit({ files: { 'a.md': 'A.\n' }, parents: [git.head()] }))
    await bob.post(`${pageAt(whales)}/pull-requests`, { source_branch: 'draft', title: 'Alone' }).then(expecting(201))
  })

  const list = async (query: string) => {
    const path = `/orgs/${ann.org}/pull-requests?group=change_set${query}`
    const { pull_requests, total } = (await ann.get(path).then(expecting(200))).body
    expect(total, query).to.equal(pull_requests.length)
    return pull_requests.map(({ title, num_items }: Answer['body']) => [title, num_items])
  }

  it('have a line for a set, and none for its items, by each filter', async () => {
    const [alone, both, merged] = [
      ['Alone', undefined],
      ['Both', 2],
      ['Merged', 1],
    ]
    expect(await list('')).to.deep.equal([alone, both])
    expect(await list('&status=all')).to.deep.equal([alone, merged, both])
    expect(await list('&status=merged')).to.deep.equal([merged])
    expect(await list('&author=cy@example.org')).to.deep.equal([both])
    expect(await list(`&reviewer=${bob.user.email}`)).to.deep.equal([both])
    expect(await list(`&under=${whales}`)).to.deep.equal([alone, both])
    expect(await list(`&under=${seals}&status=all`)).to.deep.equal([both])
    const { pull_requests: items } = (await ann.get(`/orgs/${ann.org}/pull-requests?status=all`)).body
    expect(items.map(({ node_title }: Answer['body']) => node_title).sort()).to.deep.equal([
      ...['Krill', 'Otters', 'Seals', 'Whales'],
    ])
  })

  it('are so on pages, and the proposals of a page name the whole', async () => {
    const { open: show } = await visitOf(grove, ann)
    const words = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    const all = mainOf(await show(`${urlOf(ann.org)}/proposals`))
    expect(words(all))
      .to.include('2 open proposals')
      .and.match(/Both #1 Cy · 2 pages/)
    expect(all).to.match(/href="[^"]*\/proposals\/1"/)
    const moved = await show(urlOf(ann.org))
    expect(mainOf(await show(String(moved.headers.location)))).to.match(/href="[^"]*\/proposals\/1"/)
    const own = mainOf(await show(`${urlOf(ann.org, seals)}/proposals`))
    expect(words(own)).to.include('part of a proposal of several pages')
    expect(own).to.match(new RegExp(`/proposals/1\\?page=${seals}"`))
  })
})
