import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { commitOf, created, times } from '../support/concurrency-rules.ts'
import { expectSound, newDataDir } from '../support/data-folder.ts'
import { finishLogin, startedLogin } from '../support/half-sent.ts'
import { type Answer, client, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

const unansweredAfterMs = 5_000

describe('workers that share a port', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await newDataDir()
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  it('are as many as asked for, and tell where they listen in one line', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '3' })
    // One that died and was replaced would be in the log, which is empty.
    await until(async () => (await workersOf(grove)).length === 3)
    const run = await readdir(join(dataDir, 'run'), { withFileTypes: true })
    expect(run.filter((entry) => entry.isDirectory())).to.have.length(3)
    expect((await client(grove).get('/healthz')).status).to.equal(200)
    expect(await grove.stop()).to.equal(0)
    expect(grove.output()).to.deep.equal({ stdout: `Grove is listening on ${grove.url}\n`, stderr: '' })
  })

  it('end with one clear line if the port is taken', async () => {
    const grove = await spawnGrove(dataDir)
    const { port } = new URL(grove.url)
    const failed = await spawnGrove(dataDir, { PORT: port, WORKERS: '2' }).catch((error: Error) => error.message)
    expect(failed).to.match(new RegExp(`listened:\nThe port is in use: .*EADDRINUSE 127.0.0.1:${port}\n$`))
    await grove.stop()
  })

  it('are replaced when they are killed, at the same port, and no acknowledged write is lost', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '2' })
    const ann = await signUp(grove, 'Ann')
    const node = created(await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' })).id
    const commits = `/orgs/${ann.org}/nodes/${node}/tree/main/commits`
    let end = () => {}
    const ended = new Promise<undefined>((resolve) => {
      end = () => resolve(undefined)
    })
    let writing = true
    const acknowledged: string[] = []
    const writers = times(4, async (writer) => {
      for (let n = 0; writing; n++) {
        const asked = ann.post(commits, commitOf(`${writer} ${n}`)).catch(() => undefined)
        // A connection that was being handed to a worker when that was killed is never answered.
        const answer = await Promise.race([asked, ended])
        if (answer?.status === 201) acknowledged.push(answer.body.id)
      }
    })
    const victims = await workersOf(grove)
    for (const victim of victims) {
      const before = acknowledged.length
      await until(() => acknowledged.length > before + 5)
      process.kill(victim, 'SIGKILL')
      await until(async () => {
        const alive = await workersOf(grove)
        return alive.length === 2 && !alive.includes(victim)
      })
    }
    const before = acknowledged.length
    await until(() => acknowledged.length > before + 5)
    writing = false
    end()
    await writers
    const first = (await ann.get(`${commits}?limit=200`)).body
    const rest = await times(Math.ceil(first.total / 200) - 1, (n) =>
      ann.get(`${commits}?limit=200&offset=${200 * (n + 1)}`),
    )
    const history = [first, ...rest.map(({ body }) => body)].flatMap((page) => page.history)
    expect(history.map(({ id }: { id: string }) => id)).to.include.members(acknowledged)
    expect(await grove.stop()).to.equal(0)
    await expectSound(dataDir)
  })

  it('come back at the same port when all are killed at once', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '2', LOG_LEVEL: 'silent' })
    const ann = await signUp(grove, 'Ann')
    for (const worker of await workersOf(grove)) process.kill(worker, 'SIGKILL')
    // A connection that was being handed to a worker when that was killed is never answered: the next one is.
    const unanswered = () => sleep(unansweredAfterMs, undefined, { ref: false })
    await until(async () => {
      const answer = await Promise.race([ann.get('/auth/me').catch(() => undefined), unanswered()])
      return answer?.status === 200
    })
    expect(await grove.stop()).to.equal(0)
  })

  it('answer what is in flight when the service is told to stop, and all end', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '2' })
    const ann = await signUp(grove, 'Ann')
    const workers = await workersOf(grove)
    const agent = new Agent({ keepAlive: true })
    const half = await times(8, () => startedLogin(grove.url, agent))
    let stopped = false
    const answers: Answer[] = []
    const load = times(4, async (n) => {
      for (let turn = 0; !stopped; turn++) {
        const answer = await ann.post(`/orgs/${ann.org}/nodes`, { title: `${n} ${turn}` }).catch(() => undefined)
        if (answer !== undefined) answers.push(answer)
      }
    })
    await until(() => answers.length > 8)
    const code = grove.stop()
    expect(await Promise.all(half.map(finishLogin))).to.deep.equal(Array(8).fill(401))
    expect(await code).to.equal(0)
    stopped = true
    await load
    expect([...new Set(answers.map(({ status }) => status))].filter((status) => ![201, 503].includes(status))).to.be
      .empty
    await until(async () => (await living(workers)).length === 0)
    await expectSound(dataDir)
    agent.destroy()
  })

  it('end when the process that started them is killed, after what is in flight', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '2', RATE_LIMIT: 'on' })
    await signUp(grove, 'Ann')
    const workers = await workersOf(grove)
    const agent = new Agent({ keepAlive: true })
    const half = await times(4, () => startedLogin(grove.url, agent))
    await grove.kill()
    expect(await Promise.all(half.map(finishLogin))).to.deep.equal(Array(4).fill(401))
    await until(async () => (await living(workers)).length === 0)
    agent.destroy()
  })

  it('count rates together', async () => {
    const grove = await spawnGrove(dataDir, { WORKERS: '2', RATE_LIMIT: 'on' })
    const statuses: number[] = []
    for (let n = 0; n < 12; n++) {
      const agent = new Agent({ keepAlive: false })
      statuses.push(await finishLogin(await startedLogin(grove.url, agent)))
    }
    expect(statuses).to.deep.equal([...Array(10).fill(401), 429, 429])
    await grove.stop()
  })
})

/** Those that have not ended. The first process also starts `git --version`; node:cluster gives a number to workers alone. */
async function workersOf({ pid }: SpawnedGrove): Promise<number[]> {
  const children = (await processes()).filter((one) => one.parent === pid).map((one) => one.pid)
  const environments = await Promise.all(
    children.map((child) => readFile(`/proc/${child}/environ`, 'utf8').catch(() => '')),
  )
  return children.filter((_, n) => environments[n]?.split('\0').some((line) => line.startsWith('NODE_UNIQUE_ID=')))
}

async function living(pids: readonly number[]): Promise<number[]> {
  return (await processes()).map(({ pid }) => pid).filter((pid) => pids.includes(pid))
}

/** All of this machine but those that have ended and only wait to be counted. */
async function processes(): Promise<{ pid: number; parent: number }[]> {
  const { stdout } = await run('ps', ['-e', '-o', 'pid=', '-o', 'ppid=', '-o', 'stat='])
  const lines = stdout.trim().split('\n')
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state = 'Z']) => !state.startsWith('Z'))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }))
}
