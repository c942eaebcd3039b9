/** The log while storage fails, and while the log itself cannot be written. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { pino } from 'pino'
import { DatabaseError } from '../../index/sqlite/database.ts'
import { createHttpServer } from '../../server/http/connection/connections.ts'
import { countingFaults, faultCounts } from '../../server/http/log/log-faults.ts'
import { createApp } from '../../server/process/app.ts'
import { commitOf } from '../support/concurrency-rules.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly code?: string
  readonly count?: number
  readonly err?: { readonly stack?: string }
}

const linesOf = (text: string): Line[] =>
  text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe('the log of a service whose storage fails', () => {
  let faults: Faults
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode

  beforeEach(async () => {
    faults = prepareFaults()
    grove = await spawnGrove(await newDataDir(), { ...faults.environment, LOG_LEVEL: 'info' })
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
  })
  afterEach(async () => {
    await grove.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
    await faults.remove()
  })

  it('tells a full disk once, and then how often it was met', async () => {
    await faults.ask('FULL 0')
    for (let turn = 0; turn < 25; turn++) {
      expect((await ann.post(`${node.at}/tree/main/commits`, commitOf(`${turn}`))).status).to.equal(503)
    }
    await faults.none()
    expect(await grove.stop()).to.equal(0)
    const told = linesOf(grove.output().stderr).filter(({ level }) => level >= 40)
    const failed = told.filter(({ msg }) => msg.startsWith('a request failed'))
    expect(failed.map(({ err, count }) => [err?.stack !== undefined, count])).to.deep.equal([
      [true, undefined],
      [false, 24],
    ])
    expect(told.filter(({ err }) => err?.stack !== undefined).length, 'kinds of faults').to.be.below(6)
  })

  it('is whole when the service ends', async () => {
    for (let turn = 0; turn < 20; turn++) await client(grove).get('/nothing', { 'x-request-id': `nothing-${turn}` })
    expect(await grove.stop()).to.equal(0)
    for (let turn = 0; turn < 20; turn++) expect(grove.output().stderr).to.contain(`"nothing-${turn}"`)
  })
})

describe('standard error', () => {
  let dataDir: string
  let faults: Faults
  before(async () => {
    faults = prepareFaults()
  })
  beforeEach(async () => {
    dataDir = await newDataDir()
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))
  after(() => faults.remove())

  /** A service that writes its log to `file`, while `use` uses it, and its exit code. */
  async function serveWithLog(file: string, use: (url: string) => Promise<void>): Promise<unknown> {
    const log = openSync(file, 'w')
    const child = spawn(process.execPath, ['dist/main.js'], {
      stdio: ['ignore', 'pipe', log],
      env: { ...process.env, ...faults.environment, PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'info' },
    })
    closeSync(log)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    try {
      const said = await Promise.race([once(child.stdout ?? child, 'data'), ended])
      await use(/http:\S+/.exec(String(said))?.[0] ?? '')
      child.kill('SIGTERM')
      return await ended
    } finally {
      child.kill('SIGKILL')
    }
  }

  it('is a file that no request waits for', async () => {
    const file = join(dataDir, 'log')
    await serveWithLog(file, async (url) => {
      await faults.ask('LOG 0')
      await until(async () => {
        for (let turn = 0; turn < 10; turn++)
          await client({ url }).get('/nothing', { 'x-request-id': `nothing-${turn}` })
        return (await readFile(file, 'utf8')).includes('"nothing-9"')
      })
      expect((await faults.logged()).filter((step) => step.includes(file))).to.deep.equal([])
      await faults.none()
    })
  })

  it('may be on a full disk: the service continues, and ends when it is asked to', async () => {
    const code = await serveWithLog('/dev/full', async (url) => {
      for (let turn = 0; turn < 4; turn++) {
        expect((await client({ url }).get('/healthz')).status).to.equal(200)
        await sleep(150)
      }
    })
    expect(code).to.equal(0)
  })
})

describe('the log while the index is made again', () => {
  it('has one line for all clients that must retry later, and no stack', async () => {
    const grove = await startGrove()
    const written: string[] = []
    const counts = faultCounts()
    const log = pino({ hooks: { logMethod: countingFaults(counts) } }, { write: (line: string) => written.push(line) })
    const index = {
      ...grove.deps.index,
      get read(): never {
        throw new DatabaseError('busy', 'index.sqlite is being rebuilt; try again in a moment')
      },
    }
    const ann = await signUp(grove, 'Ann')
    const app = createApp({ ...grove.deps, index, log }, { validateResponses: false, newCounter: undefined })
    const server = createHttpServer(app, log).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const address = server.address()
      const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
      for (let turn = 0; turn < 5; turn++) {
        expect((await client({ url }, ann.session.accessToken).hasty.get('/orgs')).body.code).to.equal('busy')
      }
      counts.end()
      const told = linesOf(written.join('')).filter(({ level }) => level >= 40)
      expect(told.map(({ msg, code, count, err }) => ({ msg, code, count, err }))).to.deep.equal([
        { msg: 'a request was refused', code: 'busy', count: undefined, err: undefined },
        { msg: 'a request was refused: 4 more times since', code: 'busy', count: 4, err: undefined },
      ])
    } finally {
      server.close()
      server.closeAllConnections()
      await grove.close()
    }
  })
})
