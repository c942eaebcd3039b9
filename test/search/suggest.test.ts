/** Suggestions over HTTP: who is answered, what follows a change, what is refused. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('suggestions', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  before(async () => {
    for (const title of ['Blue whale', 'Whale songs', 'Whales']) await write(ann, title)
  })

  const pathOf = (org: string, q: string, more = '') => `/orgs/${org}/suggest?q=${encodeURIComponent(q)}${more}`

  async function write(person: PersonClient, title: string, more: object = {}): Promise<string> {
    const { status, body } = await person.post(`/orgs/${person.org}/nodes`, { title, ...more })
    expect(status).to.equal(201)
    return body.id
  }

  async function titlesFor(who: Client, org: string, q: string, more = ''): Promise<string[]> {
    const { status, body } = await who.get(pathOf(org, q, more))
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.query).to.equal(q)
    return body.suggestions.map(({ title }: { title: string }) => title)
  }

  it('name nodes by the beginnings of the words of their titles', async () => {
    const { body } = await ann.get(pathOf(ann.org, 'son wha'))
    const [{ node_id }] = body.suggestions
    expect(body).to.deep.equal({ query: 'son wha', suggestions: [{ node_id, title: 'Whale songs' }] })
    expect((await ann.get(`/orgs/${ann.org}/nodes/${node_id}`)).body.title).to.equal('Whale songs')
    expect(await titlesFor(ann, ann.org, 'whale')).to.deep.equal(['Whales', 'Blue whale', 'Whale songs'])
    expect(await titlesFor(ann, ann.org, 'whale', '&limit=1')).to.deep.equal(['Whales'])
    expect(await titlesFor(ann, ann.org, 'wnale son')).to.deep.equal(['Whale songs'])
    expect(await titlesFor(ann, ann.org, '')).to.deep.equal([])
  })

  it('put first what has more edges', async () => {
    const bob = await signUp(grove, 'Bob')
    const parent = await write(bob, 'Algae of the sea')
    await write(bob, 'Alga')
    expect(await titlesFor(bob, bob.org, 'al')).to.deep.equal(['Alga', 'Algae of the sea'])
    await write(bob, 'Kelp', { parents: [parent] })
    expect(await titlesFor(bob, bob.org, 'al')).to.deep.equal(['Algae of the sea', 'Alga'])
  })

  it('follow each change: a title, a commit, a deletion', async () => {
    const cid = await signUp(grove, 'Cid')
    const id = await write(cid, 'Okapi')
    expect(await titlesFor(cid, cid.org, 'ok')).to.deep.equal(['Okapi'])
    expect((await cid.patch(`/orgs/${cid.org}/nodes/${id}`, { title: 'Quagga' })).status).to.equal(200)
    expect(await titlesFor(cid, cid.org, 'ok')).to.deep.equal([])
    expect(await titlesFor(cid, cid.org, 'quag')).to.deep.equal(['Quagga'])
    const change = { action: 'put', path: 'node.json', content: JSON.stringify({ title: 'Zebra' }) }
    const commits = `/orgs/${cid.org}/nodes/${id}/tree/main/commits`
    expect((await cid.post(commits, { message: 'Another', changes: [change] })).status).to.equal(201)
    expect(await titlesFor(cid, cid.org, 'quag')).to.deep.equal([])
    expect(await titlesFor(cid, cid.org, 'ZEB')).to.deep.equal(['Zebra'])
    expect((await cid.delete(`/orgs/${cid.org}/nodes/${id}`)).status).to.equal(204)
    expect(await titlesFor(cid, cid.org, 'zeb')).to.deep.equal([])
  })

  it('are for members, and for anyone once the organisation is published', async () => {
    const dan = await signUp(grove, 'Dan')
    const stranger = await signUp(grove, 'Eve')
    await write(dan, 'Narwhal')
    const path = pathOf(dan.org, 'nar')
    const statuses = async () => [
      (await client(grove).get(path)).status,
      (await stranger.get(path)).status,
      (await client(grove, 'bad').get(path)).status,
    ]
    expect(await statuses()).to.deep.equal([401, 404, 401])
    await dan.patch(`/orgs/${dan.org}`, { published: true })
    expect(await statuses()).to.deep.equal([200, 200, 401])
    expect(await titlesFor(client(grove), dan.org, 'nar')).to.deep.equal(['Narwhal'])
    await dan.patch(`/orgs/${dan.org}`, { published: false })
    expect(await statuses()).to.deep.equal([401, 404, 401])
  })

  it('refuse what is too long, no q, and a limit out of bounds', async () => {
    const refused = async (query: string) => {
      const { status, body } = await ann.get(`/orgs/${ann.org}/suggest${query}`)
      return [status, body.detail[0]?.loc, body.detail[0]?.type]
    }
    expect(await refused('')).to.deep.equal([422, ['query', 'q'], 'missing'])
    expect(await refused(`?q=${'a'.repeat(501)}`)).to.deep.equal([422, ['query', 'q'], 'string_too_long'])
    expect(await refused('?q=a&limit=0')).to.deep.equal([422, ['query', 'limit'], 'greater_than_equal'])
    expect(await refused('?q=a&limit=51')).to.deep.equal([422, ['query', 'limit'], 'less_than_equal'])
    expect(await refused('?q=a&offset=1')).to.deep.equal([422, ['query', 'offset'], 'extra_forbidden'])
    expect((await ann.get(pathOf(ann.org, '🌍'.repeat(500)))).status).to.equal(200)
  })

  const hostile = [
    'a '.repeat(250),
    Array.from({ length: 125 }, (_, n) => String.fromCodePoint(97 + (n % 26), 97 + Math.floor(n / 26))).join(' '),
    '水'.repeat(500),
    'ก'.repeat(500),
    'whale\u0000\u0007',
    '% whale',
    '"; drop table node; --',
    '__proto__ constructor',
    '\u0301\u0301\u0301 whale',
    'ﷺ whale',
    'whalx '.repeat(80),
    'whales.whales.whales',
    '\u202ewhale',
  ]
  for (const q of hostile)
    it(`answer ${JSON.stringify(q.slice(0, 20))}`, async () => {
      const { status, body } = await ann.get(pathOf(ann.org, q))
      expect([status, body.query]).to.deep.equal([200, q])
      expect(body.suggestions.length).to.be.at.most(10)
    })

  it('wait in the places of searches: 32 of the public together, and room is left for members', async () => {
    const gus = await signUp(grove, 'Gus')
    const words = Array.from({ length: 6_000 }, (_, n) => `w${(n * 7_919).toString(36)}`).join(' ')
    for (const title of ['Sea a', 'Sea b', 'Sea c']) await write(gus, title, { text_content: `${title} ${words}` })
    expect((await gus.patch(`/orgs/${gus.org}`, { published: true })).status).to.equal(200)
    const publicly = (n: number) =>
      n % 2 === 0
        ? client(grove).hasty.get(pathOf(gus.org, 'sea'))
        : client(grove).hasty.post(`/orgs/${gus.org}/search/retrieve`, { query: 'sea' })
    const asked = Array.from({ length: 40 }, (_, n) => publicly(n))
    const answers = await Promise.all([...asked, gus.hasty.get(pathOf(gus.org, 'sea'))])
    const statuses = answers.map(({ status }) => status)
    // The member may have been before the last of the public, and taken one of the 32.
    expect(statuses.filter((status) => status === 503).length).to.be.within(1, 9)
    expect(statuses.at(-1)).to.equal(200)
  })

  it.deep('are the same after a restart, and from an index that is made again', async () => {
    const dataDir = await newDataDir()
    const first = await startGrove({ dataDir })
    const fay = await signUp(first, 'Fay')
    for (let n = 0; n < 12; n++) await write(fay, `Sea ${'star '.repeat(n % 4)}${n}`)
    const asked = ['s', 'sea', 'sta 1', 'satr', 'xstar']
    const answers = (who: Client) => Promise.all(asked.map((q) => titlesFor(who, fay.org, q, '&limit=50')))
    const before = await answers(fay)
    expect(before[0]).to.have.length(12)
    await first.close()
    for (const name of ['search', 'index.sqlite', 'index.sqlite-wal', 'index.sqlite-shm'])
      await rm(join(dataDir, name), { recursive: true, force: true })
    const second = await startGrove({ dataDir })
    expect(await answers(client(second, fay.session.accessToken))).to.deep.equal(before)
    await second.close()
    await rm(dataDir, { recursive: true, force: true })
  })
})
