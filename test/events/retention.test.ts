/** How long events are kept, and which cursors stay valid. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { sql } from 'kysely'
import { findIntents, putIntents } from '../../index/log/intents.ts'
import { EventRemoval, type OldestNeeded, removeOldIntents } from '../../server/domain/events/retention.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { anEvent, append, eventsOf, forgetAll, grove, idsOf, useScene } from './scene.ts'

const dayMs = 86_400_000

describe('old events', () => {
  useScene({ sweeps: false })

  let owner: PersonClient
  let count = 0
  beforeEach(async () => {
    owner = await signUp(grove, `Owner ${++count}`)
    await forgetAll(grove.deps.events, owner.org)
  })

  const ago = (days: number) => new Date(grove.deps.now().getTime() - days * dayMs)
  const add = (days: number, number = 1) =>
    append(
      grove.deps.events,
      owner.org,
      Array.from({ length: number }, () => anEvent(owner.org)),
      ago(days),
    )
  const list = (query = '') => owner.get(eventsOf(owner.org, `?types=webhook.*&limit=200${query}`))
  const now = async () => (await owner.get(eventsOf(owner.org, '?after=now')).then(expecting(200))).body.next
  const none: OldestNeeded = async () => undefined
  const remove = async (oldestNeeded = none) => {
    const removal = new EventRemoval(oldestNeeded)
    let steps = 1
    while (!(await removal.step(grove.deps))) steps++
    return steps
  }

  it('are removed after 30 days, and a cursor before them is gone', async () => {
    const cursors: string[] = []
    const ids: string[] = []
    for (const days of [40, 31, 29, 0]) {
      ids.push(...(await add(days)))
      cursors.push(await now())
    }
    await remove()
    expect(idsOf(await list().then(expecting(200)))).to.deep.equal(ids.slice(2))
    const answers = await Promise.all(cursors.map((cursor) => list(`&after=${cursor}`)))
    expect(answers.map(({ status }) => status)).to.deep.equal([410, 200, 200, 200])
    expect(answers.slice(1).map(idsOf)).to.deep.equal([ids.slice(2), ids.slice(3), []])
    expect(answers[0]?.body.oldest).to.equal(cursors[1])
  })

  it('leave a log that only they were in, with the cursor after them', async () => {
    await add(50, 3)
    const cursor = await now()
    await remove()
    expect((await list(`&after=${cursor}`)).body).to.deep.equal({ events: [], next: cursor, has_more: false })
    const ids = await add(0)
    expect(idsOf(await list(`&after=${cursor}`))).to.deep.equal(ids)
  })

  it('are removed in batches of 2,000, and none that must stay', async () => {
    await add(45, 4_500)
    const ids = await add(1, 3)
    expect(await remove()).to.be.above(3)
    expect(idsOf(await list().then(expecting(200)))).to.deep.equal(ids)
    expect(await remove()).to.equal(1)
  })

  it('stay behind a younger event, because the clock was set back', async () => {
    const ids = [...(await add(1)), ...(await add(40))]
    await remove()
    expect(idsOf(await list().then(expecting(200)))).to.deep.equal(ids)
  })

  it('stay while a webhook has not planned them, but at most 7 days', async () => {
    const days = 3
    const { config } = grove.deps
    const deps = { ...grove.deps, config: { ...config, eventRetentionDays: 1 } }
    const removeIn = async (needed: number | undefined) => {
      const removal = new EventRemoval(async (_, orgId) => (orgId === owner.org ? needed : undefined))
      while (!(await removal.step(deps)));
    }
    const old = await add(8, 2)
    const young = await add(days, 3)
    await removeIn(0)
    expect(idsOf(await list())).to.deep.equal(young)
    const [, planned] = (await list()).body.events
    await removeIn(planned.seq)
    expect(idsOf(await list())).to.deep.equal(young.slice(2))
    await removeIn(undefined)
    expect(idsOf(await list())).to.deep.equal([])
    expect(old).to.have.lengthOf(2)
  })

  it('are the first beyond a million, however young', async () => {
    const ids = await add(0, 3)
    // A log with a million events after the second one, of which the test need not have the rows.
    await grove.deps.events.write(async (trx) => {
      const { seq } = await trx
        .selectFrom('log')
        .select('seq')
        .where('org_id', '=', owner.org)
        .executeTakeFirstOrThrow()
      await trx
        .updateTable('log')
        .set({ seq: seq - 1 + 1_000_000 })
        .where('org_id', '=', owner.org)
        .execute()
    })
    await remove()
    const { rows } = await sql<{ id: string }>`
      select id from event where org_id = ${owner.org} order by seq`.execute(grove.deps.events.read)
    expect(rows.map(({ id }) => id)).to.deep.equal(ids.slice(2))
  })

  it('are removed by the service', async () => {
    const dataDir = await newDataDir()
    let other = await startGrove({ dataDir, sweeps: false })
    try {
      const dee = await signUp(other, 'Dee')
      const long = new Date(Date.now() - 40 * dayMs)
      await forgetAll(other.deps.events, dee.org)
      await append(other.deps.events, dee.org, [anEvent(dee.org)], long)
      const cursor = (await dee.get(eventsOf(dee.org)).then(expecting(200))).body
      expect(cursor.events.some(({ type }: { type: string }) => type === 'webhook.enabled')).to.equal(true)
      await other.close()
      other = await startGrove({ dataDir })
      await other.settled()
      const { read } = other.deps.events
      expect(await read.selectFrom('event').select('id').where('type', '=', 'webhook.enabled').execute()).to.deep.equal(
        [],
      )
    } finally {
      await other.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  it('take notes about who moved a ref with them after an hour', async () => {
    const intent = { actor: '{}', via: 'rest', origin: null, ref: 'refs/heads/main' }
    const put = (minutes: number, to_oid: string) =>
      grove.deps.events.write((trx) =>
        putIntents(
          trx,
          [{ ...intent, node_id: 'node', to_oid }],
          new Date(grove.deps.now().getTime() - minutes * 60_000),
        ),
      )
    await put(61, 'old')
    await put(59, 'young')
    expect(await removeOldIntents(grove.deps)).to.equal(true)
    expect(
      (await findIntents(grove.deps.events.read, 'node', ['old', 'young'])).map(({ to_oid }) => to_oid),
    ).to.deep.equal(['young'])
  })
})
