/** Maintenance mode during changes: what is acknowledged stays, and nothing changes until it ends. */

import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { grove as command } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

/** Milliseconds between two hashes of the data folder. */
const betweenHashesMs = 5_000

/** Returns the files of a folder, without what Git has not yet accepted. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const kept = entries.filter(({ name }) => !name.startsWith('tmp_objdir-'))
  const found = kept.map((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
  return (await Promise.all(found)).flat()
}

/** Refs, objects and packs: the files of all repositories. A repository that is not made yet may go meanwhile. */
async function hashOf(dataDir: string): Promise<string> {
  const hash = createHash('sha256')
  const folders = (await readdir(dataDir, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const paths: string[] = []
  for (const { name } of folders) {
    const repositories = (await readdir(join(dataDir, name))).filter((repository) => repository.endsWith('.git'))
    for (const repository of repositories) paths.push(...(await filesIn(join(dataDir, name, repository))))
  }
  for (const path of paths.sort()) hash.update(`${relative(dataDir, path)}\0`).update(await readFile(path))
  return hash.digest('hex')
}

describe('maintenance mode during changes', () => {
  let dataDir: string
  let grove: SpawnedGrove
  let desk: Desk
  let ann: PersonClient
  let nodes: TestNode[]

  before(async () => {
    dataDir = await newDataDir()
    grove = await spawnGrove(dataDir, { WORKERS: '2' })
    ann = await signUp(grove, 'Ann')
    nodes = [await newNode({ dataDir }, ann), await newNode({ dataDir }, ann), await newNode({ dataDir }, ann)]
    desk = await newDesk()
  })
  after(async () => {
    await grove.stop()
    await desk.remove()
  })

  /** Commits to a node until maintenance refuses it. Adds what was acknowledged to `made`. */
  async function commitUntilRefused({ at }: TestNode, made: string[]): Promise<void> {
    for (;;) {
      const changes = [{ action: 'put', path: 'log.txt', content: `${made.length}\n` }]
      const { status, body } = await ann.post(`${at}/tree/main/commits`, { message: 'A change', changes })
      if (status === 503) {
        expect(body.code).to.equal('maintenance')
        return
      }
      expect(status, JSON.stringify(body)).to.equal(201)
      made.push(body.id)
    }
  }

  /** Creates nodes until maintenance refuses it. Returns the ids that were acknowledged. */
  async function createUntilRefused(): Promise<string[]> {
    const made: string[] = []
    for (;;) {
      const { status, body } = await ann.post(`/orgs/${ann.org}/nodes`, { title: `Node ${made.length}` })
      if (status === 503) return made
      expect(status, JSON.stringify(body)).to.equal(201)
      made.push(body.id)
    }
  }

  /** Pushes branches, one after the other, until one is refused. Returns how many were accepted. */
  async function pushUntilRefused({ id, org }: TestNode): Promise<number> {
    const REMOTE = remoteUrl(grove, org, id, ann.session.accessToken)
    await desk.done('git clone -q $REMOTE pushed', { REMOTE })
    for (let count = 0; ; count++) {
      const script = `cd pushed; echo ${count} > ${count}.txt; git add .; git commit -q -m ${count}; git push -q origin HEAD:b${count}`
      const { code, text } = await desk.sh(script)
      if (code === 0) continue
      expect(text).to.include('The service is in maintenance')
      return count
    }
  }

  it('keeps what it acknowledged, and changes no ref, object or pack until it ends', async () => {
    const [first, second, pushed] = nodes as [TestNode, TestNode, TestNode]
    const commits: [string[], string[]] = [[], []]
    const running = [commitUntilRefused(first, commits[0]), commitUntilRefused(second, commits[1])]
    const creating = createUntilRefused()
    const pushing = pushUntilRefused(pushed)
    const pushedTo = `${pushed.at}/branches`
    await until(async () => {
      const { branches } = (await ann.get(pushedTo)).body
      return branches.length > 2 && commits.every(({ length }) => length > 0)
    })
    const { code, stdout } = await command(dataDir, 'maintenance', 'on')
    expect({ code, stdout }).to.deep.equal({
      code: 0,
      stdout: 'Maintenance mode is on, and the data folder is quiet\n',
    })
    const before = await hashOf(dataDir)
    const [created, count] = [await creating, await pushing]
    await Promise.all(running)
    // Nothing tells when the background work of the child processes has had its turn.
    await sleep(betweenHashesMs)
    expect(await hashOf(dataDir)).to.equal(before)

    for (const [index, { at }] of [first, second].entries()) {
      const acknowledged = commits[index] ?? []
      expect(acknowledged).to.have.length.above(0)
      const { body } = await ann.get(`${at}/branches/main`)
      expect(body.head).to.equal(acknowledged.at(-1))
    }
    for (const id of created) expect((await ann.get(`/orgs/${ann.org}/nodes/${id}`)).status).to.equal(200)
    const { branches } = (await ann.get(`${pushedTo}?limit=100`)).body
    expect(branches.length).to.equal(count + 1)
  })

  it('survives kill -9 of the service, and ends when the operator says so', async () => {
    await grove.kill()
    grove = await spawnGrove(dataDir, { WORKERS: '2' })
    const again = client(grove, ann.session.accessToken)
    const [{ at } = { at: '' }] = nodes
    const commit = () =>
      again.post(`${at}/tree/main/commits`, {
        message: 'Again',
        changes: [{ action: 'put', path: 'again.txt', content: 'again' }],
      })
    expect((await commit()).body.code).to.equal('maintenance')
    expect((await command(dataDir, 'maintenance', 'off')).code).to.equal(0)
    await until(async () => (await commit()).status === 201)
  })
})
