/** The pull requests of an organisation, compared with the lists of its nodes. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { aNode, ann, aProposal, bob, grove, nodes, pass, useScene } from './scene.ts'

interface Pull {
  readonly node_id: string
  readonly number: number
  readonly status: string
  readonly created_at: string
  readonly author_email: string
}

describe('the pull requests of an organisation', () => {
  useScene()

  const at = (query = '') => `/orgs/${ann.org}/pull-requests${query}`
  const read = async (query = '', as = ann) => (await as.get(at(query)).then(expecting(200))).body
  const keysOf = (pulls: readonly Pull[]) => pulls.map(({ node_id, number }) => `${node_id} ${number}`)

  describe('of nodes with several parents', () => {
    /** The ids of the parents of each node. */
    const parents = new Map<string, readonly string[]>()

    const open = async (node: TestNode, name: string, as: PersonClient) => {
      await node.proposal(name)
      const body = { source_branch: name, title: `Merge ${name}`, is_draft: name === 'b' }
      await as.post(`${node.at}/pull-requests`, body).then(expecting(201))
    }

    before(async () => {
      const random = randomOf(35)
      for (let n = 0; n < 12; n++) {
        const others = [...parents.keys()]
        const above = random.shuffled(others).slice(0, random.below(3))
        const { id } = await aNode({ title: `Node ${n}`, parents: above })
        parents.set(id, above)
      }
      for (const name of ['a', 'b', 'c', 'd'])
        for (const node of random.shuffled(nodes)) {
          // Some are opened in the same millisecond.
          if (random.below(2) === 0) pass(1)
          await open(node, name, random.below(2) === 0 ? ann : bob)
          const number = `${node.at}/pull-requests/${'abcd'.indexOf(name) + 1}`
          const fate = random.below(4)
          // Drafts and those of a node that has moved since stay open.
          if (fate === 0) await ann.post(`${number}/merge`)
          if (fate === 1) await bob.patch(number, { status: 'closed' }).then(expecting(200))
        }
      const other = await newNode(grove, { ...ann, org: (await ann.post('/orgs', { name: 'Other' })).body.id })
      await open(other, 'a', ann)
    })

    /** All pull requests by the lists of the nodes, newest first. */
    const naive = async (): Promise<Pull[]> => {
      const all: Pull[] = []
      for (const { at, id } of nodes) {
        const { body } = await ann.get(`${at}/pull-requests?status=all&limit=200`).then(expecting(200))
        const { title } = (await ann.get(at).then(expecting(200))).body
        all.push(...body.pull_requests.map((pull: Pull) => ({ ...pull, node_id: id, node_title: title })))
      }
      const order = ({ created_at, node_id, number }: Pull) => `${created_at} ${node_id} ${number}`
      return all.sort((a, b) => (order(a) < order(b) ? 1 : -1))
    }

    const isAtOrBelow = (node: string, top: string): boolean =>
      node === top || (parents.get(node) ?? []).some((parent) => isAtOrBelow(parent, top))

    it.deep('are those of the lists of its nodes, by each filter and in each order', async () => {
      const all = await naive()
      expect(new Set(all.map(({ created_at }) => created_at)).size).to.be.lessThan(all.length)
      expect(new Set(all.map((pull) => pull.status)).size).to.equal(3)
      const tops = [undefined, ...parents.keys()]
      for (const status of ['open', 'merged', 'closed', 'all'])
        for (const author of [undefined, 'BOB@example.org', 'me', 'bob@example.com'])
          for (const under of tops) {
            const email = author === 'me' ? ann.user.email : author?.toLowerCase()
            const expected = all
              .filter((pull) => status === 'all' || pull.status === status)
              .filter((pull) => email === undefined || pull.author_email === email)
              .filter((pull) => under === undefined || isAtOrBelow(pull.node_id, under))
            const query = new URLSearchParams({
              status,
              limit: '200',
              ...(author && { author }),
              ...(under && { under }),
            })
            const { pull_requests, total } = await read(`?${query}`)
            expect(keysOf(pull_requests), `${query}`).to.deep.equal(keysOf(expected))
            expect(total, `${query}`).to.equal(expected.length)
            const oldest = await read(`?${query}&order=oldest`)
            expect(oldest.pull_requests, `${query} oldest`).to.deep.equal([...pull_requests].reverse())
          }
    })

    it('have the fields that need no Git, and the title of the node', async () => {
      const omitted =
        /^(can_merge|merge_.*|type_problems|commits_.*|source_commit|target_commit|updated_at|description|author_id|reviewers|consent|last_.*)$/
      const expected = (await naive()).map((pull) =>
        Object.fromEntries(Object.entries(pull).filter(([name]) => !omitted.test(name))),
      )
      expect((await read('?status=all&limit=200')).pull_requests).to.deep.equal(expected)
    })

    it('come in pages that are the whole list together, also below a node', async () => {
      const [top] = [...parents.keys()]
      for (const filter of ['status=all', `status=all&under=${top}`, 'status=open&author=me&order=oldest']) {
        const whole = await read(`?${filter}&limit=200`)
        const pages: Pull[] = []
        let next: string | undefined = at(`?${filter}&limit=3`)
        while (next !== undefined) {
          const { body, headers }: Answer = await ann.get(next).then(expecting(200))
          expect(body.total).to.equal(whole.total)
          pages.push(...body.pull_requests)
          next = /<(.*)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
        }
        expect(pages, filter).to.deep.equal(whole.pull_requests)
        const beyond = await read(`?${filter}&offset=9999`)
        expect(beyond, filter).to.deep.equal({ pull_requests: [], total: whole.total, limit: 50, offset: 9999 })
      }
    })

    it('are 304 while nothing changes', async () => {
      const { headers } = await ann.get(at())
      expect((await ann.get(at(), { 'if-none-match': String(headers.etag) })).status).to.equal(304)
    })

    it('follow titles, edges and deleted nodes', async () => {
      const { node } = await aProposal()
      const top = await aNode()
      const below = async () => keysOf((await read(`?under=${top.id}`)).pull_requests)
      expect(await below()).to.deep.equal([])
      await ann.put(`${node.at}/parents/${top.id}`, {}).then(expecting(200))
      await ann.patch(node.at, { title: 'Dolphins' }).then(expecting(200))
      expect((await read(`?under=${top.id}`)).pull_requests[0]).to.include({ node_title: 'Dolphins' })
      expect(await below()).to.deep.equal([`${node.id} 1`])
      await ann.delete(node.at).then(expecting(204))
      expect(await below()).to.deep.equal([])
      expect(keysOf((await read('?status=all&limit=200')).pull_requests)).to.not.include(`${node.id} 1`)
      nodes.splice(nodes.indexOf(node), 1)
    })
  })

  it('are for members only, also if the organisation is published', async () => {
    const stranger = await signUp(grove, 'Stranger')
    const { node } = await aProposal()
    expect(await client(grove).get(at())).to.deep.include({ status: 401 })
    expect((await stranger.get(at())).body.code).to.equal('org_not_found')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    for (const reader of [client(grove), stranger])
      expect(await reader.get(at())).to.deep.equal(await reader.get(`${node.at}/pull-requests`))
    expect((await stranger.get(at())).body.code).to.equal('forbidden')
  })

  it('are not for a token of one node, but for one of the organisation, whose owner is `me`', async () => {
    const { node } = await aProposal()
    const tokenOf = async (scope: object) => {
      const body = { name: 'script', access: 'read', org_id: ann.org, ...scope }
      return client(grove, (await bob.post('/auth/tokens', body).then(expecting(201))).body.token)
    }
    expect((await (await tokenOf({ node_id: node.id })).get(at())).body.code).to.equal('token_scope')
    const mine = (await (await tokenOf({})).get(at('?author=me&status=all&limit=200')).then(expecting(200))).body
    expect(mine).to.deep.equal(await read('?author=bob@example.org&status=all&limit=200'))
  })

  it('refuse invalid filters, and a node that does not exist', async () => {
    const refused = [
      'status=draft',
      'author=',
      'author=Bob',
      'order=updated',
      'limit=0',
      'limit=201',
      'offset=-1',
      'reviewer=Bob',
    ]
    for (const query of refused) expect((await ann.get(at(`?${query}`))).status, query).to.equal(422)
    const { node } = await aProposal()
    const elsewhere = (await ann.post('/orgs', { name: 'Elsewhere' }).then(expecting(201))).body.id
    for (const under of [randomUUID(), 'none'])
      expect((await ann.get(at(`?under=${under}`))).body.code, under).to.equal('node_not_found')
    const other = await ann.get(`/orgs/${elsewhere}/pull-requests?under=${node.id}`)
    expect(other.body.code).to.equal('node_not_found')
    expect((await ann.get(`/orgs/${elsewhere}/pull-requests`)).body).to.include({ total: 0 })
  })
})
