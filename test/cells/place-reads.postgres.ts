/** Strangers who ask a cell for organisations that are nowhere: what they make it read of the directory is limited. */

import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { counters } from '../../server/base/counters.ts'
import { Cell } from '../../server/domain/cells/cell.ts'
import { createHttpServer } from '../../server/http/connection/connections.ts'
import { createApp } from '../../server/process/app.ts'
import { from } from '../support/behind-proxy.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { here, setUrl, there, useCells } from './scene.ts'

/** Of all limits. */
const few = 20

describe('requests for organisations that no cell has', () => {
  useCells()
  let server: Server
  let small: { readonly url: string }
  let ann: PersonClient
  let reads = 0

  before(async () => {
    await setUrl('here', here.url)
    ann = await signUp(here, 'Ann')
    const { credentials, config, placement } = there.deps
    const counted = {
      ...credentials,
      get read() {
        reads++
        return credentials.read
      },
    }
    const { name, url, lease } = placement
    const counting = new Cell({ name, url, lease, root: config.dataDir, credentials: counted })
    const app = createApp(
      { ...there.deps, credentials: counted, config: { ...config, trustProxy: ['loopback'] }, placement: counting },
      { validateResponses: false, newCounter: (id, limit) => counters(false)(id, { ...limit, quota: few }) },
    )
    server = createHttpServer(app, there.deps.log).listen(0, '127.0.0.1')
    await once(server, 'listening')
    small = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } // it listens on a port
  })
  after(() => {
    server.close()
    server.closeAllConnections()
  })

  /** A page, a repository and an operation. */
  const paths = (id: string) => [`/orgs/${id}`, `/o/${id}`, `/git/${id}/${id}.git/info/refs?service=git-upload-pack`]

  it('are read for as long as the address may ask, and then for nobody but who shows who it is', async () => {
    reads = 0
    const ask = async (path: string) => (await client(small).get(path, from('10.1.0.1'))).status
    for (let n = 0; n < few; n++) expect(await ask(paths(newId())[n % 3] ?? '')).to.be.oneOf([401, 404])
    expect(reads, 'one each').to.equal(few)
    const before = reads
    for (let n = 0; n < 2 * few; n++) expect(await ask(paths(newId())[n % 3] ?? '')).to.equal(429)
    expect(reads).to.equal(before)
    const known = client(small, ann.session.accessToken)
    expect((await known.get(`/orgs/${ann.org}`, from('10.1.0.1'))).status).to.equal(200)
    expect((await known.get(`/orgs/${newId()}`, from('10.1.0.1'))).status).to.equal(404)
    expect((await client(small).get(`/orgs/${ann.org}`, from('10.1.0.1'))).status, 'known by now').to.equal(401)
    expect((await client(small).get(`/orgs/${newId()}`, from('10.1.0.2'))).status, 'another address').to.equal(401)
  })

  it('to create one do not reach the directory if they do not say who asks', async () => {
    const before = reads
    const { status } = await client(small).post('/orgs', { name: 'Mine' }, from('10.1.0.3'))
    expect([status, reads]).to.deep.equal([401, before])
  })
})
