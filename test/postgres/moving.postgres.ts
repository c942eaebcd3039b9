/** Credentials that move between engines: `credentials-to-postgres`, backup and restore, doctor. */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Finished, runGroveCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'

describe('credentials that move', () => {
  let folder: string
  let url: string
  let refreshToken: string
  let accessToken: string
  const file = () => join(folder, 'credentials.sqlite')

  const withFile = (dataDir: string, ...args: string[]): Promise<Finished> =>
    runGroveCommand(dataDir, args, { DATABASE_URL: '' })
  const withPostgres = (dataDir: string, database: string, ...args: string[]): Promise<Finished> =>
    runGroveCommand(dataDir, args, { DATABASE_URL: database })

  before(async () => {
    folder = await newDataDir()
    url = await databaseFor(folder)
    const grove = await startGrove({ dataDir: folder, postgres: false })
    const ann = await signUp(grove, 'Ann')
    await newNode(grove, ann, { title: 'Sea' })
    await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))
    ;({ refreshToken, accessToken } = ann.session)
    await grove.close()
  })
  after(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  /** Returns the heir of the refresh token. */
  const goesOn = async (dataDir: string, postgres: string | false): Promise<string> => {
    const grove = await startGrove({ dataDir, postgres })
    try {
      await client(grove, accessToken).get('/auth/me').then(expecting(200))
      const { body } = await client(grove).post('/auth/refresh', { refreshToken }).then(expecting(200))
      await client(grove).post('/auth/login', { email: 'ann@example.org', password }).then(expecting(200))
      return body.refreshToken
    } finally {
      await grove.close()
    }
  }
  const refusal = (postgres: string | false) =>
    startGrove({ dataDir: folder, postgres }).then(
      async (grove) => {
        await grove.close()
        return 'it started'
      },
      (error: Error) => error.message,
    )

  it('have one truth: beside the file a service with DATABASE_URL does not start', async () => {
    expect(await refusal(url)).to.match(/^Accounts are in credentials\.sqlite, but DATABASE_URL is set: /)
    expect((await withPostgres(folder, url, 'config', 'check')).stdout).to.include(
      'DATABASE_URL is set, but accounts are in credentials.sqlite',
    )
  })

  it('move while nobody is at work on the folder, and never over other accounts', async () => {
    expect((await withFile(folder, 'credentials-to-postgres')).stderr).to.match(/DATABASE_URL is not set/)
    const running = await startGrove({ dataDir: folder, postgres: false })
    const busy = await withPostgres(folder, url, 'credentials-to-postgres')
    expect([busy.code, busy.stderr]).to.deep.equal([
      2,
      `grove: A service or a command is using ${folder}: stop it first\n`,
    ])
    await running.close()
    const elsewhere = await newDataDir()
    const taken = await databaseFor(elsewhere)
    const other = await startGrove({ dataDir: elsewhere, postgres: taken })
    await signUp(other, 'Bob')
    await other.close()
    const full = await withPostgres(folder, taken, 'credentials-to-postgres')
    expect([full.code, full.stderr]).to.deep.equal([
      2,
      'grove: The database of DATABASE_URL has other accounts: use an empty one\n',
    ])
    expect(await readdir(folder)).to.include('credentials.sqlite')
    await rm(elsewhere, { recursive: true })
  })

  it('are there with their sessions and tokens; a repetition of an interrupted move finishes it', async () => {
    const moved = await withPostgres(folder, url, 'credentials-to-postgres')
    expect([moved.code, moved.stderr]).to.deep.equal([0, ''])
    expect(moved.stdout).to.include('credentials.sqlite.moved')
    // As it was between the commit and the new name.
    await rename(`${file()}.moved`, file())
    refreshToken = await goesOn(folder, false)
    expect((await withPostgres(folder, url, 'credentials-to-postgres')).stderr).to.include('has other accounts')
    const again = await databaseFor(`${folder} again`)
    expect((await withPostgres(folder, again, 'credentials-to-postgres')).code).to.equal(0)
    await rename(`${file()}.moved`, file())
    expect((await withPostgres(folder, again, 'credentials-to-postgres')).code).to.equal(0)
    expect(await refusal(false)).to.equal('Accounts were moved to PostgreSQL: set DATABASE_URL')
    url = again
    refreshToken = await goesOn(folder, url)
  })

  it('are looked at by doctor', async () => {
    const well = await withPostgres(folder, url, 'doctor')
    expect([well.code, well.stdout]).to.satisfy(
      ([code, text]: [number, string]) => code === 0 && /^DATABASE_URL: schema \d{3}_\w+$/m.test(text),
    )
    const none = await withPostgres(folder, await databaseFor('nothing in it'), 'doctor')
    expect([none.code, none.stdout]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && text.includes('DATABASE_URL: is empty, and all accounts'),
    )
    const wrong = await refusal(await databaseFor('nothing in it'))
    expect(wrong).to.match(/^The database of DATABASE_URL is empty, but there are organisations/)
  })

  it('are in a backup of the same form, from which either engine is restored', async () => {
    const [copy, file, database] = [await newDataDir(), await newDataDir(), await newDataDir()]
    const backup = join(copy, 'backup')
    const made = await withPostgres(folder, url, 'backup', backup)
    expect([made.code, made.stderr]).to.deep.equal([0, ''])
    expect(await readdir(backup)).to.include.members(['credentials.sqlite', 'manifest.json'])
    expect((await withFile(file, 'restore', backup)).stdout).to.include('sessions were restored from the backup')
    await goesOn(file, false)
    const other = await databaseFor(database)
    const restored = await withPostgres(database, other, 'restore', backup)
    expect([restored.code, restored.stderr]).to.deep.equal([0, ''])
    await goesOn(database, other)
    expect((await withPostgres(await newDataDir(), other, 'restore', backup)).stderr).to.include(
      'the database of DATABASE_URL has accounts',
    )
    for (const dir of [copy, file, database]) await rm(dir, { recursive: true })
  })
})
