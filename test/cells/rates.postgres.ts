/** Sign-ups and failed sign-ins are counted by all cells together. */

import { expect } from 'chai'
import { sql } from 'kysely'
import { newDataDir } from '../support/data-folder.ts'
import type { Grove } from '../support/grove.ts'
import { type Answer, client, password, signUp } from '../support/people.ts'
import { databaseFor, ownServer } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { here, startCell, there, useCells } from './scene.ts'

describe('limits of all cells', () => {
  useCells({ rateLimit: true })

  const login = (at: Grove, email: string, secret = 'wrong password') =>
    client(at).post('/auth/login', { email, password: secret })

  it('count failed sign-ins at one and at the other together', async () => {
    const ann = await signUp(here, 'Ann')
    const { email } = ann.user
    const counted = here.deps.credentials.read.selectFrom('rate_count').select(['key', 'points'])
    expect((await login(there, email, password)).status).to.equal(200)
    for (const { key, points } of await counted.where('key', 'like', 'sign-in%').execute())
      expect(points, key).to.equal(0)
    // Ann has signed in from this address, so it has a count of its own.
    for (let n = 0; n < 10; n++) expect((await login(n % 2 === 0 ? here : there, email)).status).to.equal(401)
    for (const grove of [here, there]) {
      const { status, body } = await login(grove, email)
      expect([status, body.code]).to.deep.equal([429, 'rate_limited'])
    }
    expect((await login(here, email, password)).status, 'closed for a minute').to.equal(429)
  })

  it('count sign-ups of an address at one and at the other together', async () => {
    const body = { email: 'ann@example.org', password }
    const ask = (at: Grove): Promise<Answer> => client(at).post('/auth/signup', body)
    const key = 'signup:127.0.0.1'
    const taken = here.deps.credentials.read.selectFrom('rate_count').select('points').where('key', '=', key)
    const before = (await taken.executeTakeFirst())?.points ?? 0
    for (let n = before; n < 100; n++) expect((await ask(n % 2 === 0 ? here : there)).status).to.equal(409)
    for (const grove of [here, there]) {
      const answer = await ask(grove)
      expect(answer.status).to.equal(429)
      expect(answer.headers).to.include({ 'ratelimit-policy': '"signup";q=100;w=3600' })
    }
  })

  it('leave no statement with a connection, and no count when its window is over', async () => {
    const { read, write } = here.deps.credentials
    const prepared = await sql<{ count: number }>`select count(*) as count from pg_prepared_statements`.execute(read)
    expect(prepared.rows).to.deep.equal([{ count: 0 }])
    await write((trx) => trx.insertInto('rate_count').values({ key: 'signup:old', points: 3, expire: 1 }).execute())
    const keys = async () => (await read.selectFrom('rate_count').select('key').execute()).map(({ key }) => key)
    const next = await startCell('next', { dataDir: await newDataDir() })
    await until(async () => !(await keys()).includes('signup:old'))
    expect(await keys()).to.include('signup:127.0.0.1')
    await next.close()
  })
})

describe('limits of cells without their database', () => {
  it('refuse what they cannot count, with 503, until it is back', async () => {
    const server = await ownServer()
    const grove = await startCell('here', {
      ...{ dataDir: await newDataDir(), rateLimit: true, logLevel: 'silent' },
      postgres: await databaseFor('limits', server),
    })
    const sign = (what: string) => client(grove).post(`/auth/${what}`, { email: 'ann@example.org', password })
    await server.stop('immediate')
    for (const what of ['signup', 'login']) {
      const { status, body } = await sign(what)
      expect([status, body.code], what).to.deep.equal([503, 'storage_error'])
    }
    await server.start()
    // A sign-up before that would make the account, and then be refused its organisation.
    await until(() => grove.deps.placement.lease.isHeld())
    await until(async () => (await sign('signup')).status === 201)
    expect((await sign('login')).status).to.equal(200)
    await grove.close()
    await server.stop('immediate')
  })
})
