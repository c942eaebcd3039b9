/** Clients of an export that leave, that are many, and what they get of a damaged repository. */

import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { get, type IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { mock } from 'node:test'
import { expect } from 'chai'
import { fromBufferPromise as fromBuffer } from 'yauzl'
import { runningGits } from '../../gitstore/native.ts'
import { gitIn } from '../support/git.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

describe('the export of an organisation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { logLevel: 'info' })
  let org: string
  let whale: string

  before(async () => {
    org = (await ann.post('/orgs', { name: 'Large' })).body.id
    const content = Buffer.alloc(9 * 1_048_576, 'grove ').toString('base64')
    const files = ['a', 'b', 'c']
    whale = (await ann.post(`/orgs/${org}/nodes`, { title: 'Whale' })).body.id
    for (const name of files) {
      const changes = [{ action: 'put', path: `${name}.bin`, content: content.replace('Z', name), encoding: 'base64' }]
      await ann.post(`/orgs/${org}/nodes/${whale}/tree/main/commits`, { message: 'Large', changes })
    }
  })
  afterEach(() => mock.restoreAll())

  /** Takes nothing of the body until it is told. */
  const open = async (exported = org, format = 'tar'): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}` }
    const request = get(`${grove.url}/orgs/${exported}/export?format=${format}`, { headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }

  it.deep('runs once at a time for a user; the next one starts when a client leaves', async () => {
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

  /** An organisation whose only node lacks the blob of its text, and that blob. */
  async function newDamaged(): Promise<{ readonly damaged: string; readonly blob: string }> {
    const damaged = (await ann.post('/orgs', { name: 'Damaged' })).body.id
    await ann.post(`/orgs/${damaged}/nodes`, { title: 'Aardvark', text_content: 'Whole.\n' })
    const text_content = `Striped in ${damaged}.\n`
    const zebra = (await ann.post(`/orgs/${damaged}/nodes`, { title: 'Zebra', text_content })).body.id
    const git = gitIn(grove, damaged, zebra)
    git.loosen()
    const blob = git.say('rev-parse', 'main:content.md')
    await rm(join(git.dir, 'objects', blob.slice(0, 2), blob.slice(2)))
    return { damaged, blob }
  }

  async function expectBreak(damaged: string, format?: string): Promise<void> {
    const response = await open(damaged, format)
    expect(response.statusCode).to.equal(200)
    let fault: unknown
    const chunks: Buffer[] = []
    try {
      for await (const chunk of response) chunks.push(chunk)
    } catch (error) {
      fault = error
    }
    expect(Buffer.concat(chunks).includes('PK\x05\x06')).to.equal(false)
    expect(fault).to.have.property('code', 'ECONNRESET')
  }

  it('as a ZIP fails visibly if a repository is damaged, and the log says why', async () => {
    const { damaged, blob } = await newDamaged()
    await expectBreak(damaged, 'zip')
    await until(() => grove.logged().includes(blob))
  })

  it('as a ZIP leaves no Git process behind when its client leaves, and lets the next one in', async () => {
    const first = await open(org, 'zip')
    await until(() => runningGits() === 1)
    first.destroy()
    const response = await open(org, 'zip')
    let bytes = 0
    for await (const chunk of response) bytes += chunk.length
    expect(bytes).to.be.above(20_000)
    await until(() => runningGits() === 0)
  })

  it.deep('takes each node as it is at its turn, and leaves out one that is deleted before', async () => {
    const held = (await ann.post('/orgs', { name: 'Held' })).body.id
    const nodeOf = async (title: string) =>
      (await ann.post(`/orgs/${held}/nodes`, { title, text_content: `${title} is old.` })).body.id
    const [first, later, gone] = [await nodeOf('A'), await nodeOf('B'), await nodeOf('C')]
    // Not text, so it is not compressed, and the client must take it before the next node has its turn.
    const content = Buffer.alloc(9 * 1_048_576).toString('base64')
    const changes = [{ action: 'put', path: 'a.bin', content, encoding: 'base64' }]
    const made = await ann.post(`/orgs/${held}/nodes/${first}/tree/main/commits`, { message: 'Large', changes })
    expect(made.status).to.equal(201)
    const response = await open(held, 'zip')
    await ann.patch(`/orgs/${held}/nodes/${later}`, { text_content: 'B is new.' })
    await ann.delete(`/orgs/${held}/nodes/${gone}`)
    await nodeOf('D')
    const zip = await fromBuffer(await buffer(response))
    const texts: Record<string, string> = {}
    for await (const entry of zip.eachEntry()) {
      const bytes = await buffer(await zip.openReadStreamPromise(entry))
      texts[entry.fileName] = bytes.toString().slice(-9)
    }
    expect(Object.keys(texts)).to.deep.equal(['Held/A.md', 'Held/a.bin', 'Held/B.md'])
    expect(texts['Held/B.md']).to.equal('B is new.')
  })

  it('ends in the middle if a repository is damaged, and the log says why', async () => {
    const { damaged, blob } = await newDamaged()
    await expectBreak(damaged)
    await until(() => grove.logged().includes(blob))
  })

  it('the log says why also if the response closes as soon as it is destroyed, as from Node 22 on', async () => {
    const { destroy } = ServerResponse.prototype
    mock.method(ServerResponse.prototype, 'destroy', function (this: ServerResponse, error?: Error) {
      destroy.call(this, error)
      this.emit('close')
      return this
    })
    const { damaged, blob } = await newDamaged()
    await expectBreak(damaged)
    await until(() => grove.logged().includes(blob))
  })
})
