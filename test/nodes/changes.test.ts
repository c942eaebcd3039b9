/** The recent changes of an organisation, page by page. */

import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { ann, emptyOrg, grove, useScene } from './scene.ts'

interface Change {
  readonly node_id: string
  readonly title: string
  readonly commit?: { readonly message: string; readonly author: string; readonly parent_commits: readonly string[] }
}

describe('the recent changes of an organisation', () => {
  useScene()

  let atlas: PersonClient
  beforeEach(async () => {
    atlas = await emptyOrg()
  })

  const page = async (query = '') => (await atlas.get(`/orgs/${atlas.org}/changes${query}`).then(expecting(200))).body
  const told = ({ changes }: { changes: readonly Change[] }) =>
    changes.map(({ title, commit }) => [title, commit?.author, commit?.message, commit?.parent_commits.length])

  it('have the latest commit of each node, last changed first', async () => {
    const bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${atlas.org}/members/${bob.user.email}`, { role: 'editor' }).then(expecting(200))
    const nodes = [{ title: 'Krill', message: 'Begin with krill' }]
    await ann.post(`/orgs/${atlas.org}/nodes/batch`, { nodes }).then(expecting(201))
    const whales = await newNode(grove, atlas, { title: 'Whales' })
    await bob.patch(whales.at, { text_content: 'They sing.', message: 'Say more\n\nAt length.' }).then(expecting(200))
    const body = await page()
    expect(body).to.have.all.keys('changes', 'limit')
    expect(told(body).sort()).to.deep.equal([
      ['Krill', 'Ann', 'Begin with krill', 0],
      ['Whales', 'Bob', 'Say more\n\nAt length.', 1],
    ])
    const { body: node } = await ann.get(whales.at)
    const [first] = body.changes.filter(({ title }: Change) => title === 'Whales')
    expect(first).to.deep.include({ node_id: node.id, slug: 'whales', updated_at: node.updated_at })
    expect(first.commit.id).to.equal(node.head)
  })

  it('come in pages that together are the list of nodes by change, also where times are equal', async () => {
    const nodes = Array.from({ length: 23 }, (_, at) => ({ title: `Node ${at}` }))
    await ann.post(`/orgs/${atlas.org}/nodes/batch`, { nodes }).then(expecting(201))
    const all = (await ann.get(`/orgs/${atlas.org}/nodes?order=changed&limit=200`)).body.nodes
    for (const limit of [1, 4, 22, 23, 24]) {
      const found: string[] = []
      let pages = 0
      for (let next: string | undefined = ''; next !== undefined; pages++) {
        const body = await page(`?limit=${limit}${next === '' ? '' : `&before=${encodeURIComponent(next)}`}`)
        found.push(...body.changes.map(({ node_id }: Change) => node_id))
        next = body.next
      }
      expect(found).to.deep.equal(all.map(({ id }: { id: string }) => id))
      expect(pages).to.equal(Math.ceil(23 / limit))
    }
  })

  it('are counted after a position, and before another', async () => {
    const nodes = Array.from({ length: 12 }, (_, at) => ({ title: `Node ${at}` }))
    await ann.post(`/orgs/${atlas.org}/nodes/batch`, { nodes }).then(expecting(201))
    const { changes } = await page()
    const places = changes.map((one: Change & { updated_at: string }) => `${one.updated_at}~${one.node_id}`)
    for (const [before, after] of [
      [0, 11],
      [3, 4],
      [3, 9],
      [9, 3],
      [5, 5],
    ] as const) {
      const expected = changes.slice(before + 1, Math.max(after, before + 1))
      const body = await page(`?limit=3&before=${places[before]}&after=${places[after]}`)
      expect(body.total).to.equal(expected.length)
      expect(told(body)).to.deep.equal(told({ changes: expected.slice(0, 3) }))
      expect(body.next !== undefined).to.equal(expected.length > 3)
    }
    expect((await page(`?after=${places[2]}`)).total).to.equal(2)
    expect((await page(`?after=2001-01-01T00:00:00Z~${'0'.repeat(36)}`)).total).to.equal(12)
  })

  it('have no commit if main has none, and no deleted node', async () => {
    await newNode(grove, atlas, { title: 'Empty', initialize: false })
    const gone = await newNode(grove, atlas, { title: 'Gone' })
    await ann.delete(gone.at).then(expecting(204))
    expect(told(await page())).to.deep.equal([['Empty', undefined, undefined, undefined]])
  })

  it('are empty in an empty organisation, and refuse an invalid position', async () => {
    expect(await page()).to.deep.equal({ changes: [], limit: 50 })
    for (const query of [
      'before=',
      'before=x',
      'before=2025-07-15',
      'limit=0',
      'limit=201',
      `before=${'9'.repeat(99)}`,
    ])
      expect((await atlas.get(`/orgs/${atlas.org}/changes?${query}`)).status, query).to.equal(422)
  })

  it('are open to anyone once the organisation is published, and to members only before', async () => {
    await newNode(grove, atlas, { title: 'Whales' })
    const at = `/orgs/${atlas.org}/changes`
    const stranger = await signUp(grove, 'Stranger')
    expect([(await client(grove).get(at)).status, (await stranger.get(at)).status]).to.deep.equal([401, 404])
    await ann.patch(`/orgs/${atlas.org}`, { published: true }).then(expecting(200))
    for (const one of [client(grove), stranger])
      expect(told((await one.get(at).then(expecting(200))).body)).to.have.length(1)
  })
})
