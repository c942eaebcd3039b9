/** Many readers at once: none is turned away by what others read, and a text is shown before its links are resolved. */
import { Agent } from 'node:http'
import { expect } from 'chai'
import { segmentOf } from '../../server/base/page-segments.ts'
import { connectHttp } from '../mcp/scene.ts'
import { made } from '../support/cast.ts'
import { type Headers, type Reply, send } from '../support/exchange.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

const count = 100
const linksTo = (some: number) => Array.from({ length: some }, (_, n) => `[[Note ${n % count}]]`).join(' and\n\n')

describe('many readers of a published organisation', () => {
  let grove: Grove
  let ann: PersonClient
  let ids: string[]
  let heads: string[]
  let agent: Agent

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    const nodes = Array.from({ length: count }, (_, n) => ({
      title: `Note ${n}`,
      text_content: `This is note ${n}; the next is [[Note ${(n + 1) % count}]].\n\n${linksTo(30)}`,
      properties: { source_path: `Note ${n}.md` },
    }))
    const { body } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    ids = body.nodes.map(({ id }: { id: string }) => id)
    heads = body.nodes.map(({ head }: { head: string }) => head)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })
  after(() => grove.close())
  beforeEach(() => {
    agent = new Agent({ keepAlive: true })
  })
  afterEach(() => agent.destroy())

  const get = (path: string, headers: Headers = {}): Promise<Reply> => send(grove.url + path, { headers }, agent)
  const page = (n: number) =>
    get(pageAt({ id: ann.org, name: 'Ann' }, { id: ids[n] ?? '', title: `Note ${n}` }), { accept: 'text/html' })
  const statuses = (replies: readonly Reply[]) => [...new Set(replies.map(({ status }) => status))]

  it('see a hundred different pages at once, each with its text and its links', async () => {
    const pages = await Promise.all(ids.map((_, n) => page(n)))
    expect(statuses(pages)).to.deep.equal([200])
    for (const [n, { body }] of pages.entries()) expect(body.toString()).to.contain(`This is note ${n};`)
    const again = (await page(0)).body.toString()
    expect(again).to.match(new RegExp(`href="[^"]*/${segmentOf(ids[1] ?? '', 'Note 1')}"[^>]*>Note 1</a>\\.`))
  })

  it('read the links, the differences and the authors of fifty nodes at once', async () => {
    const some = ids.slice(0, 50).map((id, n) => ({ at: `/orgs/${ann.org}/nodes/${id}`, head: heads[n] }))
    for (const path of ['links', 'diff', 'blame']) {
      const asked = some.map(({ at, head }) => {
        if (path === 'links') return get(`${at}/links?revision=${head}`)
        return get(path === 'diff' ? `${at}/commits/${head}/diff` : `${at}/tree/main/blame/content.md`)
      })
      expect(statuses(await Promise.all(asked)), path).to.deep.equal([200])
    }
  })

  it('leave the maps of another organisation to its members', async () => {
    const bob = await signUp(grove, 'Bob')
    const { id } = (await bob.post(`/orgs/${bob.org}/nodes`, { title: 'Whales' }).then(expecting(201))).body
    const many = Promise.all(ids.map((under) => get(`/orgs/${ann.org}/map?under=${under}`)))
    const own = bob.hasty.get(`/orgs/${bob.org}/map?under=${id}`)
    expect(statuses(await many), 'beyond what waits of one address').to.have.members([200, 503])
    expect((await own).status).to.equal(200)
  })

  /** Asks for the links of long texts first, then for those of so many others that some are refused, until `work` is done. */
  async function whileLinksAreBusy<T>(headers: Headers, work: () => Promise<T>): Promise<T> {
    const nodes = Array.from({ length: 8 }, (_, n) => ({ title: `Long ${n}`, text_content: linksTo(9_000) }))
    const { body } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    const long = body.nodes.map(({ id }: { id: string }) => id)
    const paths = [...long, ...ids, ...ids, ...ids].map((id) => `/orgs/${ann.org}/nodes/${id}/links`)
    const others = new Agent({ keepAlive: true })
    let refused = 0
    let isDone = false
    const asked = paths.map(async (path) => {
      while (!isDone) {
        const { status } = await send(`${grove.url}${path}`, { headers }, others)
        if (status !== 503) return
        refused++
      }
    })
    await until(() => refused > 0)
    try {
      return await work()
    } finally {
      isDone = true
      others.destroy()
      await Promise.allSettled(asked)
    }
  }

  it('see a text without resolved links while too many links are read', async () => {
    const pages = await whileLinksAreBusy({}, () => Promise.all([0, 1, 2, 3, 4].map(page)))
    expect(statuses(pages)).to.deep.equal([200])
    for (const [n, { body }] of pages.entries()) expect(body.toString()).to.contain(`This is note ${n};`)
  })

  it('give a model a text without its links in the meantime', async () => {
    const { token } = await made(ann.post('/auth/tokens', { name: 'Model', access: 'read' }))
    const model = await connectHttp(token, '2026-07-28', grove)
    const headers = { authorization: `Bearer ${token}` }
    const input = { org_id: ann.org, node_id: ids[3] }
    expect(await whileLinksAreBusy(headers, () => model.ask('read_node', input))).to.contain('This is note 3;')
    await model.client.close()
  })
})
