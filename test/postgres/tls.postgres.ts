/** The connection that `sslmode` in DATABASE_URL demands from PostgreSQL. */
import { expect } from 'chai'
import { type CredentialsState, examinePostgres } from '../../index/credentials/copies.ts'
import { databaseFor, ownServer, type PostgresServer } from '../support/postgres.ts'

describe('sslmode', () => {
  let server: PostgresServer
  let address: URL

  before(async () => {
    server = await ownServer({ tls: true })
    address = new URL(await databaseFor('tls', server))
  })
  after(() => server?.stop('immediate'))

  const examined = (hostname: string, query: Record<string, string>): Promise<CredentialsState> => {
    const url = new URL(address)
    url.hostname = hostname
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return examinePostgres({ url: url.href, connections: 1 })
  }
  const reached = 'is empty, and all accounts are missing'

  it('require takes any certificate, verify-ca those that a known one has signed, verify-full of that name alone', async () => {
    const sslrootcert = server.certificate
    expect((await examined('127.0.0.1', { sslmode: 'require' })).fault).to.equal(reached)
    expect((await examined('127.0.0.1', { sslmode: 'verify-ca', sslrootcert })).fault).to.equal(reached)
    expect((await examined('localhost', { sslmode: 'verify-full', sslrootcert })).fault).to.equal(reached)
    expect((await examined('127.0.0.1', { sslmode: 'verify-full', sslrootcert })).fault).to.match(
      /^cannot be read: .*127/,
    )
    expect((await examined('localhost', { sslmode: 'verify-full' })).fault).to.match(/^cannot be read: .*self-signed/)
  })
})
