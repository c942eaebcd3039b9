/** Data folders of earlier releases under this one, and the way back. */

import { existsSync } from 'node:fs'
import { chmod, copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import manifest from '../../package.json' with { type: 'json' }
import { cli } from '../operator/desk.ts'
import { newDataDir } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { startGrove } from '../support/grove.ts'
import { client, password } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
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
      it.deep(`answers as it did, ${title}`, async () => {
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

  it('leaves accounts, their log and their copies readable only to the user of the service', async () => {
    await chmod(credentials(), 0o644)
    const grove = await startGrove({ dataDir })
    const files = [credentials(), `${credentials()}-wal`, ...(await copies()).map((name) => join(dataDir, name))]
    const modes = await Promise.all(files.map(async (file) => ((await stat(file)).mode & 0o777).toString(8)))
    await grove.close()
    expect(modes).to.deep.equal(['600', '600', '600'])
  })

  it.deep('of accounts keeps the two newest earlier copies, with which the older version can continue', async () => {
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

  it.deep('copies nothing if nothing changes', async () => {
    await (await startGrove({ dataDir })).close()
    for (const name of await copies()) await rm(join(dataDir, name))
    await (await startGrove({ dataDir })).close()
    expect(await copies()).to.deep.equal([])
  })

  describe('of the index, and back', () => {
    const addLater = () => {
      const db = openSqlite(join(dataDir, 'index.sqlite'))
      db.exec("insert into schema_migration (name) values ('999_later')")
      db.close()
    }

    it('makes it again if no process of the newer version lives', async () => {
      addLater()
      const grove = await startGrove({ dataDir, logLevel: 'warn' })
      const answer = await client(grove).post('/auth/login', { email: 'ann@example.org', password })
      await grove.close()
      expect(answer.status).to.equal(200)
      expect(existsSync(join(dataDir, 'index.sqlite.damaged'))).to.equal(true)
      expect(grove.logged()).to.include(
        'index.sqlite was set aside as index.sqlite.damaged: index.sqlite was created by a newer',
      )
    })

    it.deep('is refused in one line while one lives, which continues', async () => {
      const newer: SpawnedGrove = await spawnGrove(dataDir)
      try {
        await writeFile(await versionFile(dataDir), '999_later\n1.7.0\n')
        addLater()
        const error: unknown = await spawnGrove(dataDir).catch((reason: unknown) => reason)
        expect(String(error)).to.include(
          'The service cannot start: index.sqlite was created by a newer version of Grove (999_later); start that version\n',
        )
        const login = await client(newer).post('/auth/login', { email: 'ann@example.org', password })
        expect(login.status).to.equal(200)
      } finally {
        await newer.stop()
      }
    })
  })
})

describe('a service beside one of another version', () => {
  const major = Number(manifest.version.split('.')[0])
  const later = `${major + 1}.3.0`
  let dataDir: string
  let running: SpawnedGrove
  let file: string
  let text: string
  beforeEach(async () => {
    dataDir = await newDataDir()
    running = await spawnGrove(dataDir)
    file = await versionFile(dataDir)
    text = await readFile(file, 'utf8')
  })
  afterEach(async () => {
    await running.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it.deep('does not start if that is another major version, and starts once it has ended', async () => {
    expect(text.split('\n').slice(1)).to.deep.equal([manifest.version, ''])
    await writeFile(file, text.replace(/\n.*/, `\n${later}`))
    const error: unknown = await spawnGrove(dataDir).catch((reason: unknown) => reason)
    expect(String(error)).to.include(
      `The configuration is not valid: DATA_DIR: Grove ${later} uses this folder, and this is Grove ${manifest.version}; stop that one first\n`,
    )
    const { code, stderr } = await cli(dataDir, 'purge')
    expect([code, stderr]).to.deep.equal([
      2,
      `grove: DATA_DIR: Grove ${later} uses this folder, and this is Grove ${manifest.version}; stop that one first\n`,
    ])
    await running.stop()
    running = await spawnGrove(dataDir)
  })

  it.deep('starts beside another minor version, and beside one that names only its migration', async () => {
    for (const other of [text.replace(/\n.*/, `\n${major}.99.0`), text.split('\n', 1)[0] ?? '']) {
      await writeFile(file, other)
      const second = await spawnGrove(dataDir)
      expect((await client(second).get('/readyz')).status).to.equal(200)
      await second.stop()
    }
  })
})

/** Where the one process that has used the folder says which version it is. */
async function versionFile(dataDir: string): Promise<string> {
  const run = join(dataDir, 'run')
  const [file = '', ...others] = (await readdir(run))
    .map((name) => join(run, name, 'version'))
    .filter((path) => existsSync(path))
  expect(others).to.deep.equal([])
  return file
}

function tablesOf(file: string): unknown[] {
  const db = openSqlite(file, { readonly: true })
  try {
    return db.prepare('select name from sqlite_master').pluck().all()
  } finally {
    db.close()
  }
}

/**
 * Each answer of then is one of now, which may have more members, and other scores in the same order. A clone URL of
 * a node ends in a slug since 1.1.0; that of 1.0.0 still works (git/readable-addresses).
 */
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
  return Object.entries(old).every(([name, value]) => {
    const now = (fresh as Record<string, unknown>)[name]
    if (name === 'score') return typeof now === typeof value
    if (name === 'clone_url' && now !== value)
      return value === String(now).replace(/^(\/git\/[^/]+\/[^/]+)\/[^/]+\.git$/, '$1.git')
    return within(value, now)
  })
}
