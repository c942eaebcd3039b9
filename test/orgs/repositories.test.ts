/** The repositories of an organisation, as JSON and as text. */

import { expect } from 'chai'
import { castFor, made, type World, worldOf } from '../support/cast.ts'
import { exchange } from '../support/exchange.ts'
import { startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { type Client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { noOrg } from './scene.ts'

describe('the repositories of an organisation', () => {
  const { grove } = useWorld({})
  let hidden: World
  let open: World
  before(async () => {
    const cast = await castFor(grove)
    hidden = await worldOf(cast, false)
    open = await worldOf(cast, true)
    for (const { owner, org } of [hidden, open])
      await made(owner.post(`/orgs/${org}/nodes`, { title: 'Empty', initialize: false }))
  })

  const rowsFor = (who: Client, { org }: World, query = '') => made(who.get(`/orgs/${org}/repositories${query}`))
  const asText = (who: Client, { org }: World, accept = 'text/plain') =>
    who.get(`/orgs/${org}/repositories`, { accept })

  it('are the nodes, the oldest first, and for owners before them the organisation itself', async () => {
    const { owner, org, node, members } = hidden
    const nodes = (await made(owner.get(`/orgs/${org}/nodes`))).nodes as { id: string; title: string }[]
    const rows = nodes.map(({ id, title }) => ({ node_id: id, title, clone_url: `${grove.url}/git/${org}/${id}.git` }))
    const own = { title: 'Atlas', clone_url: `${grove.url}/git/${org}/org.git` }
    expect(nodes.map(({ title }) => title)).to.deep.equal(['Whales', 'Empty'])
    const page = { limit: 50, offset: 0 }
    expect(await rowsFor(owner, hidden)).to.deep.equal({ repositories: [own, ...rows], total: 3, ...page })
    for (const member of Object.values(members)) {
      expect(await rowsFor(member, hidden)).to.deep.equal({ repositories: rows, total: 2, ...page })
    }
    const readable = `${grove.url}/git/${org}/${node}/whales.git`
    expect((await made(owner.get(`/orgs/${org}/nodes/${node}`))).clone_url).to.equal(readable)
  })

  it('come by pages that leave none out and name none twice', async () => {
    const all = (await rowsFor(hidden.owner, hidden)).repositories
    for (const limit of [1, 2, 3]) {
      const seen: unknown[] = []
      for (let offset = 0; offset < 4; offset += limit) {
        seen.push(...(await rowsFor(hidden.owner, hidden, `?limit=${limit}&offset=${offset}`)).repositories)
      }
      expect(seen, `${limit}`).to.deep.equal(all)
    }
  })

  it('are as text one clone URL a line, all of them, whatever page is asked for', async () => {
    const { owner, org, members } = hidden
    const lines = (repositories: { clone_url: string }[]) => repositories.map((one) => `${one.clone_url}\n`).join('')
    for (const who of [owner, members.reader]) {
      const text = await asText(who, hidden)
      expect(text).to.deep.equal({ status: 200, body: lines((await rowsFor(who, hidden)).repositories) })
      expect(text.headers['content-type']).to.equal('text/plain; charset=utf-8')
      expect(text.headers.vary).to.contain('Accept')
    }
    const paged = await owner.get(`/orgs/${org}/repositories?limit=1`, { accept: 'text/plain' })
    expect(paged.body).to.equal((await asText(owner, hidden)).body)
  })

  it('are JSON to who does not say, takes anything, or takes nothing that there is', async () => {
    for (const accept of ['*/*', 'application/json', 'image/png', 'application/json, text/plain;q=0.5']) {
      expect((await asText(hidden.owner, hidden, accept)).body, accept).to.be.an('object')
    }
    expect((await asText(hidden.owner, hidden, 'text/*')).body).to.be.a('string')
  })

  it('of a published one are for anyone, without what its owners see', async () => {
    const { anonymous, stranger, reader } = open.people
    const expected = await rowsFor(reader, open)
    expect(expected.total).to.equal(2)
    for (const who of [anonymous, stranger]) expect(await rowsFor(who, open)).to.deep.equal(expected)
    expect((await asText(anonymous, hidden)).status).to.equal(401)
    expect(await asText(stranger, hidden)).to.deep.equal(noOrg)
  })

  it('lose a node that is deleted', async () => {
    const { owner, org } = open
    const { id } = await made(owner.post(`/orgs/${org}/nodes`, { title: 'Mistake' }))
    expect((await asText(owner, open)).body).to.contain(id)
    await made(owner.delete(`/orgs/${org}/nodes/${id}`))
    expect((await asText(owner, open)).body).to.not.contain(id)
  })

  it('begin with PUBLIC_URL where it is set, else with the host that was asked for, if it can be one', async () => {
    const { owner, org } = hidden
    const start = async (host: string) => {
      const { repositories } = JSON.parse(await askedFor(host, `/orgs/${org}/repositories`, owner))
      return repositories[0].clone_url.replace(`/git/${org}/org.git`, '')
    }
    expect(await start('grove.test:8080')).to.equal('http://grove.test:8080')
    expect(await start('[::1]:8080')).to.equal('http://[::1]:8080')
    for (const host of ['a b', 'x/../y', 'user@x', '$(x)', '']) expect(await start(host), host).to.equal(grove.url)

    const behind = await startGrove({ publicUrl: 'https://grove.example' })
    try {
      const zoe = await signUp(behind, 'Zoe')
      const node = await newNode(behind, zoe)
      const address = `https://grove.example/git/${zoe.org}`
      const text = await zoe.get(`/orgs/${zoe.org}/repositories`, { accept: 'text/plain' })
      expect(text.body).to.equal(`${address}/org.git\n${address}/${node.id}.git\n`)
      expect((await zoe.get(node.at)).body.clone_url).to.equal(`${address}/${node.id}/whales.git`)
    } finally {
      await behind.close()
    }
  })

  /** The body of the answer to who asks for another host than the one that it reaches. */
  async function askedFor(host: string, path: string, { session }: PersonClient): Promise<string> {
    const headers = { host, authorization: `Bearer ${session.accessToken}` }
    return (await exchange(grove.url + path, { headers })).text
  }
})
