/** Clients of an export that leave, that are many, and what they get of a damaged repository. */

import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { runningGits } from '../../gitstore/native.ts'
import { gitIn } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('the export of an organisation', () => {
  let grove: Grove
  let ann: PersonClient
  let org: string
  let whale: string

  before(async () => {
    grove = await startGrove({ logLevel: 'info' })
    ann = await signUp(grove, 'Ann')
    org = (await ann.post('/orgs', { name: 'Large' })).body.id
    const content = Buffer.alloc(9 * 1_048_576, 'grove ').toString('base64')
    const files = ['a', 'b', 'c']
    whale = (await ann.post(`/orgs/${org}/nodes`, { title: 'Whale' })).body.id
    for (const name of files) {
      const changes = [{ action: 'put', path: `${name}.bin`, content: content.replace('Z', name), encoding: 'base64' }]
      await ann.post(`/orgs/${org}/nodes/${whale}/tree/main/commits`, { message: 'Large', changes })
    }
  })
  after(() => grove.close())

  /** Takes nothing of the body until it is told. */
  const open = async (): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const request = get(`${grove.url}/orgs/${org}/export`, { headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }

  it('is one at a time for a person; the next one has its turn when a client leaves', async () => {
    const first = await open()
    expect(first.statusCode).to.equal(200)
    await until(() => runningGits() === 1)
    let answered = false
    const second = open().then((response) => {
      answered = true
      return response
    })
    expect((await ann.get(`/orgs/${org}`)).status).to.equal(200)
    expect(answered).to.equal(false)
    first.destroy()
    const response = await second
    let bytes = 0
    for await (const chunk of response) bytes += chunk.length
    expect(bytes).to.be.above(27 * 1_048_576)
    await until(() => runningGits() === 0)
  })

  it('answers HEAD without a body, and waits for nobody', async () => {
    const held = await open()
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const answer = await fetch(`${grove.url}/orgs/${org}/export`, { method: 'HEAD', headers })
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'application/x-tar'])
    held.destroy()
    await until(() => runningGits() === 0)
  })

  it('ends in the middle where a repository is damaged, and the log says why', async () => {
    const other = (await ann.post(`/orgs/${org}/nodes`, { title: 'Zebra', text_content: 'Striped.\n' })).body.id
    const git = gitIn(grove, org, other)
    git.loosen()
    const blob = git.say('rev-parse', 'main:content.md')
    await rm(join(grove.dataDir, org, `${other}.git`, 'objects', blob.slice(0, 2), blob.slice(2)))
    const response = await open()
    let fault: unknown
    try {
      for await (const _ of response);
    } catch (error) {
      fault = error
    }
    expect(fault).to.have.property('code', 'ECONNRESET')
    await until(() => grove.logged().includes(blob))
  })
})
