/** Credentials in PostgreSQL: what must be as it is in credentials.sqlite. */
import { expect } from 'chai'
import { client, type Grove, password, signUp, startGrove } from '../support/grove.ts'
import { needsPostgres } from '../support/postgres.ts'

describe('credentials in PostgreSQL', () => {
  let grove: Grove
  before(async function () {
    needsPostgres(this)
    grove = await startGrove({ postgres: true })
  })
  after(() => grove?.close())

  it('have accounts, sessions and tokens', async () => {
    const ann = await signUp(grove, 'Ann')
    expect((await client(grove).post('/auth/login', { email: 'ann@example.org', password })).status).to.equal(200)
    expect((await ann.get('/auth/me')).body.email).to.equal('ann@example.org')
  })
})
