/** The list of events from the newest to the oldest: `before`. */
import { expect } from 'chai'
import { removeExpired } from '../../index/log/retention.ts'
import { follow } from '../support/event-stream.ts'
import { expecting, newNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import {
  anEvent,
  ann,
  append,
  appendSome,
  bob,
  cursorNow,
  eve,
  eventsOf,
  forgetAll,
  grove,
  idsOf,
  useScene,
} from './scene.ts'

interface Listed {
  readonly events: readonly { readonly id: string; readonly type: string; readonly subject?: string }[]
  readonly next: string
  readonly has_more: boolean
}

const listed = async (query: string): Promise<Listed> =>
  (await ann.get(eventsOf(ann.org, query)).then(expecting(200))).body

/** Ids of the log by their order, as the table has them. */
async function idsInLog(): Promise<string[]> {
  const rows = await grove.deps.events.read
    .selectFrom('event')
    .select('id')
    .where('org_id', '=', ann.org)
    .orderBy('seq')
    .execute()
  return rows.map(({ id }) => id)
}

/** Reads all pages from a cursor backwards. `between` runs after each page. */
async function readBack(query: string, limit: number, start = 'now', between = async () => {}): Promise<string[]> {
  const ids: string[] = []
  for (let page = await listed(`?before=${start}&limit=${limit}${query}`); ; ) {
    ids.push(...idsOf({ body: page }))
    if (!page.has_more) return ids
    await between()
    page = await listed(`?before=${page.next}&limit=${limit}${query}`)
  }
}

describe('the list of events read backwards', () => {
  useScene()

  it('has each event once, newest first, for every size of page, while new ones come', async () => {
    await appendSome(ann.org, 17)
    for (const limit of [1, 2, 3, 7, 50]) {
      const expected = (await idsInLog()).reverse()
      const add = () => appendSome(ann.org, 1).then(() => {})
      expect(await readBack('', limit, 'now', add), `limit ${limit}`).to.deep.equal(expected)
    }
  })

  it('begins with the newest event, and ends with the first, before which there is nothing', async () => {
    await appendSome(ann.org, 2)
    const all = (await idsInLog()).reverse()
    const page = await listed('?before=now&limit=200')
    expect({ ids: idsOf({ body: page }), more: page.has_more }).to.deep.equal({ ids: all, more: false })
    expect(page.events.at(-1)?.type).to.equal('log.began')
    expect(await listed(`?before=${page.next}`)).to.deep.equal({ events: [], next: page.next, has_more: false })
  })

  it('meets the list read forwards at every cursor', async () => {
    await appendSome(ann.org, 6)
    const all = await idsInLog()
    let { next, events } = await listed('?limit=1')
    for (let read = events.length; read < all.length; read++) {
      expect(await readBack('', 4, next), `before ${next}`).to.deep.equal(all.slice(0, read).reverse())
      expect(idsOf({ body: await listed(`?after=${next}&limit=200`) })).to.deep.equal(all.slice(read))
      ;({ next, events } = await listed(`?after=${next}&limit=1`))
    }
    const newest = await listed('?before=now&limit=3')
    expect(idsOf({ body: await listed(`?after=${newest.next}`) })).to.deep.equal(all.slice(-3))
  })

  it('has the filters of the list', async () => {
    const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
    const own = await appendSome(ann.org, 5, { node: node.id })
    await appendSome(ann.org, 4, { node: other.id })
    await append(grove.deps.events, ann.org, [anEvent(ann.org, { node: node.id, disabled: true })])
    const query = `&types=webhook.enabled&node_id=${node.id}`
    for (const limit of [1, 2, 200]) expect(await readBack(query, limit)).to.deep.equal([...own].reverse())
    expect(await readBack('&types=check.reported', 50)).to.deep.equal([])
    const bounds = { org_id: ann.org, node_id: node.id }
    const { body } = await ann.post('/auth/tokens', { name: 'One', access: 'read', ...bounds }).then(expecting(201))
    const { events } = (await client(grove, body.token).get(eventsOf(ann.org, '?before=now'))).body as Listed
    expect(new Set(events.map(({ subject }) => subject))).to.deep.equal(new Set([`nodes/${node.id}`]))
  })

  it('reaches an event behind many that a filter hides, in pages that say that there is more', async () => {
    const [wanted] = await append(grove.deps.events, ann.org, [anEvent(ann.org, { disabled: true })])
    await append(
      grove.deps.events,
      ann.org,
      Array.from({ length: 56_000 }, () => anEvent(ann.org)),
    )
    const first = await listed('?before=now&types=webhook.disabled&limit=1')
    expect({ events: first.events, more: first.has_more }).to.deep.equal({ events: [], more: true })
    expect(idsOf({ body: await listed(`?before=${first.next}&types=webhook.disabled&limit=1`) })).to.deep.equal([
      wanted,
    ])
  })

  it('ends at the oldest event that is kept, and a cursor before that is gone', async () => {
    await forgetAll(grove.deps.events, ann.org)
    const start = await cursorNow()
    const ids = await appendSome(ann.org, 9)
    const { next } = await listed('?before=now&limit=2')
    const retention = { before: 0, most: 4, neededSince: 0 }
    await grove.deps.events.write((trx) => removeExpired(trx, ann.org, retention, 100))
    expect(await readBack('', 1)).to.deep.equal(ids.slice(-4).reverse())
    expect(await readBack('', 1, next)).to.deep.equal(ids.slice(-4, -2).reverse())
    const { status, body } = await ann.get(eventsOf(ann.org, `?before=${start}`))
    expect([status, body.code, body.now]).to.deep.equal([410, 'cursor_gone', await cursorNow()])
    expect(await listed(`?before=${body.oldest}`)).to.deep.equal({ events: [], next: body.oldest, has_more: false })
  })

  it('refuses a malformed cursor, one of another log, both directions, and a stream', async () => {
    const now = await cursorNow()
    const refused = async (query: string) => {
      const { status, body } = await ann.get(eventsOf(ann.org, query))
      return { status, loc: body.detail[0].loc }
    }
    const invalid = { status: 422, loc: ['query', 'before'] }
    for (const before of ['', '1', 'x', `01-${'a'.repeat(16)}`])
      expect(await refused(`?before=${before}`), before).to.deep.equal(invalid)
    expect(await refused(`?before=${now}&after=${now}`)).to.deep.equal(invalid)
    expect((await eve.get(eventsOf(eve.org, `?before=${now}`))).body.code).to.equal('cursor_gone')
    const stream = await follow(`${grove.url}${eventsOf(ann.org, '?before=now')}`, ann.session.accessToken)
    expect([stream.status, (await stream.body()).detail[0].loc]).to.deep.equal([422, ['query', 'before']])
  })

  it('is for members', async () => {
    expect((await bob.get(eventsOf(ann.org, '?before=now'))).status).to.equal(200)
    expect((await eve.get(eventsOf(ann.org, '?before=now'))).body.code).to.equal('org_not_found')
  })
})
