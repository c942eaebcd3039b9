/** The index is made again: organisations are served one by one, those asked for first. */

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { withFileLock } from '../../index/sqlite/file-lock.ts'
import { type Queue, requestedFirst } from '../../server/domain/indexing/partial-index.ts'
import { indexAll } from '../../server/domain/indexing/reindex.ts'
import { runFolder } from '../../server/domain/layout.ts'
import { commitOf } from '../support/concurrency-rules.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { untilReady } from '../support/spawned-grove.ts'

const organisations = 4

describe('an index that is made again', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient
  let nodes: TestNode[]
  const made = new AbortController()

  before(async () => {
    dataDir = await newDataDir()
    const earlier = await startGrove({ dataDir, sweeps: false })
    ann = await signUp(earlier, 'Ann')
    nodes = []
    for (let n = 0; n < organisations; n++) {
      const { id } = (await ann.post('/orgs', { name: `Organisation ${n}` }).then(expecting(201))).body
      nodes.push(await newNode(earlier, { ...ann, org: id }))
    }
    await earlier.close()
    for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
  })
  after(async () => {
    made.abort()
    await grove?.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('has an organisation that is asked for before the others, and answers for it while they are busy', async () => {
    const held = new AbortController()
    const release = new Promise<void>((resolve) => held.signal.addEventListener('abort', () => resolve()))
    // The service waits for this lock; the test makes the index in its place.
    let locked = () => {}
    const isLocked = new Promise<void>((resolve) => {
      locked = resolve
    })
    const holding = withFileLock(join(runFolder(dataDir), 'index-filling'), made.signal, async () => {
      locked()
      await release
    })
    await isLocked
    grove = await startGrove({ dataDir })
    const person = client(grove, ann.session.accessToken).hasty
    expect((await client(grove).get('/readyz')).body).to.deep.equal({ status: 'indexing' })
    const [first, , third, last] = nodes as [TestNode, TestNode, TestNode, TestNode]
    const codeAt = async (node: TestNode) => {
      const { status, body, headers } = await person.get(node.at)
      if (status === 503) expect(Number(headers['retry-after'])).to.be.greaterThan(0)
      return status === 200 ? 200 : body.code
    }
    expect(await codeAt(last)).to.equal('busy')

    const { index } = grove.deps
    const asked = requestedFirst(index)
    const done: string[] = []
    const queue: Queue = {
      first: asked.first,
      done: async (orgId) => {
        await asked.done(orgId)
        done.push(orgId)
        if (done.length > 1) return
        expect(await codeAt(last)).to.equal(200)
        expect((await person.post(`${last.at}/tree/main/commits`, commitOf('Meanwhile'))).status).to.equal(201)
        expect((await person.post(`/orgs/${last.org}/nodes`, { title: 'Meanwhile' })).status).to.equal(201)
        // An id is one of all organisations, of which some are not known yet.
        const given = { title: 'Given', id: newId() }
        expect((await person.post(`/orgs/${last.org}/nodes/batch`, { nodes: [given] })).body.code).to.equal('busy')
        expect((await person.get('/orgs')).body.code).to.equal('busy')
        expect((await person.get(`/orgs/${newId()}`)).body.code).to.equal('busy')
        expect(await codeAt(third)).to.equal('busy')
        expect(await codeAt(first)).to.equal('busy')
      },
    }
    await indexAll(grove.deps, undefined, queue)
    expect(done[0]).to.equal(last.org)
    expect(new Set(done.slice(1, 3))).to.deep.equal(new Set([first.org, third.org]))
    expect(new Set(done).size).to.equal(done.length)
    held.abort()
    await holding
    await untilReady(grove)
    expect(await index.read.selectFrom('whole_org').selectAll().execute()).to.deep.equal([])
    for (const node of nodes) expect(await codeAt(node)).to.equal(200)
    expect((await person.get('/orgs')).status).to.equal(200)
  })
})
