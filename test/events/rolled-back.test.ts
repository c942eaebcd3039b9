/** Cursors after the database of events was replaced by an older copy, deleted, or deleted while in use. */
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { follow } from '../support/event-stream.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { anEvent, append, eventsOf, idsOf } from './scene.ts'

describe('the cursor of a log', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient

  beforeEach(async () => {
    dataDir = await newDataDir()
    grove = await startGrove({ dataDir })
    ann = await signUp(grove, 'Ann')
  })
  afterEach(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const file = () => join(dataDir, 'events.sqlite')
  const get = (query: string) => client(grove, ann.session.accessToken).get(eventsOf(ann.org, query))
  const list = (after: string) => get(`?types=webhook.*&after=${after}`)
  const now = async () => (await get('?after=now').then(expecting(200))).body.next
  const add = (count: number) =>
    append(
      grove.deps.events,
      ann.org,
      Array.from({ length: count }, () => anEvent(ann.org)),
    )
  /** Stops the service, changes its files and starts it again. */
  const restart = async (change: () => Promise<unknown>) => {
    await grove.close()
    await change()
    grove = await startGrove({ dataDir })
  }
  const removeFile = async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${file()}${suffix}`, { force: true })
  }

  it('is gone if it is from after the copy, also once the log has more events than before', async () => {
    const start = await now()
    const kept = await add(3)
    const before = await now()
    await restart(() => copyFile(file(), `${file()}.copy`))
    const lost = await add(3)
    const after = await now()
    expect(idsOf(await list(before))).to.deep.equal(lost)
    await restart(async () => {
      await removeFile()
      await copyFile(`${file()}.copy`, file())
    })
    expect([(await list(after)).status, idsOf(await list(before))]).to.deep.equal([410, []])
    const added = await add(9)
    const refused = await list(after)
    expect([refused.status, refused.body.code, refused.body.now]).to.deep.equal([410, 'cursor_gone', await now()])
    expect(idsOf(await list(before))).to.deep.equal(added)
    expect(idsOf(await list(start))).to.deep.equal([...kept, ...added])
    const stream = await follow(grove.url + eventsOf(ann.org), ann.session.accessToken, { 'last-event-id': after })
    expect(stream.status).to.equal(410)
  })

  it('is gone if the database was deleted, and the log begins with the present', async () => {
    await add(3)
    const cursor = await now()
    await restart(removeFile)
    expect((await list(cursor)).status).to.equal(410)
    const { body } = await get('?limit=1').then(expecting(200))
    expect(body.events[0]).to.include({ seq: 1, type: 'log.began' })
    const added = await add(2)
    expect(idsOf(await list((await list(cursor)).body.oldest))).to.deep.equal(added)
  })

  it('is gone if the database is deleted in use, and open streams end', async () => {
    const stream = await follow(grove.url + eventsOf(ann.org, '?types=webhook.*'), ann.session.accessToken)
    const [id = ''] = await add(1)
    await until(() => stream.ids().includes(id))
    await removeFile()
    await until(() => stream.end() !== 'open')
    expect(stream.end()).to.equal('ended')
    const query = { 'last-event-id': stream.cursor() }
    await until(async () => {
      const again = await follow(grove.url + eventsOf(ann.org), ann.session.accessToken, query)
      again.close()
      return again.status === 410
    })
    expect((await list(stream.cursor())).status).to.equal(410)
  })
})
