/** Backups have the events and the audit, and doctor finds what was changed in them. */

import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findLog } from '../../index/log/events.ts'
import { hasPosition } from '../../index/log/positions.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { cli, folder, seed, useDesk } from '../operator/desk.ts'
import { made } from '../support/cast.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { entriesOf } from './scene.ts'

describe('the events and the audit, backed up', () => {
  useDesk()
  let grove: Grove
  let ann: PersonClient
  let backup: string

  before(async () => {
    grove = await startGrove({ dataDir: await folder(), sweeps: false })
    ann = await signUp(grove, 'Ann')
    await signUp(grove, 'Bob')
    await seed(grove, ann)
    backup = join(await folder(), 'backup')
  })
  after(() => grove.close())

  const auditOf = (who: PersonClient) => entriesOf(who, `/orgs/${ann.org}/audit`)
  const position = async ({ deps }: Grove) => {
    const log = await findLog(deps.events.read, ann.org)
    if (log === undefined) throw new Error('There is no log')
    return log
  }

  it('come back by restore, with the same order, and cursors hold', async () => {
    const old = await position(grove)
    await made(ann.post(`/orgs/${ann.org}/invitations`, { role: 'reader' }))
    await newNode(grove, ann, { title: 'Before the backup' })
    const before = await auditOf(ann)
    const kept = await position(grove)
    expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
    await newNode(grove, ann, { title: 'After the backup' })
    await newNode(grove, ann, { title: 'After the backup also' })
    const lost = await position(grove)

    const dataDir = await folder()
    const restored = await cli(dataDir, 'restore', backup)
    expect({ code: restored.code, stderr: restored.stderr }).to.deep.equal({ code: 0, stderr: '' })
    const again = await startGrove({ dataDir, sweeps: false })
    const { accessToken } = await made(client(again).post('/auth/login', { email: ann.user.email, password }))
    const { read } = again.deps.events
    const log = await position(again)
    expect(log.log_id).to.equal(kept.log_id)
    for (const cursor of [old, kept]) expect(await hasPosition(read, log, cursor)).to.equal(true)
    expect(await hasPosition(read, log, lost)).to.equal(false)
    const after = await auditOf({ ...ann, ...client(again, accessToken) })
    expect(after.slice(-before.length)).to.deep.equal(before)
    expect((await cli(dataDir, 'doctor')).stdout).to.include('OK: no problems found')
    await again.close()
  })

  it('are behind the mirrors: what these have beyond is recorded after a restore', async () => {
    const other = join(await folder(), 'backup')
    await cli(grove.dataDir, 'backup', other)
    const stale = await readFile(join(other, 'events.sqlite'))
    const node = await newNode(grove, ann, { title: 'Only in the mirrors' })
    await cli(grove.dataDir, 'backup', other)
    await writeFile(join(other, 'events.sqlite'), stale)
    const dataDir = await folder()
    const { code, stdout } = await cli(dataDir, 'restore', other)
    expect(code).to.equal(1)
    expect(stdout).to.include('events.sqlite: is not the file that the manifest lists; it is intact, and was used')
    const again = await startGrove({ dataDir })
    const { accessToken } = await made(client(again).post('/auth/login', { email: ann.user.email, password }))
    const who = { ...ann, ...client(again, accessToken) }
    await again.settled()
    const created = (await auditOf(who)).filter(({ action }) => action === 'node.created')
    expect(created.map(({ target }) => target?.id)).to.include(node.id)
    expect((await cli(dataDir, 'doctor')).stdout).to.include('OK: no problems found')
    await again.close()
  })

  it('begin again if the backup has none, or damaged ones', async () => {
    for (const damage of ['missing', 'damaged'] as const) {
      const copy = join(await folder(), 'backup')
      await cp(backup, copy, { recursive: true })
      const file = join(copy, 'events.sqlite')
      if (damage === 'missing') await rm(file)
      else await writeFile(file, Buffer.from('not a database'.repeat(1_000)))
      const dataDir = await folder()
      const { code, stdout } = await cli(dataDir, 'restore', copy)
      expect(code).to.equal(1)
      expect(stdout).to.match(
        new RegExp(`events.sqlite: ${damage === 'missing' ? 'is missing' : 'damaged'}.*begins again`),
      )
      expect(await cli(dataDir, 'doctor')).to.include({ code: 0 })
    }
  })

  /** Changes a copy of the data folder, and returns what doctor finds in it. */
  async function findingsAfter(...statements: string[]) {
    const dataDir = await folder()
    expect((await cli(dataDir, 'restore', backup)).code).to.equal(0)
    const db = openSqlite(join(dataDir, 'events.sqlite'))
    for (const statement of statements) db.exec(statement)
    db.close()
    const { code, stdout } = await cli(dataDir, 'doctor', '--json')
    const findings: { path: string; subject: string; reason: string }[] = JSON.parse(stdout).findings
    return { code, findings: findings.filter(({ path }) => path === 'events.sqlite') }
  }

  const ofAnn = () => `org_id = '${ann.org}'`
  const tampering: readonly [string, () => string[], RegExp][] = [
    [
      'an event was replaced',
      () => [`update event set id = hex(randomblob(16)) where seq = 3 and ${ofAnn()}`],
      /was changed at event 3 or before/,
    ],
    [
      'a chain value was',
      () => [`update event set chain = '0123456789abcdef' where seq = 4 and ${ofAnn()}`],
      /was changed at event 4 or before/,
    ],
    ['an event was removed', () => [`delete from event where seq = 5 and ${ofAnn()}`], /has event 6 after event 4/],
    [
      'the last ones were removed',
      () => [`delete from event where seq > 7 and ${ofAnn()}`],
      /should end with event \d+, but ends with 7/,
    ],
    [
      'the first ones were removed',
      () => [`delete from event where seq < 3 and ${ofAnn()}`],
      /has event 3 after event 0/,
    ],
    ['another log began', () => [`update log set log_id = 'x' where ${ofAnn()}`], /does not begin with its own id/],
    ['the log was removed', () => [`delete from log where ${ofAnn()}`], /has events, but no log/],
  ]
  for (const [what, statements, reason] of tampering)
    it(`are found changed by doctor: ${what}`, async () => {
      const { code, findings } = await findingsAfter(...statements())
      expect(code).to.equal(1)
      expect(findings.length).to.equal(1)
      expect(findings[0]?.subject).to.equal('events')
      expect(findings[0]?.reason).to.match(reason).and.include(ann.org)
    })

  it('are intact after retention has removed the oldest', async () => {
    const base = `(select chain from event where seq = 3 and ${ofAnn()})`
    const { code, findings } = await findingsAfter(
      `update log set base_seq = 3, base_chain = ${base} where ${ofAnn()}`,
      `delete from event where seq <= 3 and ${ofAnn()}`,
    )
    expect({ code, findings }).to.deep.equal({ code: 0, findings: [] })
  })

  it('are found damaged by doctor', async () => {
    const dataDir = await folder()
    expect((await cli(dataDir, 'restore', backup)).code).to.equal(0)
    await writeFile(join(dataDir, 'events.sqlite'), Buffer.from('not a database'.repeat(1_000)))
    for (const end of ['-wal', '-shm']) await rm(join(dataDir, `events.sqlite${end}`), { force: true })
    const { code, stdout } = await cli(dataDir, 'doctor')
    expect(code).to.equal(1)
    expect(stdout).to.match(/events\.sqlite: .*; the next start begins the logs and the audit again/)
  })
})
