/** The way back to an older version with accounts in PostgreSQL, by the commands of the documentation. */

import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import pg from 'pg'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { databaseFor, ownServer, type PostgresServer } from '../support/postgres.ts'

describe('an upgrade of PostgreSQL, and back', () => {
  let server: PostgresServer
  let url: string
  let dataDir: string
  let copy: string
  let replace: string

  before(async () => {
    server = await ownServer()
    url = await databaseFor('way back', server)
    dataDir = await newDataDir()
    const page = await readFile('server/deploy/README.md', 'utf8')
    const section = page.split('### Go back with PostgreSQL\n')[1]?.split(/^##/m)[0] ?? ''
    const [first = '', second = ''] = [...section.matchAll(/^```\n(.*?)\n```$/gms)].map(([, command]) => command)
    ;[copy, replace] = [first, second]
  })
  after(async () => {
    await server.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  })

  const run = (command: string) =>
    promisify(execFile)('sh', ['-euc', command], { cwd: dataDir, env: { ...process.env, DATABASE_URL: url } })
  const inDatabase = async (statements: string) => {
    const db = new pg.Client({ connectionString: url })
    await db.connect()
    await db.query(statements).finally(() => db.end())
  }

  it('continues with the accounts of before and their revoked tokens, and the audit says which, twice', async () => {
    const first = await startGrove({ dataDir, postgres: url })
    const ann = await signUp(first, 'Ann')
    const { id, token } = (await ann.post('/auth/tokens', { name: 'CI', access: 'read' }).then(expecting(201))).body
    await first.close()
    let revoked = 0
    for (const table of ['later', 'latest']) {
      await run(copy)
      // The newer version.
      const newer = await startGrove({ dataDir, postgres: url })
      await client(newer, ann.session.accessToken).delete(`/auth/tokens/${id}`).then(expecting(204))
      await newer.close()
      await inDatabase(`create table ${table} (id text); insert into schema_migration (name) values ('999_${table}');
        delete from account`)
      const refused: unknown = await startGrove({ dataDir, postgres: url }).catch((error: unknown) => error)
      expect(String(refused)).to.include(
        `DATABASE_URL was created by a newer version of Grove (999_${table}); start that version`,
      )
      await run(replace)
      const grove = await startGrove({ dataDir, postgres: url })
      const login = await client(grove).post('/auth/login', { email: 'ann@example.org', password })
      const orgs = await client(grove, token).get('/orgs')
      const { entries } = (await client(grove, login.body.accessToken).get('/auth/audit')).body
      await grove.close()
      expect([login.status, orgs.status]).to.deep.equal([200, 200])
      expect(entries.filter(({ action }: { action: string }) => action === 'token.revoked')).to.have.length(++revoked)
    }
  })
})
