/** Events are shown only once they are durable. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { logMigrations } from '../../index/log/migrations.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import { type Database, openDatabase } from '../../index/sqlite/database.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { anEvent, append, eventsOf, idsOf } from './scene.ts'

describe('a new event', () => {
  let dataDir: string
  let faults: Faults
  let grove: SpawnedGrove
  let ann: PersonClient
  /** Another process, whose writes the service finds. */
  let events: Database<LogSchema>

  before(async () => {
    dataDir = await newDataDir()
    faults = prepareFaults()
    grove = await spawnGrove(dataDir, { ...faults.environment, LOG_LEVEL: 'fatal' })
    ann = await signUp(grove, 'Ann')
    events = await openDatabase(join(dataDir, 'events.sqlite'), logMigrations, { synchronous: 'NORMAL' })
  })
  after(async () => {
    await events.close()
    await grove.stop()
    await faults.remove()
    await rm(dataDir, { recursive: true, force: true })
  })

  const now = async () => (await ann.get(eventsOf(ann.org, '?after=now')).then(expecting(200))).body.next
  const list = (after: string) => ann.get(eventsOf(ann.org, `?types=webhook.*&after=${after}`))
  const syncs = async () => (await faults.logged()).filter((step) => step.includes('events.sqlite-wal')).length

  it('of a new organisation is synced, so that its log does not begin again after its first node', async () => {
    // Rows of the audit are synced in the background, but not as often.
    for (const name of ['Sea', 'Lake', 'Pond']) {
      await faults.ask('LOG 0')
      await ann.post('/orgs', { name }).then(expecting(201))
      expect(await syncs(), name).to.be.at.least(1)
    }
    await faults.none()
  })

  /** Resolves when no row of the audit waits for its sync. The service syncs them a second later. */
  const auditIsSynced = async () => {
    await faults.ask('LOG 0')
    await client(grove).post('/auth/login', { email: 'ann@example.org', password: 'not hers' }).then(expecting(401))
    await until(async () => (await syncs()) > 0)
  }

  it('is synced before it is shown, and only once', async () => {
    await auditIsSynced()
    const start = await now()
    const ids = await append(events, ann.org, [anEvent(ann.org), anEvent(ann.org)])
    await faults.ask('LOG 0')
    expect(idsOf(await list(start).then(expecting(200)))).to.deep.equal(ids)
    expect(await syncs()).to.equal(1)
    await faults.ask('LOG 0')
    for (let times = 0; times < 3; times++) expect(idsOf(await list(start).then(expecting(200)))).to.deep.equal(ids)
    expect(await syncs()).to.equal(0)
    await faults.none()
  })

  it('is not shown while the disk cannot sync', async () => {
    const start = await now()
    const ids = await append(events, ann.org, [anEvent(ann.org)])
    await faults.ask('SYNC 0')
    const { status, body } = await list(start)
    expect([status, body.code]).to.deep.equal([503, 'storage_error'])
    await faults.none()
    expect(idsOf(await list(start).then(expecting(200)))).to.deep.equal(ids)
  })
})
