/** Databases that are damaged, gone, or of another time than the repositories: made again or refused, before and while serving. */

import { cp, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { converse } from '../support/conversation.ts'
import { expectSound, newDataDir } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { endAll } from '../support/processes.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('a database', () => {
  let dataDir: string
  let seed: string
  let ann: PersonClient
  let node: TestNode
  /** The answer of every GET about the created data. */
  let seen: Record<string, string>
  let grove: Grove

  // Made once, by a service that has stopped; each test has a copy.
  before(async () => {
    dataDir = await newDataDir()
    const maker = await startGrove({ dataDir })
    ann = await signUp(maker, 'Ann')
    node = await newNode(maker, ann, { text_content: 'A song of the deep sea', tags: ['sea'] })
    const bob = await signUp(maker, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'reader' }).then(expecting(200))
    const rules = [{ branches: ['guarded/**'], under: node.id, approvals: 1, by: { people: [bob.user.id] } }]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    for (const branch of ['open', 'merged']) {
      await node.proposal(branch)
      const { number } = await node.open(branch, { reviewers: [bob.user.id] })
      const at = `${node.at}/pull-requests/${number}`
      await converse(at, ann, bob)
      if (branch === 'merged') await ann.post(`${at}/merge`).then(expecting(200))
    }
    for (let n = 0; n < 5; n++)
      await newNode(maker, ann, {
        title: `Calf ${n}`,
        text_content: `A song of the deep sea, verse ${n}. `.repeat(400),
      })
    seen = await everything(maker)
    await maker.close()
    seed = `${dataDir}.seed`
    await cp(dataDir, seed, { recursive: true })
  })
  beforeEach(async () => {
    await rm(dataDir, { recursive: true, force: true })
    await cp(seed, dataDir, { recursive: true })
  })
  afterEach(endAll)
  after(async () => {
    for (const folder of [dataDir, seed]) await rm(folder, { recursive: true, force: true })
  })

  describe('index.sqlite', () => {
    const damages: Record<string, (file: string) => Promise<unknown>> = {
      'of which a page is garbage': (file) => scribble(file, 4096 * 3, 4096),
      'whose header is garbage': (file) => scribble(file, 0, 100),
      'that was cut off': async (file) => truncate(file, Math.floor((await stat(file)).size / 8192) * 4096),
    }
    for (const [title, damage] of Object.entries(damages))
      it(`${title} is set aside at the start and rebuilt, and the log says so`, async () => {
        await damage(file('index.sqlite'))
        await start()
        expect(await everything(grove)).to.deep.equal(seen)
        expect(said(grove, 'was set aside as index.sqlite.damaged')).to.have.length(1)
        expect(said(grove, 'rebuilt from the repositories')).to.have.length(1)
        expect(await readdir(dataDir)).to.include('index.sqlite.damaged')
        await expectSound(dataDir)
      })

    it('that a kill left half made is made to its end before anything is read from it', async () => {
      const db = openSqlite(file('index.sqlite'))
      db.pragma('foreign_keys = on')
      db.exec("delete from node where title like 'Calf%'; pragma user_version = 0")
      db.close()
      await start()
      expect(await everything(grove)).to.deep.equal(seen)
    })

    it('of an hour ago, put back, catches up with the repositories', async () => {
      await cp(file('index.sqlite'), file('kept'))
      await start()
      const person = client(grove, ann.session.accessToken)
      expect((await person.patch(node.at, { title: 'Dolphins' })).status).to.equal(200)
      expect((await person.post(`/orgs/${ann.org}/nodes`, { title: 'New' })).status).to.equal(201)
      const before = await everything(grove)
      await grove.close()
      await rename(file('kept'), file('index.sqlite'))
      await start()
      await untilEqual(before)
    })

    it('that is newer than the repositories goes back with them', async () => {
      await cp(join(dataDir, ann.org), file('kept'), { recursive: true })
      await start()
      const person = client(grove, ann.session.accessToken)
      expect((await person.patch(node.at, { title: 'Dolphins' })).status).to.equal(200)
      expect((await person.post(`/orgs/${ann.org}/nodes`, { title: 'New' })).status).to.equal(201)
      expect((await person.post(`${node.at}/branches`, { name: 'more' })).status).to.equal(201)
      await grove.close()
      await rm(join(dataDir, ann.org), { recursive: true })
      await rename(file('kept'), join(dataDir, ann.org))
      await start()
      await untilEqual(seen)
    })

    it('without its log, and a log without its database, lose nothing', async () => {
      const first = await spawnGrove(dataDir)
      const earlier = client(first, ann.session.accessToken)
      expect((await earlier.patch(node.at, { title: 'Dolphins' })).status).to.equal(200)
      const before = await everything(first)
      await first.kill()
      for (const end of ['-wal', '-shm']) await rm(file(`index.sqlite${end}`))
      const second = await spawnGrove(dataDir)
      await untilEqual(before, second)
      const person = client(second, ann.session.accessToken)
      expect((await person.patch(node.at, { title: 'Whales again' })).status).to.equal(200)
      const after = await everything(second)
      await second.kill()
      await rm(file('index.sqlite'))
      await start()
      expect(await everything(grove)).to.deep.equal(after)
    })

    it('that is damaged under two services is rebuilt automatically, answers 503 until then, and the log says so', async () => {
      const other = await start()
      await start()
      await scribble(file('index.sqlite'), 0, (await stat(file('index.sqlite'))).size)
      const statuses = new Set<number>()
      await until(async () => {
        const answer = await client(grove, ann.session.accessToken).hasty.get(`/orgs/${ann.org}/nodes`)
        statuses.add(answer.status)
        return said(grove, 'rebuilt from').length + said(other, 'rebuilt from').length > 0
      })
      for (const one of [grove, other]) {
        // The one that has read nothing since finds the damage only now.
        await untilEqual(seen, one, 'may be 503 meanwhile')
      }
      expect([...statuses].filter((status) => status !== 200 && status !== 503)).to.deep.equal([])
      const person = client(grove, ann.session.accessToken)
      expect((await person.patch(node.at, { title: 'Dolphins' })).status).to.equal(200)
      await expectSound(dataDir)
    })

    it('that is deleted under a service is rebuilt automatically', async () => {
      await start()
      await rm(file('index.sqlite'))
      await until(async () => said(grove, 'rebuilt from').length > 0)
      // The log says so before the index counts as whole.
      await untilEqual(seen, grove, 'may be 503 meanwhile')
      expect(said(grove, 'index.sqlite was deleted')).to.have.length(1)
      expect(await readdir(dataDir)).to.include('index.sqlite')
    })
  })

  describe('credentials.sqlite', () => {
    const damages: Record<string, [string, (file: string) => Promise<unknown>]> = {
      'of which a page is garbage': ['is damaged and was not changed', (file) => scribble(file, 4096 * 3, 4096)],
      'that is no database': ['is damaged and was not changed', (file) => writeFile(file, 'x'.repeat(100_000))],
      'that is empty': ['is empty, but there are organisations', (file) => truncate(file, 0)],
      'that is gone': ['is missing, but there are organisations', (file) => rm(file)],
    }
    for (const [title, [words, damage]] of Object.entries(damages))
      it(`${title} keeps the service from starting, in one line, and is not touched`, async () => {
        await damage(file('credentials.sqlite'))
        const before = await readFile(file('credentials.sqlite')).catch(() => undefined)
        const line = await refusal()
        expect(line).to.match(
          /^The service cannot start: credentials\.sqlite [^\n]*: replace it with the copy of the backup[^\n]*\n$/,
        )
        expect(line).to.include(words)
        const after = await readFile(file('credentials.sqlite')).catch(() => undefined)
        expect(after?.equals(before ?? Buffer.alloc(0)) ?? before === undefined).to.equal(true)
      })
  })

  it('credentials.sqlite of a newer version keeps this one from starting, in one line', async () => {
    const db = openSqlite(file('credentials.sqlite'))
    db.exec("insert into schema_migration (name) values ('999_later')")
    db.close()
    expect(await refusal()).to.equal(
      'The service cannot start: credentials.sqlite was created by a newer version of Grove (999_later); start that version\n',
    )
  })

  function file(name: string): string {
    return join(dataDir, name)
  }

  async function start(): Promise<Grove> {
    grove = await startGrove({ dataDir, logLevel: 'warn' })
    return grove
  }

  /** The message of a service that does not start. */
  async function refusal(): Promise<string> {
    const error: unknown = await spawnGrove(dataDir).then(
      () => new Error('It has started'),
      (reason: unknown) => reason,
    )
    return String(error instanceof Error && error.message).replace(/^.*\n/, '')
  }

  /** The answer of every GET. */
  async function everything(one: { readonly url: string }) {
    const all = await everythingIn(one, ann.session.accessToken, [ann.org], ['song', 'verse 3'])
    return JSON.parse(JSON.stringify(all).replaceAll(one.url, 'http://grove'))
  }

  async function untilEqual(
    before: unknown,
    one: { readonly url: string } = grove,
    refusals?: 'may be 503 meanwhile',
  ): Promise<void> {
    const text = JSON.stringify(before)
    const ask = async () =>
      everything(one).catch((error: unknown) => {
        if (refusals === undefined || !/ answered 503 /.test(String(error))) throw error
        return undefined
      })
    await until(async () => JSON.stringify(await ask()) === text)
  }
})

/** The lines of its log that say so. */
function said(grove: Grove, what: string): string[] {
  return grove
    .logged()
    .split('\n')
    .filter((line) => line.includes(what))
}

async function scribble(path: string, from: number, length: number): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.write(Buffer.alloc(length, 0xa5), 0, length, from)
  await handle.close()
}
