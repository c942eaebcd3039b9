/** A move whose PostgreSQL goes away. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findCell } from '../../index/credentials/cells.ts'
import { connectToCell } from '../../server/domain/cells/migration/other-cell.ts'
import { moveOrg } from '../../server/domain/cells/migration/send.ts'
import { finishMoves } from '../../server/domain/cells/reconciliation.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { databaseFor, ownServer, type PostgresServer } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { here, placeOf, setUrls, useCells } from './scene.ts'

describe('a move whose PostgreSQL goes away', () => {
  let server: PostgresServer
  useCells({ sweeps: false, logLevel: 'fatal' }, async (key) => {
    server = await ownServer()
    return databaseFor(key, server)
  })
  let ann: PersonClient

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
  })
  after(() => server?.stop('immediate'))

  it('before anything is closed leaves all as it was, and says so', async () => {
    const org = await newOrg()
    const said = await moveWhileAway(org, 1)
    expect(said.name).to.equal('NotMovedError')
    expect(isClosed(org)).to.equal(false)
    await server.start()
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null })
    await until(async () => (await add(org)).status === 201)
  })

  it('once it takes no changes says so, and that the service ends it', async () => {
    const org = await newOrg()
    const said = await moveWhileAway(org, 2)
    expect([said.name, said.message.split('. ')[0]]).to.deep.equal([
      'LeftClosedError',
      'It takes no changes until the database of the cells answers; the service of this cell then undoes the move or finishes it',
    ])
    expect(said.message).to.match(/\. PostgreSQL/)
    expect(isClosed(org)).to.equal(true)
    await server.start()
    await until(async () => (await add(org)).body.code === 'moving')
    await finishMoves(here.deps)
    expect(await placeOf(org)).to.include({ cell: 'here', state: 'here', target: null })
    await until(async () => (await add(org)).status === 201)
  })

  /** The move's error: PostgreSQL goes when the other cell is asked for the `nth` time to prepare. */
  async function moveWhileAway(org: string, nth: number): Promise<Error> {
    const cell = await findCell(here.deps.credentials.read, 'there')
    if (cell === undefined) throw new Error('There is no such cell')
    const to = connectToCell(here.deps, cell, new AbortController().signal)
    let asked = 0
    const prepare: typeof to.prepare = async (...what) => {
      if (++asked === nth) await server.stop('immediate')
      return to.prepare(...what)
    }
    const options = { atOnce: 1, signal: new AbortController().signal, onProgress: () => {} }
    return moveOrg(here.deps, org, { ...to, prepare }, options).then(
      () => new Error('It has moved'),
      (error: Error) => error,
    )
  }

  async function newOrg(): Promise<string> {
    const { id } = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body
    await add(id).then(expecting(201))
    return id
  }

  const add = (org: string) => ann.post(`/orgs/${org}/nodes`, { title: 'Krill' })
  const isClosed = (org: string) => existsSync(join(here.dataDir, org, 'closed'))
})
