/** The lease of a cell: of all folders and processes of one name, those on one data folder write. */
import { execFile } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { findCell } from '../../index/credentials/cells.ts'
import { LeaseError } from '../../server/domain/cells/lease.ts'
import { explainFault } from '../../server/process/start-errors.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { databaseFor, ownServer } from '../support/postgres.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { type TurnedClock, turnedClock } from '../support/turned-clock.ts'
import { until } from '../support/until.ts'
import { database, here, signIn, startCell, there, useCells } from './scene.ts'

const run = promisify(execFile)
const hour = 3_600_000

describe('the lease of a cell', () => {
  useCells({ logLevel: 'error' })

  it('is one: another data folder of its name does not start beside it', async () => {
    const error: unknown = await startCell('here').catch((fault: unknown) => fault)
    expect(error).to.be.instanceOf(LeaseError)
    const said = explainFault(error)
    expect(said).to.match(
      /^The cell here is served at http:\/\/here\.example:3000 from another data folder or machine.+ another CELL$/,
    )
  })

  it('is free at once when its service stops, and each that takes it has another epoch', async () => {
    for (let time = 1; time <= 3; time++) {
      const grove = await startCell('brief')
      expect((await findCell(there.deps.credentials.read, 'brief'))?.epoch).to.equal(time)
      await grove.close()
    }
  })

  it('is shared by the services and commands on one data folder', async () => {
    const dataDir = await newDataDir()
    const [first, second] = [await startCell('shared', { dataDir }), await startCell('shared', { dataDir })]
    const ann = await signUp(first, 'Ann')
    const also = await signIn(second, ann)
    await also.patch(`/orgs/${ann.org}`, { name: 'Both' }).then(expecting(200))
    await first.close()
    await also.patch(`/orgs/${ann.org}`, { name: 'Still' }).then(expecting(200))
    await second.close()
    await (await startCell('shared', { dataDir })).close()
    await rm(dataDir, { recursive: true })
  })

  it('is shared by workers, the last of which frees it', async () => {
    const dataDir = await newDataDir()
    const environment = {
      DATABASE_URL: database,
      CELL: 'workers',
      CELL_URL: 'http://workers.example:3000',
      WORKERS: '2',
    }
    const grove = await spawnGrove(dataDir, environment)
    const cy = await signUp(grove, 'Cy')
    const nodes = Array.from({ length: 20 }, (_, n) => cy.post(`/orgs/${cy.org}/nodes`, { title: `${n}` }))
    expect(new Set((await Promise.all(nodes)).map(({ status }) => status))).to.deep.equal(new Set([201]))
    await grove.stop()
    const { epoch, left } = (await findCell(there.deps.credentials.read, 'workers')) ?? {}
    expect(epoch).to.equal(1)
    expect(left).to.be.at.most(0)
    await rm(dataDir, { recursive: true })
  })

  it('counts by the clock that has gone further', () => {
    const { lease } = here.deps.placement
    const real = Date.now
    const heldAt = (ms: number) => {
      Date.now = () => real() + ms
      try {
        return lease.isHeld()
      } finally {
        Date.now = real
      }
    }
    expect([heldAt(0), heldAt(11_000), heldAt(-3_600_000), heldAt(0)]).to.deep.equal([true, false, true, true])
  })

  it('that another has taken leaves reading: writes are 503, pushes are refused with the reason', async () => {
    const bob = await signUp(here, 'Bob')
    await bob.patch(`/orgs/${bob.org}`, { published: true }).then(expecting(200))
    const node = await newNode(here, bob)
    const push = (branch: string) => {
      const url = new URL(`${here.url}/git/${bob.org}/${node.id}.git`)
      url.username = 'bob'
      url.password = bob.session.accessToken
      return run('git', ['push', url.href, `main:refs/heads/${branch}`], { cwd: node.git.dir }).then(
        () => 'pushed',
        ({ stderr }: { stderr: string }) => stderr,
      )
    }
    expect(await push('before')).to.equal('pushed')
    await there.deps.credentials.write((trx) =>
      trx
        .updateTable('cell')
        .set((of) => ({ epoch: of('epoch', '+', 1) }))
        .where('name', '=', 'here')
        .execute(),
    )
    await until(() => !here.deps.placement.lease.isHeld())
    const sentence = 'Another service has taken over this cell; this one is read-only until it is restarted'
    for (const refused of [
      await bob.patch(`/orgs/${bob.org}`, { name: 'New' }),
      await bob.post(`/orgs/${bob.org}/nodes`, { title: 'New' }),
      await bob.post('/orgs', { name: 'New' }),
      await bob.delete(node.at),
      await bob.delete(`/orgs/${bob.org}`),
    ])
      expect([refused.status, refused.body]).to.deep.equal([503, { detail: sentence, code: 'storage_readonly' }])
    const newcomer = { email: 'newcomer@example.org', password, name: 'Newcomer' }
    const refused = await client(here).post('/auth/signup', newcomer)
    expect([refused.status, refused.body]).to.deep.equal([503, { detail: sentence, code: 'storage_readonly' }])
    await client(there).post('/auth/signup', newcomer).then(expecting(201))
    expect(await push('after')).to.include(sentence)
    for (const path of [`/orgs/${bob.org}`, node.at, `${node.at}/branches`]) {
      await bob.get(path).then(expecting(200))
      await client(here).get(path).then(expecting(200))
    }
  })
})

/** How far the wall clock of the one that is stopped is set, in milliseconds, while it runs and before it wakes. */
const clocks = [
  { title: 'with the right time', running: 0, woken: 0 },
  { title: 'whose clock is set back while it sleeps', running: 0, woken: -hour },
  { title: 'whose clock is set forth, and back while it sleeps', running: hour, woken: -hour },
]

for (const { title, running, woken } of clocks)
  describe(`a cell ${title} that was stopped, while another serves a copy of its folder`, () => {
    let clock: TurnedClock
    let folders: string[]
    let first: SpawnedGrove
    let second: SpawnedGrove | undefined
    let ann: PersonClient

    before(async () => {
      folders = [await newDataDir(), await newDataDir()]
      const [dataDir = ''] = folders
      clock = turnedClock()
      first = await spawn(dataDir, clock.environment)
      ann = await signUp(first, 'Ann')
      const node = await newNode(first, ann)
      // A personal access token is good at any time.
      const { token } = (await ann.post('/auth/tokens', { name: 'Any', access: 'write' }).then(expecting(201))).body
      ann = { ...ann, ...client(first, token) }
      clock.set(running)
      await until(async () => (await ann.patch(node.at, { title: 'Set' })).status === 200)
    })
    after(async () => {
      await second?.stop()
      await first?.kill()
      clock?.remove()
      for (const folder of folders) await rm(folder, { recursive: true })
    })

    async function spawn(dataDir: string, environment: Record<string, string> = {}): Promise<SpawnedGrove> {
      const [first = ''] = folders
      return spawnGrove(dataDir, {
        DATABASE_URL: await databaseFor(first),
        CELL: 'cell',
        CELL_URL: 'http://cell.example:3000',
        WORKERS: '1',
        ...environment,
      })
    }

    it('acknowledges no write after it wakes, and none that the other has not', async () => {
      const node = await newNode(first, ann)
      const answers: { readonly status: number; readonly id: string }[] = []
      let stopped = false
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; !stopped; n++) {
          const changes = [{ action: 'put', path: `${writer}.txt`, content: `${n}\n` }]
          const write =
            writer % 2 === 0
              ? ann.post(`${node.at}/tree/main/commits`, { message: 'More', changes })
              : ann.post(`/orgs/${ann.org}/nodes`, { title: `${writer} ${n}` })
          answers.push(await write.then(({ status, body }) => ({ status, id: body.id })))
        }
      })
      await until(() => answers.filter(({ status }) => status === 201).length > 30)
      process.kill(first.pid, 'SIGSTOP')
      // It starts once the lease of the first has ended.
      const [from = '', to = ''] = folders
      await rm(to, { recursive: true })
      await cp(from, to, { recursive: true })
      second = await spawn(to)
      const twin = await signInAt(second, ann)
      await twin.post(`/orgs/${ann.org}/nodes`, { title: 'Elsewhere' }).then(expecting(201))
      const asleep = answers.length
      clock.set(woken)
      process.kill(first.pid, 'SIGCONT')
      await until(() => answers.length > asleep + 50)
      stopped = true
      await Promise.all(writers)
      const after = answers.slice(asleep)
      // One may have been stopped between the last look at the lease and its answer: it was on the disk.
      expect(after.filter(({ status }) => status === 201).length).to.be.at.most(1)
      expect(new Set(after.map(({ status }) => status))).to.include(503)
      const { nodes } = (await twin.get(`/orgs/${ann.org}/nodes?limit=200`).then(expecting(200))).body
      const { history } = (await twin.get(`${node.at}/tree/main/commits?limit=200`).then(expecting(200))).body
      const kept = new Set([...nodes, ...history].map(({ id }: { id: string }) => id))
      const lost = answers.filter(({ status, id }) => status === 201 && !kept.has(id))
      expect(lost, 'acknowledged, and not with the other').to.deep.equal([])
      await ann.get(node.at).then(expecting(200))
      await twin.post(`/orgs/${ann.org}/nodes`, { title: 'Goes on' }).then(expecting(201))
      // It asks once it is awake, after answers that its clocks alone refuse.
      await until(() => first.output().stderr.includes('has taken the lease of this cell'))
    })
  })

async function signInAt(grove: SpawnedGrove, { user }: PersonClient) {
  const { body } = await client(grove)
    .post('/auth/login', { email: user.email, password: 'correct horse battery' })
    .then(expecting(200))
  return client(grove, body.accessToken)
}

describe('a cell whose PostgreSQL is away', () => {
  it('serves what is published, and writes again when it is back', async () => {
    const server = await ownServer()
    const url = await databaseFor('cell', server)
    const grove = await startCell('away', { postgres: url, logLevel: 'warn' })
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const { lease } = grove.deps.placement
    await server.stop('immediate')
    await until(() => !lease.isHeld())
    expect((await ann.patch(`/orgs/${ann.org}`, { name: 'New' })).status).to.equal(503)
    await client(grove).get(`/orgs/${ann.org}`).then(expecting(200))
    await server.start()
    await until(() => lease.isHeld())
    await ann.patch(`/orgs/${ann.org}`, { name: 'New' }).then(expecting(200))
    expect(grove.logged()).to.include('could not be renewed').and.to.include('has its lease again')
    await grove.close()
    await server.stop('immediate')
  })
})
