/** PostgreSQL that goes away, comes back, closes no connection, or lies behind a pooler. */
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { runGroveCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { pooled } from '../support/pgbouncer.ts'
import { databaseFor, ownServer, type PostgresServer } from '../support/postgres.ts'
import { relayTo } from '../support/relay.ts'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'

const secret = 'never-in-a-log'

describe('PostgreSQL', () => {
  let server: PostgresServer
  let url: string

  before(async () => {
    server = await ownServer()
    const address = new URL(await databaseFor('away', server))
    address.password = secret
    url = address.href
  })
  after(() => server?.stop('immediate'))

  it('that crashes is 503 until it is back; then nothing acknowledged is lost', async () => {
    const grove = await startGrove({ postgres: url, logLevel: 'trace' })
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const acknowledged: string[] = []
    const seen = new Set<number>()
    let stopped = false
    const write = async () => {
      const { status, body } = await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' })
      seen.add(status)
      if (status !== 201) return
      acknowledged.push(body.id)
      // As many as a person may have would end it.
      if (acknowledged.length > 60) seen.add((await ann.delete(`/auth/tokens/${acknowledged.shift()}`)).status)
    }
    const writers = [1, 2, 3, 4].map(async () => {
      while (!stopped) await write()
    })
    await until(() => acknowledged.length > 20)
    await server.stop('immediate')
    await until(async () => (await ann.get('/auth/me')).status === 503)
    expect((await client(grove).get('/readyz')).status).to.equal(503)
    expect((await client(grove).get(`/orgs/${ann.org}/nodes`)).status, 'what is published').to.equal(200)
    await server.start()
    await until(async () => (await client(grove).get('/readyz')).status === 200)
    const before = acknowledged.length
    await until(() => acknowledged.length !== before)
    stopped = true
    await Promise.all(writers)
    for (const status of seen) expect([200, 201, 204, 404, 409, 503]).to.include(status)
    expect(seen.has(503)).to.equal(true)
    const { tokens } = (await ann.get('/auth/tokens?limit=100').then(expecting(200))).body
    const kept = new Set(tokens.map(({ id }: { id: string }) => id))
    expect(acknowledged.filter((id) => !kept.has(id))).to.deep.equal([])
    expect(grove.logged()).to.include('PostgreSQL').and.to.not.include(secret)
    await grove.close()
  })

  it('that is away at the start is named, without its password', async () => {
    const away = new URL(url)
    away.port = String(await freePort())
    const said = await startGrove({ postgres: away.href }).catch((error: Error) => error)
    expect(said)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^PostgreSQL cannot be reached: /)
    expect(String(said)).to.not.include(secret)
  })

  it('that does not close a connection keeps no command from its end', async () => {
    const dataDir = await newDataDir()
    const own = await databaseFor(dataDir, server)
    const grove = await startGrove({ dataDir, postgres: own })
    await signUp(grove, 'Eve')
    await grove.close()
    const held = await relayTo(own, { holdsOpen: true })
    try {
      const { code, stdout, stderr } = await runGroveCommand(dataDir, ['account', 'list'], { DATABASE_URL: held.url })
      expect([code, stderr], 'null: killed, since it did not end').to.deep.equal([0, ''])
      expect(stdout).to.match(/^eve@example\.org /)
    } finally {
      held.close()
      await rm(dataDir, { recursive: true })
    }
  })

  it('behind PgBouncer in transaction mode does as without it', async () => {
    // A cell, whose limits are counted there, too.
    const cell = { name: 'pooled', url: 'http://127.0.0.1:9' }
    const grove = await startGrove({ postgres: await pooled(url), cell, rateLimit: true })
    const people = await Promise.all(['Bea', 'Cyd', 'Dan'].map((name) => signUp(grove, name)))
    await Promise.all(people.map((person) => useAll(grove, person)))
    await grove.close()
  })
})

async function useAll(grove: Grove, person: PersonClient): Promise<void> {
  const names = Array.from({ length: 20 }, (_, n) => ({ name: `${n}`, access: 'read' }))
  await Promise.all(names.map((token) => person.post('/auth/tokens', token).then(expecting(201))))
  expect((await person.get('/auth/tokens?limit=100').then(expecting(200))).body.total).to.equal(20)
  let { refreshToken } = person.session
  for (let round = 0; round < 5; round++) {
    const asked = [1, 2, 3].map(() => client(grove).post('/auth/refresh', { refreshToken }).then(expecting(200)))
    const heirs = new Set((await Promise.all(asked)).map(({ body }) => body.refreshToken))
    expect(heirs.size).to.equal(1)
    refreshToken = [...heirs][0]
  }
  const change = { old_password: password, new_password: 'words that were changed' }
  await person.post('/auth/password', change).then(expecting(200))
}
