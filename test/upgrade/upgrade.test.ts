/** Data folders of earlier releases under this one, and the way back. */

import { existsSync } from 'node:fs'
import { copyFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { cli } from '../operator/desk.ts'
import { everythingIn } from '../support/everything.ts'
import { client, password, type SpawnedGrove, spawnGrove, startGrove } from '../support/grove.ts'
import { openRelease, queries, type Release, releases } from './open.ts'

for (const version of releases)
  describe(`a data folder of ${version}`, () => {
    let release: Release
    beforeEach(async () => {
      release = await openRelease(version)
    })
    afterEach(() => rm(release.dataDir, { recursive: true, force: true }))

    for (const [title, files] of [
      ['as it is', []],
      ['without its index', ['index.sqlite']],
    ] as const)
      it(`answers as it did, ${title}`, async () => {
        for (const file of files) await rm(join(release.dataDir, file))
        const grove = await startGrove({ dataDir: release.dataDir })
        try {
          expectStill(release.answers, await everythingIn(grove, release.token, [release.org], queries))
          const { status, body } = await client(grove).post('/auth/login', { email: 'ann@example.org', password })
          expect([status, body.user?.name]).to.deep.equal([200, 'Ann'])
          const made = await client(grove, body.accessToken).post(`/orgs/${release.org}/nodes`, { title: 'New' })
          expect(made.status).to.equal(201)
        } finally {
          await grove.close()
        }
        const { code, stdout } = await cli(release.dataDir, 'doctor')
        expect(code, stdout).to.equal(0)
      })
  })

describe('an upgrade', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = (await openRelease('1.0.0')).dataDir
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  const credentials = () => join(dataDir, 'credentials.sqlite')
  const copies = async () => (await readdir(dataDir)).filter((name) => name.endsWith('.bak')).sort()

  it('of accounts keeps a copy from before, the newest two, with which the older version goes on', async () => {
    for (const old of ['001_accounts', '002_access_tokens']) await writeFile(`${credentials()}.${old}.bak`, 'older')
    const grove = await startGrove({ dataDir })
    await grove.close()
    const named = ['credentials.sqlite.002_access_tokens.bak', 'credentials.sqlite.003_account_addresses.bak']
    expect(await copies()).to.deep.equal(named)
    expect(tablesOf(credentials())).to.include('token_key')
    const copy = `${credentials()}.003_account_addresses.bak`
    expect(tablesOf(copy)).to.include('account_address').and.not.include('token_key')
    await copyFile(copy, credentials())
    const again = await startGrove({ dataDir })
    const login = await client(again).post('/auth/login', { email: 'ann@example.org', password })
    await again.close()
    expect(login.status).to.equal(200)
  })

  it('copies nothing where nothing is to be changed', async () => {
    await (await startGrove({ dataDir })).close()
    for (const name of await copies()) await rm(join(dataDir, name))
    await (await startGrove({ dataDir })).close()
    expect(await copies()).to.deep.equal([])
  })

  describe('of the index, and back', () => {
    const addLater = () => {
      const db = new Sqlite(join(dataDir, 'index.sqlite'))
      db.exec("insert into schema_migration (name) values ('999_later')")
      db.close()
    }

    it('makes it again where no process of the newer version lives', async () => {
      addLater()
      const grove = await startGrove({ dataDir, logLevel: 'warn' })
      const answer = await client(grove).post('/auth/login', { email: 'ann@example.org', password })
      await grove.close()
      expect(answer.status).to.equal(200)
      expect(existsSync(join(dataDir, 'index.sqlite.damaged'))).to.equal(true)
      expect(grove.logged()).to.include(
        'index.sqlite was set aside as index.sqlite.damaged: index.sqlite was made by a newer',
      )
    })

    it('is refused in one line while one lives, which goes on', async () => {
      const newer: SpawnedGrove = await spawnGrove(dataDir)
      try {
        const run = join(dataDir, 'run')
        for (const name of await readdir(run)) {
          const file = join(run, name, 'version')
          if (existsSync(file)) await writeFile(file, '999_later')
        }
        addLater()
        const error: unknown = await spawnGrove(dataDir).catch((reason: unknown) => reason)
        expect(String(error)).to.include(
          'The service cannot start: index.sqlite was made by a newer version (999_later); start that one\n',
        )
        const login = await client(newer).post('/auth/login', { email: 'ann@example.org', password })
        expect(login.status).to.equal(200)
      } finally {
        await newer.stop()
      }
    })
  })
})

function tablesOf(file: string): unknown[] {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare('select name from sqlite_master').pluck().all()
  } finally {
    db.close()
  }
}

/** Each answer of then is one of now, which may have more members. */
function expectStill(then: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): void {
  for (const [request, answer] of Object.entries(then)) {
    const [old, fresh] = [answer, now[request] ?? ''].map(parsed)
    expect(within(old, fresh), `${request}: ${now[request]}, was ${answer}`).to.equal(true)
  }
}

function parsed(answer: string): unknown {
  const body = answer.slice(4)
  return [answer.slice(0, 3), /^[[{]/.test(body) ? JSON.parse(body) : body]
}

function within(old: unknown, fresh: unknown): boolean {
  if (Array.isArray(old))
    return Array.isArray(fresh) && old.length === fresh.length && old.every((one, at) => within(one, fresh[at]))
  if (typeof old !== 'object' || old === null) return old === fresh
  if (typeof fresh !== 'object' || fresh === null) return false
  return Object.entries(old).every(([name, value]) => within(value, (fresh as Record<string, unknown>)[name]))
}
