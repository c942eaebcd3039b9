/** The tags that the nodes of an organisation carry, beside its list of nodes. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { cli } from '../operator/desk.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { ann, emptyOrg, grove, useScene } from './scene.ts'

describe('the tags of an organisation', () => {
  useScene()

  let atlas: PersonClient
  beforeEach(async () => {
    atlas = await emptyOrg()
  })

  const make = (tags: readonly string[], fields: object = {}) => newNode(grove, atlas, { tags, ...fields })
  const page = async (query = '') => (await ann.get(`/orgs/${atlas.org}/tags${query}`).then(expecting(200))).body
  const told = async () =>
    (await page()).tags.map((tag: { name: string; num_nodes: number }) => [tag.name, tag.num_nodes])

  it('are those that most nodes carry first, then by name', async () => {
    for (const tags of [['sea', 'mammal'], ['sea', 'fish'], ['sea'], ['fish', 'fish'], ['ünder'], ['zoo'], []])
      await make(tags)
    expect(await page()).to.deep.equal({
      tags: [
        { name: 'sea', num_nodes: 3, num_nodes_within: 3 },
        { name: 'fish', num_nodes: 2, num_nodes_within: 2 },
        { name: 'mammal', num_nodes: 1, num_nodes_within: 1 },
        { name: 'zoo', num_nodes: 1, num_nodes_within: 1 },
        { name: 'ünder', num_nodes: 1, num_nodes_within: 1 },
      ],
      ...{ total: 5, limit: 50, offset: 0 },
    })
  })

  it('are different if they differ in case, each with as many nodes as the list narrowed by it', async () => {
    for (const tags of [['sea'], ['Sea'], ['SEA', 'sea'], ['Straße'], ['STRASSE']]) await make(tags)
    const { tags } = await page()
    expect(tags.map(({ name }: { name: string }) => name)).to.have.members(['sea', 'Sea', 'SEA', 'Straße', 'STRASSE'])
    for (const { name, num_nodes } of tags) {
      const { body } = await ann.get(`/orgs/${atlas.org}/nodes?tag=${encodeURIComponent(name)}`)
      expect(body.total, name).to.equal(num_nodes)
    }
  })

  it('come in pages with a link to the next, and are empty past their end', async () => {
    await make(['a', 'b', 'c'])
    const first = await ann.get(`/orgs/${atlas.org}/tags?limit=2`)
    expect([first.body.tags.length, first.body.total]).to.deep.equal([2, 3])
    expect(first.headers.link).to.equal(`</orgs/${atlas.org}/tags?limit=2&offset=2>; rel="next"`)
    expect(await page('?limit=2&offset=2')).to.deep.equal({
      tags: [{ name: 'c', num_nodes: 1, num_nodes_within: 1 }],
      ...{ total: 3, limit: 2, offset: 2 },
    })
    for (const offset of [3, 100_000, Number.MAX_SAFE_INTEGER])
      expect(await page(`?offset=${offset}`)).to.deep.equal({ tags: [], total: 3, limit: 50, offset })
  })

  it('follow main, and no other branch and no Git tag', async () => {
    const node = await make(['sea'])
    await node.branch('draft')
    await node.commit('draft', { 'node.json': '{"title": "Draft", "tags": ["draft", "sea"]}' })
    node.git.say('tag', 'v1')
    expect(await told()).to.deep.equal([['sea', 1]])
    await node.open('draft')
    await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
    expect(await told()).to.deep.equal([
      ['draft', 1],
      ['sea', 1],
    ])
  })

  it('follow what changes and deletes nodes, one by one and in batches', async () => {
    const nodes = `/orgs/${atlas.org}/nodes`
    const made = [{ tags: ['sea', 'fish'] }, { tags: ['sea'] }, {}].map((one) => ({
      id: randomUUID(),
      title: 'New',
      ...one,
    }))
    await ann.post(`${nodes}/batch`, { nodes: made }).then(expecting(201))
    expect(await told()).to.deep.equal([
      ['sea', 2],
      ['fish', 1],
    ])
    const [fish, sea, none] = made.map(({ id }) => id)
    const changed = [
      { id: fish, tags: ['fish'] },
      { id: none, tags: ['fish', 'air'] },
    ]
    await ann.put(`${nodes}/batch`, { nodes: changed }).then(expecting(200))
    expect(await told()).to.deep.equal([
      ['fish', 2],
      ['air', 1],
      ['sea', 1],
    ])
    await ann.patch(`${nodes}/${fish}`, { title: 'Of the same tags' }).then(expecting(200))
    await ann.patch(`${nodes}/${sea}`, { tags: [] }).then(expecting(200))
    await ann.delete(`${nodes}/${none}`).then(expecting(204))
    expect(await told()).to.deep.equal([['fish', 1]])
    await ann.delete(`${nodes}/${fish}`).then(expecting(204))
    expect(await page()).to.include({ total: 0 })
  })

  it('are only those of this organisation', async () => {
    await make(['sea'])
    await newNode(grove, await emptyOrg(), { tags: ['sea', 'air'] })
    expect(await told()).to.deep.equal([['sea', 1]])
  })

  it.deep(
    'are, after all of this, what doctor counts in the repositories, and it names a count that is wrong',
    async () => {
      await make(['sea', 'fish'])
      const ofSea = { org_id: atlas.org, tag: 'sea' }
      await grove.deps.index.write((trx) =>
        trx
          .updateTable('org_tag')
          .set({ nodes: 2 })
          .where((eb) => eb.and(ofSea))
          .execute(),
      )
      const { findings } = JSON.parse((await cli(grove.dataDir, 'doctor', '--json')).stdout)
      expect(findings.map(({ reason }: { reason: string }) => reason)).to.deep.equal([
        'org_tag sea: nodes is 1, but the index has 2',
      ])
    },
  )

  it('are for anyone what they are for members, once the organisation is published', async () => {
    await make(['sea'])
    await ann.patch(`/orgs/${atlas.org}`, { published: true }).then(expecting(200))
    const asMember = await ann.get(`/orgs/${atlas.org}/tags`)
    for (const reader of [client(grove), await signUp(grove, 'Ben')])
      expect(await reader.get(`/orgs/${atlas.org}/tags`)).to.deep.equal(asMember)
  })

  it.deep('are listed up to the first 100,000', async () => {
    const names = Array.from({ length: 100_001 }, (_, n) => `tag ${String(n).padStart(6, '0')}`)
    await grove.deps.index.write(async (trx) => {
      for (let at = 0; at < names.length; at += 5_000) {
        const rows = names.slice(at, at + 5_000).map((tag) => ({
          ...{ org_id: atlas.org, tag, tag_key: tag },
          ...{ nodes: 1, within: 1 },
        }))
        await trx.insertInto('org_tag').values(rows).execute()
      }
    })
    const last = await ann.get(`/orgs/${atlas.org}/tags?limit=200&offset=99999`)
    expect(last.body).to.deep.equal({
      tags: [{ name: 'tag 099999', num_nodes: 1, num_nodes_within: 1 }],
      ...{ total: 100_000, limit: 200, offset: 99_999 },
    })
    expect(last.headers).to.not.have.property('link')
    expect(await page('?offset=100000')).to.deep.include({ tags: [], total: 100_000 })
  })
})
