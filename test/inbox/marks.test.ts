/** The read marks of an inbox, and how its pages continue. */
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { ann, aProposal, bob, comment, cy, di, grove, pass, useScene } from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { allPages, edit, follow, followOrg, type Item, inbox, itemOf, page, saidOf } from './scene.ts'

const cursor = 'Xi96m0wCAAAAAAMs'

describe('marks of an inbox', () => {
  useScene({ sweeps: false })

  beforeEach(() => pass(10))

  const unread = async (by = cy) => (await inbox(by, '&unread=true')).length

  it('mark all as read, in one organisation or in all', async () => {
    const node = await ann.node()
    await follow(cy, node)
    await edit(ann, node, 'A')
    const { now } = await page(cy)
    pass(1)
    await edit(bob, node, 'B')
    expect(await unread()).to.equal(2)
    await cy.put('/inbox-mark', { cursor: now }).then(expecting(204))
    expect(saidOf(await inbox(cy), node)).to.deep.equal([
      'following_node node.updated 1 new',
      'following_node node.updated 2',
    ])
    const later = await page(cy, '', ann.org)
    await cy.put(`/orgs/${ann.org}/inbox-mark`, { cursor: later.now }).then(expecting(204))
    expect(await unread()).to.equal(0)
    await cy.put('/inbox-mark', { cursor: now }).then(expecting(204))
    expect(await unread(), 'a mark never goes back').to.equal(0)
  })

  it('mark one item as read, until more happens', async () => {
    const [one, other] = [await aProposal(), await aProposal()]
    for (const proposal of [one, other]) await comment(di, proposal, 'A question.')
    for (const proposal of [one, other]) await comment(cy, proposal, 'See, @Di.')
    expect(await unread(di)).to.equal(2)
    const item = itemOf(await inbox(di), one)
    await di.put(`/orgs/${ann.org}/inbox-mark`, { item: item.id }).then(expecting(204))
    expect(itemOf(await inbox(di), one).unread).to.equal(false)
    expect(itemOf(await inbox(di), other).unread).to.equal(true)
    await comment(cy, one, 'More.')
    expect(itemOf(await inbox(di, '&unread=true'), one)).to.include({ unread: true, count: 1 })
    const { now } = await page(di)
    await di.put('/inbox-mark', { cursor: now }).then(expecting(204))
    expect(await unread(di)).to.equal(0)
    const [row] = await grove.deps.credentials.read.selectFrom('inbox_mark').selectAll().execute()
    expect(row?.read_items).to.equal('[]')
  })

  it.deep('keep the last 200 items that were read one by one', async () => {
    const { now } = await page(bob)
    await bob.put('/inbox-mark', { cursor: now }).then(expecting(204))
    await ann.node()
    const seq = Number(
      (await grove.deps.events.read.selectFrom('log').select('seq').where('org_id', '=', ann.org).executeTakeFirst())
        ?.seq,
    )
    for (let index = 0; index < 203; index++) {
      const item = `${seq}.${index.toString(16).padStart(16, '0')}`
      await bob.put(`/orgs/${ann.org}/inbox-mark`, { item }).then(expecting(204))
    }
    const row = await grove.deps.credentials.read
      .selectFrom('inbox_mark')
      .selectAll()
      .where('account_id', '=', bob.user.id)
      .where('org_id', '=', ann.org)
      .executeTakeFirstOrThrow()
    const items = JSON.parse(row.read_items)
    expect(items).to.have.length(200)
    expect(items[0]).to.deep.equal([(3).toString(16).padStart(16, '0'), seq])
  })

  it('are refused if they are malformed', async () => {
    const put = async (path: string, body: object) => (await cy.put(path, body)).status
    expect(await put('/inbox-mark', { cursor: 'AA' })).to.equal(422)
    expect(await put('/inbox-mark', {})).to.equal(422)
    expect(await put(`/orgs/${ann.org}/inbox-mark`, {})).to.equal(422)
    expect(await put(`/orgs/${ann.org}/inbox-mark`, { cursor, item: '1.5f0c2b7e9a1d4c6e' })).to.equal(422)
    expect(await put(`/orgs/${ann.org}/inbox-mark`, { item: '1' })).to.equal(422)
    expect((await cy.get('/inbox?after=AAAA')).status).to.equal(422)
    expect((await cy.get('/inbox?after=')).status).to.equal(422)
  })

  it('count as the current end of a log that was lost', async () => {
    const node = await ann.node()
    await follow(cy, node)
    await edit(ann, node, 'A')
    await cy.put('/inbox-mark', { cursor: (await page(cy)).now }).then(expecting(204))
    pass(1)
    await edit(ann, node, 'B')
    expect(await unread()).to.equal(1)
    const db = openSqlite(join(grove.dataDir, 'events.sqlite'))
    for (const table of ['event', 'log'])
      db.prepare(`update ${table} set chain = 'ffffffffffffffff' where org_id = ?`).run(ann.org)
    db.close()
    expect(await unread()).to.equal(0)
    pass(1)
    await edit(ann, node, 'C')
    expect(saidOf(await inbox(cy, '&unread=true'), node)).to.deep.equal(['following_node node.updated 1 new'])
  })

  it('pages have each event once, also while more happens', async () => {
    await followOrg(di, ann.org)
    for (let index = 0; index < 12; index++) {
      pass(1)
      await (index % 3 === 0 ? ann : bob).node().catch(() => ann.node())
    }
    const countOf = (items: readonly Item[]) => items.reduce((sum, { count }) => sum + count, 0)
    const whole = await inbox(di)
    const quiet = await allPages(di, 3)
    expect(quiet.every(({ length }) => length <= 3)).to.equal(true)
    expect(countOf(quiet.flat())).to.equal(countOf(whole))
    const busy = await allPages(di, 3, () => ann.node())
    expect(busy.flat().map(({ id }) => id)).to.deep.equal(quiet.flat().map(({ id }) => id))
    expect(countOf(busy.flat())).to.equal(countOf(whole))
  })
})
