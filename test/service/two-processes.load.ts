import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { commitOf, concurrencyRules, created } from '../support/concurrency-rules.ts'
import { newDataDir } from '../support/data-folder.ts'
import { faultsIn } from '../support/log.ts'
import { client, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'

describe('two services over one data folder, one of them with two workers', () => {
  describe('are as safe as one', () => {
    concurrencyRules(async () => {
      const { dataDir, both, close } = await spawnTwo()
      return { dataDir, urls: both.map(({ url }) => url), close }
    })
  })

  describe('find at once what the other has written', () => {
    let pair: Pair
    before(async () => {
      pair = await spawnTwo()
    })
    after(() => pair?.close())

    it('nodes, commits, branches, requests, edges, matches, members and publication', async () => {
      const [here, there] = pair.both
      const ann = await signUp(here, 'Ann')
      const bob = await signUp(there, 'Bob')
      const elsewhere = client(there, ann.session.accessToken)
      const bobHere = client(here, bob.session.accessToken)
      const org = `/orgs/${ann.org}`
      expect((await elsewhere.get('/auth/me')).body).to.deep.equal(ann.user)

      const whales = created(await ann.post(`${org}/nodes`, { title: 'Whales', text_content: 'Singing mammals' }))
      const node = `${org}/nodes/${whales.id}`
      expect(await elsewhere.get(node)).to.deep.equal({ status: 200, body: whales })
      expect((await elsewhere.get(`${org}/nodes`)).body.nodes.map(idOf)).to.deep.equal([whales.id])

      const commit = created(await elsewhere.post(`${node}/tree/main/commits`, commitOf('Sing', 'content.md', 'Krill')))
      expect((await ann.get(node)).body).to.include({ head: commit.id, text_content: 'Krill' })
      expect((await ann.get(`${node}/tree/main/commits/${commit.id}`)).body).to.deep.equal(commit)
      expect((await ann.post(`${org}/search/retrieve`, { query: 'krill' })).body.matches.map(nodeOf)).to.deep.equal([
        whales.id,
      ])

      const branch = created(await ann.post(`${node}/branches`, { name: 'draft' }))
      expect((await elsewhere.get(`${node}/branches/draft`)).body).to.deep.equal(branch)
      created(await elsewhere.post(`${node}/tree/draft/commits`, commitOf('More', 'content.md', 'Plankton')))
      const { pr } = created(await ann.post(`${node}/pull-requests`, { source_branch: 'draft', title: 'More' }))
      expect((await elsewhere.get(`${node}/pull-requests/1`)).body).to.deep.equal({ pr })
      const merged = await elsewhere.post(`${node}/pull-requests/1/merge`, {})
      expect(await ann.get(`${node}/pull-requests/1`)).to.deep.equal(merged)
      const query = { query: 'plankton krill' }
      expect((await ann.post(`${org}/search/retrieve`, query)).body.matches[0].matched_terms).to.deep.equal([
        'plankton',
      ])

      const calf = created(await elsewhere.post(`${org}/nodes`, { title: 'Calf', parents: [whales.id] }))
      expect((await ann.get(node)).body.children.map(idOf)).to.deep.equal([calf.id])

      expect((await bobHere.get(org)).status).to.equal(404)
      expect((await elsewhere.put(`${org}/members/bob@example.org`, { role: 'reader' })).status).to.equal(200)
      expect((await bobHere.get(node)).status).to.equal(200)
      expect((await ann.delete(`${org}/members/bob@example.org`)).status).to.equal(204)
      expect((await bob.get(node)).status).to.equal(404)

      const graph = `/public${org}/graph`
      expect((await ann.patch(org, { published: true })).status).to.equal(200)
      expect((await client(there).get(graph)).body).to.include({ total_nodes: 2, total_edges: 1 })
      expect((await elsewhere.patch(org, { published: false })).status).to.equal(200)
      expect((await client(here).get(graph)).status).to.equal(404)

      expect((await ann.delete(`${org}/nodes/${calf.id}`)).status).to.equal(204)
      expect((await elsewhere.get(`${org}/nodes/${calf.id}`)).status).to.equal(404)
      expect((await elsewhere.post(`${org}/search/retrieve`, { query: 'calf' })).body.matches).to.deep.equal([])
    })
  })
})

interface Pair {
  readonly dataDir: string
  readonly both: readonly [SpawnedGrove, SpawnedGrove]
  close(): Promise<void>
}

/** Both end with exit code 0, or `close` throws. */
async function spawnTwo(): Promise<Pair> {
  const dataDir = await newDataDir()
  // One address for both, as behind a proxy, so that both answer the same clone URLs.
  const environment = { PUBLIC_URL: 'https://grove.example', TRUST_PROXY: 'loopback' }
  const both = await Promise.all([
    spawnGrove(dataDir, environment),
    spawnGrove(dataDir, { ...environment, WORKERS: '2' }),
  ])
  const close = async () => {
    const codes = await Promise.all(both.map((process) => process.stop()))
    await rm(dataDir, { recursive: true, force: true })
    expect(codes).to.deep.equal([0, 0])
    expect(both.flatMap((process) => faultsIn(process.output().stderr))).to.deep.equal([])
  }
  return { dataDir, both, close }
}

function idOf({ id }: { id: string }): string {
  return id
}

function nodeOf({ node_id }: { node_id: string }): string {
  return node_id
}
