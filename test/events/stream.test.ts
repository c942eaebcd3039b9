/** The stream of events: its format, where it begins, and what it does while nothing happens. */
import { expect } from 'chai'
import { streamTimes } from '../../server/http/responses/event-stream.ts'
import { type Follower, follow } from '../support/event-stream.ts'
import { exchange } from '../support/exchange.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, password } from '../support/people.ts'
import { until } from '../support/until.ts'
import { anEvent, ann, append, appendSome, bob, cursorNow, eve, eventsOf, grove, useScene } from './scene.ts'

describe('the stream of events', () => {
  useScene()

  const { heartbeatMs } = streamTimes
  const open: Follower[] = []
  afterEach(() => {
    streamTimes.heartbeatMs = heartbeatMs
    for (const follower of open.splice(0)) follower.close()
  })

  const following = async (query = '?types=webhook.*', headers: Record<string, string> = {}, who = ann) => {
    const follower = await follow(grove.url + eventsOf(ann.org, query), who.session.accessToken, headers)
    open.push(follower)
    return follower
  }
  const refusal = async (query: string, headers: Record<string, string> = {}, who = ann) => {
    const follower = await following(query, headers, who)
    return [follower.status, (await follower.body()).code]
  }

  it('sends each event with its cursor, its type and its JSON, as it happens', async () => {
    const now = await cursorNow()
    const follower = await following()
    expect(follower.status).to.equal(200)
    expect(follower.headers).to.include({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    await until(() => follower.blocks.length === 1)
    expect(follower.blocks[0]).to.deep.equal({ retry: '3000', id: now })
    const ids = [...(await appendSome(ann.org, 1)), ...(await appendSome(ann.org, 2))]
    await until(() => follower.ids().length === 3)
    const { body } = await ann.get(eventsOf(ann.org, `?types=webhook.*&after=${now}`)).then(expecting(200))
    const blocks = follower.blocks.filter(({ data }) => data !== undefined)
    expect(blocks.map(({ data = '' }) => JSON.parse(data))).to.deep.equal(body.events)
    expect(blocks.map(({ event }) => event)).to.deep.equal(['webhook.enabled', 'webhook.enabled', 'webhook.enabled'])
    expect(follower.ids()).to.deep.equal(ids)
    expect(follower.cursor()).to.equal(body.next)
    expect(follower.blocks[0]?.id).to.equal(now)
  })

  it('continues after each cursor that it has sent, without a gap and without an event twice', async () => {
    const first = await following()
    const ids = await appendSome(ann.org, 5)
    await until(() => first.ids().length === 5)
    first.close()
    const blocks = first.blocks.filter(({ id }) => id !== undefined)
    for (const [at, { id = '' }] of blocks.slice(0, 6).entries()) {
      const next = await following(undefined, { 'last-event-id': id })
      await until(() => next.ids().length === 5 - at)
      expect(next.ids()).to.deep.equal(ids.slice(at))
    }
  })

  it('begins after Last-Event-ID rather than after the query, and after that rather than now', async () => {
    const start = await cursorNow()
    const [before = '', after = ''] = [...(await appendSome(ann.org, 1)), ...(await appendSome(ann.org, 1))]
    const list = await ann.get(eventsOf(ann.org, `?types=webhook.*&after=${start}&limit=1`)).then(expecting(200))
    const asked = await following(`?types=webhook.*&after=${start}`)
    await until(() => asked.ids().length === 2)
    expect(asked.ids()).to.deep.equal([before, after])
    const resumed = await following(`?types=webhook.*&after=${start}`, { 'last-event-id': list.body.next })
    await until(() => resumed.ids().length === 1)
    expect(resumed.ids()).to.deep.equal([after])
    const now = await following('?types=webhook.*&after=now')
    const [last] = await appendSome(ann.org, 1)
    await until(() => now.ids().length === 1)
    expect(now.ids()).to.deep.equal([last])
  })

  it('refuses a cursor that is gone, also a malformed Last-Event-ID, and a malformed query', async () => {
    const chain = '0'.repeat(16)
    expect(await refusal(`?after=5-${chain}`)).to.deep.equal([410, 'cursor_gone'])
    for (const id of [`5-${chain}`, 'nonsense', 'now', '999999-0'])
      expect(await refusal('', { 'last-event-id': id }), id).to.deep.equal([410, 'cursor_gone'])
    expect((await following('?after=nonsense')).status).to.equal(422)
    expect((await following('?types=nonsense')).status).to.equal(422)
  })

  it('refuses whom the list refuses', async () => {
    expect(await refusal('', {}, eve)).to.deep.equal([404, 'org_not_found'])
    const { status } = await follow(grove.url + eventsOf(ann.org), 'nonsense')
    expect(status).to.equal(401)
    expect((await following('', {}, bob)).status).to.equal(200)
  })

  it('is a stream only for clients that prefer it, and says so to caches', async () => {
    for (const accept of ['application/json', '*/*', 'text/html', 'application/json, text/event-stream']) {
      const { status, headers } = await ann.get(eventsOf(ann.org, '?limit=1'), { accept })
      expect([status, headers['content-type'], headers.vary], accept).to.deep.equal([
        200,
        'application/json; charset=utf-8',
        'Accept',
      ])
    }
    const head = await exchange(grove.url + eventsOf(ann.org), {
      method: 'HEAD',
      headers: { accept: 'text/event-stream', authorization: `Bearer ${ann.session.accessToken}` },
    })
    expect([head.status, head.headers['content-type'], head.text]).to.deep.equal([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ])
  })

  it('is not compressed', async () => {
    const follower = await following(undefined, { 'accept-encoding': 'gzip, br' })
    await appendSome(ann.org, 100, { size: 4_000 })
    await until(() => follower.ids().length === 100)
    expect(follower.headers).to.not.have.property('content-encoding')
  })

  it('shows that it lives while nothing happens, and passes what the filter hides', async () => {
    streamTimes.heartbeatMs = 50
    const follower = await following('?types=webhook.disabled')
    await until(() => follower.blocks.filter(({ comment }) => comment !== undefined).length >= 2)
    expect(follower.blocks.slice(1, 3)).to.deep.equal([{ comment: '' }, { comment: '' }])
    await appendSome(ann.org, 3)
    const now = await cursorNow()
    await until(() => follower.cursor() === now)
    expect(follower.ids()).to.deep.equal([])
  })

  it('sends a node and its token only the events of that node', async () => {
    const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
    const bounds = { org_id: ann.org, node_id: node.id }
    const { body } = await ann.post('/auth/tokens', { name: 'One', access: 'read', ...bounds }).then(expecting(201))
    const filtered = await following(`?types=webhook.*&node_id=${node.id}`)
    const bound = await follow(grove.url + eventsOf(ann.org, '?types=webhook.*'), body.token)
    open.push(bound)
    const added = [other.id, node.id, null, node.id].map((one) => anEvent(ann.org, { node: one }))
    const ids = await append(grove.deps.events, ann.org, added)
    for (const follower of [filtered, bound]) {
      await until(() => follower.ids().length === 2)
      expect(follower.ids()).to.deep.equal([ids[1], ids[3]])
    }
  })

  it('is read by the pages of a browser with its cookie, and by no other site', async () => {
    const form = new URLSearchParams({ email: ann.user.email, password }).toString()
    const ours = { 'sec-fetch-site': 'same-origin' }
    const sent = { ...ours, 'content-type': 'application/x-www-form-urlencoded' }
    const { headers } = await client(grove).post('/sign-in', form, sent)
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const read = async (site: string) => {
      const from = { accept: 'text/event-stream', cookie, 'sec-fetch-site': site }
      const response = await fetch(grove.url + eventsOf(ann.org, '?types=webhook.*'), { headers: from })
      return { response, reader: response.body?.pipeThrough(new TextDecoderStream()).getReader() }
    }
    const { response, reader } = await read('same-origin')
    expect(response.status).to.equal(200)
    const [id = ''] = await appendSome(ann.org, 1)
    let text = ''
    while (!text.includes(id)) text += (await reader?.read())?.value ?? expect.fail('the stream ended')
    await reader?.cancel()
    const other = await read('cross-site')
    expect(other.response.status).to.equal(401)
    await other.reader?.cancel()
  })
})
