/** The list of events: its pages, filters and refusals. */
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { anEvent, ann, append, appendSome, bob, cursorNow, eve, eventsOf, grove, idsOf, useScene } from './scene.ts'

const listed = (query: string) => ann.get(eventsOf(ann.org, query)).then(expecting(200))

describe('the list of events', () => {
  useScene()

  it('has pages in the order of the log with each event once, and no gap between them', async () => {
    const start = await cursorNow()
    const ids = await appendSome(ann.org, 7)
    const seen: string[] = []
    const more: boolean[] = []
    let next = start
    for (let page = 0; page < 4; page++) {
      const answer = await listed(`?types=webhook.*&limit=3&after=${next}`)
      seen.push(...idsOf(answer))
      more.push(answer.body.has_more)
      next = answer.body.next
    }
    expect(seen).to.deep.equal(ids)
    expect(more).to.deep.equal([true, true, false, false])
    expect(next).to.equal(await cursorNow())
    const { body } = await listed(`?after=${next}`)
    expect(body).to.deep.equal({ events: [], next, has_more: false })
  })

  it('begins with the oldest event without a cursor, and is the bytes of the log', async () => {
    const { body } = await listed('?limit=200')
    expect(body.events[0]).to.include({ seq: 1, type: 'log.began', source: `/orgs/${ann.org}` })
    const rows = await grove.deps.events.read
      .selectFrom('event')
      .select('body')
      .where('org_id', '=', ann.org)
      .orderBy('seq')
      .execute()
    expect(JSON.stringify(body.events)).to.equal(`[${rows.map((row) => row.body).join()}]`)
  })

  it('is what a reader sees, and neither a stranger nor anybody without a token', async () => {
    expect((await bob.get(eventsOf(ann.org))).body).to.deep.equal((await ann.get(eventsOf(ann.org))).body)
    expect((await eve.get(eventsOf(ann.org))).body.code).to.equal('org_not_found')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    expect((await eve.get(eventsOf(ann.org))).body.code).to.equal('forbidden')
    expect((await client(grove).get(eventsOf(ann.org))).body.code).to.equal('unauthenticated')
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
  })

  describe('its filters', () => {
    it('take types and patterns of them', async () => {
      const after = await cursorNow()
      const [first = '', second = ''] = await append(grove.deps.events, ann.org, [
        anEvent(ann.org),
        anEvent(ann.org, { disabled: true }),
      ])
      const of = async (types: string) => idsOf(await listed(`?after=${after}&types=${types}`))
      expect(await of('webhook.*')).to.deep.equal([first, second])
      expect(await of('*')).to.include.members([first, second])
      expect(await of('webhook.disabled')).to.deep.equal([second])
      expect(await of('webhook.enabled,webhook.disabled,webhook.enabled')).to.deep.equal([first, second])
      expect(await of('check.reported')).to.deep.equal([])
    })

    it('refuse a type that is not one', async () => {
      for (const types of ['nonsense', 'pull_request', 'pull_request.', '.*', 'webhook.*,', 'w*', '*.*']) {
        const { status, body } = await ann.get(eventsOf(ann.org, `?types=${encodeURIComponent(types)}`))
        expect({ status, loc: body.detail[0].loc }, types).to.deep.equal({ status: 422, loc: ['query', 'types'] })
      }
    })

    it('take a node, and pass what they hide', async () => {
      const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
      const after = await cursorNow()
      const of = async (query: string) => (await listed(`?types=webhook.*&after=${after}${query}`)).body
      const [own] = await appendSome(ann.org, 1, { node: node.id })
      await appendSome(ann.org, 3, { node: other.id })
      const { events, next, has_more } = await of(`&node_id=${node.id.toUpperCase()}`)
      expect(events.map(({ id }: { id: string }) => id)).to.deep.equal([own])
      expect({ next, has_more }).to.deep.equal({ next: await cursorNow(), has_more: false })
      expect((await of('&node_id=nonsense')).events).to.deep.equal([])
    })

    it.deep('reach an event behind many that they hide, in pages that say that there is more', async () => {
      const after = await cursorNow()
      const hidden = Array.from({ length: 56_000 }, () => anEvent(ann.org))
      await append(grove.deps.events, ann.org, hidden)
      const [wanted] = await append(grove.deps.events, ann.org, [anEvent(ann.org, { disabled: true })])
      const pages: unknown[] = []
      let next = after
      for (let more = true; more; ) {
        const { body } = await listed(`?types=webhook.disabled&limit=1&after=${next}`)
        pages.push(body.events.map(({ id }: { id: string }) => id))
        next = body.next
        more = body.has_more
      }
      expect(pages).to.deep.equal([[], [wanted]])
    })
  })

  describe('with a token of one node', () => {
    it('is of that node only', async () => {
      const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
      const after = await cursorNow()
      const bounds = { org_id: ann.org, node_id: node.id }
      const { body } = await ann.post('/auth/tokens', { name: 'One', access: 'read', ...bounds }).then(expecting(201))
      const [own] = await appendSome(ann.org, 1, { node: node.id })
      await appendSome(ann.org, 1, { node: other.id })
      await appendSome(ann.org, 1)
      const one = client(grove, body.token)
      const of = (query: string) => one.get(eventsOf(ann.org, `?after=${after}${query}`))
      expect(idsOf(await of(''))).to.include(own)
      for (const query of ['', `&node_id=${node.id}`]) {
        const { body } = await of(query)
        for (const event of body.events) expect(event.subject).to.equal(`nodes/${node.id}`)
      }
      const refused = await of(`&node_id=${other.id}`)
      expect([refused.status, refused.body.code]).to.deep.equal([403, 'token_scope'])
      expect((await one.get(eventsOf(eve.org))).body.code).to.equal('token_scope')
    })
  })

  describe('its cursor', () => {
    it('is refused if it is malformed', async () => {
      const chain = 'a'.repeat(16)
      for (const after of ['', '1', 'x', `01-${chain}`, `-1-${chain}`, `1-${chain}a`, `1-${chain.toUpperCase()}`]) {
        const { status, body } = await ann.get(eventsOf(ann.org, `?after=${after}`))
        expect({ status, loc: body.detail[0].loc }, after).to.deep.equal({ status: 422, loc: ['query', 'after'] })
      }
    })

    it('is gone if it is ahead, or of another log, and the response says where to begin', async () => {
      const now = await cursorNow()
      const [seq = '', chain = ''] = now.split('-')
      const { body } = await listed('?limit=1')
      const log = await grove.deps.events.read
        .selectFrom('log')
        .selectAll()
        .where('org_id', '=', ann.org)
        .executeTakeFirstOrThrow()
      for (const after of [
        `${Number(seq) + 1}-${chain}`,
        `${seq}-${'0'.repeat(16)}`,
        `${Number(seq) - 1}-${chain}`,
        `0-${'0'.repeat(16)}`,
        `999999999999999-${chain}`,
      ]) {
        const refused = await ann.get(eventsOf(ann.org, `?after=${after}`))
        expect({ status: refused.status, ...refused.body }, after).to.deep.include({
          ...{ status: 410, code: 'cursor_gone', now, oldest: `0-${log.base_chain}` },
        })
      }
      expect((await listed(`?after=0-${log.base_chain}&limit=1`)).body).to.deep.equal(body)
    })

    it('is of one organisation', async () => {
      const { status, body } = await eve.get(eventsOf(eve.org, `?after=${await cursorNow()}`))
      expect([status, body.code]).to.deep.equal([410, 'cursor_gone'])
    })
  })

  it('has the limits of a list', async () => {
    for (const limit of ['0', '201', 'x'])
      expect((await ann.get(eventsOf(ann.org, `?limit=${limit}`))).status).to.equal(422)
    expect((await ann.get(eventsOf(ann.org, '?offset=1'))).status).to.equal(422)
  })

  it('answers 304 to who has it', async () => {
    const { headers } = await listed('?limit=5')
    const again = await ann.get(eventsOf(ann.org, '?limit=5'), { 'if-none-match': String(headers.etag) })
    expect(again.status).to.equal(304)
  })
})
