/** Storage that fails under a running service: what is answered, what is kept, and how it comes back. */

import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { expect } from 'chai'
import { commitOf, times } from '../support/concurrency-rules.ts'
import { expectSound, newDataDir } from '../support/data-folder.ts'
import { type Message, type Reply, send } from '../support/exchange.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { type HeldChecks, heldChecks } from '../support/preload.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('a file system that cannot sync', () => {
  let faults: Faults
  let checks: HeldChecks
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let neighbour: TestNode

  before(async () => {
    faults = prepareFaults()
    checks = heldChecks()
    grove = await spawnGrove(await newDataDir(), { ...faults.environment, ...checks.environment })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
    neighbour = await newNode(grove, ann)
  })
  after(async () => {
    await grove?.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
    await faults.remove()
  })

  it('makes a commit 503 storage_error, and its repository readable only until a check has synced it', async () => {
    const write = (to: TestNode, message: string) => ann.post(`${to.at}/tree/main/commits`, commitOf(message))
    const before = await ann.get(node.at)
    checks.hold()
    await faults.ask('SYNC 0')
    const failed = await write(node, 'Fails')
    expect([failed.status, failed.body.code]).to.deep.equal([503, 'storage_error'])
    expect(Number(failed.headers['retry-after'])).to.be.greaterThan(0)
    expect(await ann.get(node.at)).to.deep.equal(before)
    await faults.none()
    // The syncs would succeed now, but what they did not reach is not known yet.
    const refused = await write(node, 'Too early')
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'storage_error'])
    expect(await ann.get(node.at)).to.deep.equal(before)
    expect((await write(neighbour, 'Beside it')).status).to.equal(201)
    checks.release()
    await until(async () => (await write(node, 'Works again')).status === 201)
    expect(node.git.log()).to.have.length(2)
    await until(() => grove.output().stderr.includes('a sync failed'))
    await expectSound(grove.dataDir)
  })
})

const faulty = [
  ['a disk that is full', 'FULL 0', 'storage_full'],
  ['a disk that is read-only', 'READONLY 0', 'storage_readonly'],
] as const

for (const [what, fault, code] of faulty) {
  describe(what, () => {
    let faults: Faults
    let grove: SpawnedGrove
    let ann: PersonClient
    let node: TestNode
    let doomed: TestNode

    before(async () => {
      faults = prepareFaults()
      grove = await spawnGrove(await newDataDir(), faults.environment)
      ann = await signUp(grove, 'Ann')
      node = await newNode(grove, ann, { text_content: 'Whales sing' })
      doomed = await newNode(grove, ann)
      await node.proposal('dolphins')
      await node.open('dolphins')
    })
    after(async () => {
      await grove?.kill()
      await rm(grove.dataDir, { recursive: true, force: true })
      await faults.remove()
    })
    afterEach(() => faults.none())

    const reads = () => [
      () => ann.get(node.at),
      () => ann.get(`${node.at}/branches`),
      () => ann.get(`${node.at}/tree/main`),
      () => ann.get(`${node.at}/tree/main/files/content.md`),
      () => ann.get(`${node.at}/tree/main/commits`),
      () => ann.get(`${node.at}/compare?base=main&head=dolphins`),
      () => ann.get(`${node.at}/pull-requests`),
      () => ann.get(`${node.at}/pull-requests/1`),
      () => ann.get(`/orgs/${ann.org}/nodes`),
      () => ann.get('/orgs'),
      () => ann.get('/auth/me'),
      () => ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'whales', expansion_depth: 'standard' }),
    ]
    const readAll = () => Promise.all(reads().map((read) => read()))
    const statuses = (answers: readonly Answer[]) => answers.map(({ status, body }) => body?.code ?? status)

    it(`answers writes ${code} and reads as before, and does the same writes later, without a restart`, async () => {
      const bob = { email: 'bob@example.org', password, name: 'Bob' }
      const writes = [
        () => ann.post(`${node.at}/branches`, { name: 'seals' }),
        () => ann.post(`${node.at}/pull-requests/1/merge`, {}),
        () => ann.post(`${node.at}/tree/main/commits`, commitOf('A song')),
        () => ann.post(`/orgs/${ann.org}/nodes`, { title: 'Seals' }),
        () => ann.delete(doomed.at),
        () => ann.patch(`/orgs/${ann.org}`, { name: 'Sea' }),
        () => client(grove).post('/auth/signup', bob),
      ]
      const before = await readAll()
      expect(statuses(before)).to.deep.equal(Array(before.length).fill(200))
      await faults.ask(fault)
      const refused: Answer[] = []
      for (const write of writes) refused.push(await write())
      expect(statuses(refused)).to.deep.equal(Array(writes.length).fill(code))
      for (const { status, headers } of refused) {
        expect(status).to.equal(503)
        expect(Number(headers['retry-after'])).to.be.greaterThan(0)
      }
      expect(await readAll()).to.deep.equal(before)
      await faults.none()
      const done: number[] = []
      for (const write of writes) done.push((await write()).status)
      expect(done).to.deep.equal([201, 200, 201, 201, 204, 200, 201])
      await expectSound(grove.dataDir)
    })

    it('reads a node that was moved by hand as it was, until the index can follow', async () => {
      const before = await ann.get(node.at)
      await faults.ask(fault)
      const head = node.git.commit({ files: { 'content.md': 'By hand' }, parents: [node.git.head()] })
      node.git.point('main', head)
      expect(await ann.get(node.at)).to.deep.equal(before)
      await faults.none()
      expect((await ann.get(node.at)).body).to.include({ head, text_content: 'By hand' })
    })
  })
}

describe('a process that may open few files', () => {
  it.deep(
    'refuses or does what it is asked, continues when the load ends, and has everything that it has said was done',
    async () => {
      const grove = await spawnGrove(await newDataDir())
      try {
        const ann = await signUp(grove, 'Ann')
        const nodes = await times(8, () => newNode(grove, ann))
        execFileSync('prlimit', [`--pid=${grove.pid}`, '--nofile=64:64'])
        const written: { readonly node: TestNode; readonly id: string }[] = []
        const others: string[] = []
        const agent = new Agent({ keepAlive: true })
        const headers = { authorization: `Bearer ${ann.session.accessToken}`, 'content-type': 'application/json' }
        // A connection that the process cannot accept is closed by the system.
        const ask = (path: string, message: Message) =>
          send(grove.url + path, { headers, ...message }, agent).catch(() => undefined)
        const note = (reply: Reply | undefined) => {
          if (reply && ![200, 201, 503].includes(reply.status)) others.push(`${reply.status} ${reply.body}`)
        }
        const write = async (n: number) => {
          const node = nodes[n % nodes.length]
          if (!node) return
          for (let turn = 0; turn < 4; turn++) {
            const body = JSON.stringify(commitOf(`${n} ${turn}`))
            const answer = await ask(`${node.at}/tree/main/commits`, { method: 'POST', body })
            if (answer?.status === 201) written.push({ node, id: JSON.parse(answer.body.toString()).id })
            note(answer)
            note(await ask(node.at, {}))
          }
        }
        await times(50, write)
        agent.destroy()
        expect(others).to.deep.equal([])
        for (const { node, id } of written) expect(node.git.log()).to.include(id)
        for (const node of nodes) {
          const again = () => ann.post(`${node.at}/tree/main/commits`, commitOf('Afterwards'))
          // Until it has seen that the connections are closed.
          await until(async () => (await again()).status === 201)
          expect((await ann.get(node.at)).body.head).to.equal(node.git.head())
        }
        await expectSound(grove.dataDir)
        expect(await grove.stop()).to.equal(0)
      } finally {
        await grove.kill()
        await rm(grove.dataDir, { recursive: true, force: true })
      }
    },
  )
})
