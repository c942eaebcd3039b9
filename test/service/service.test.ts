import { spawn } from 'node:child_process'
import { rm, stat, truncate, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { grove as runCommand } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { finishLogin, startedLogin } from '../support/half-sent.ts'
import { client, password, signUp } from '../support/people.ts'
import { endAfterFile, endsWithParent } from '../support/processes.ts'
import { spawnGrove, untilReady } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

describe('the service', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await newDataDir()
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  it.deep('says the next step until there is an account, and in its last line where it listens', async () => {
    const add = 'account add EMAIL --admin'
    const lines = [
      ['open', 'There is no account yet. Create yours at the address below.'],
      ['closed', 'There is no account yet. Sign-up is not open.'],
    ] as const
    for (const [SIGNUP, first] of lines) {
      const empty = await spawnGrove(dataDir, { LOG_LEVEL: 'silent', SIGNUP })
      const stdout = `${first}\nCommands with the same environment create an administrator: grove ${add}\nIn a clone: npm run grove -- ${add}. The data folder is ${dataDir}\nGrove is listening on ${empty.url}\n`
      expect(empty.output()).to.deep.equal({ stdout, stderr: '' })
      if (SIGNUP === 'closed') expect((await runCommand(dataDir, 'account', 'add', 'ann@example.org')).code).to.equal(0)
      expect(await empty.stop()).to.equal(0)
    }
    const grove = await spawnGrove(dataDir, { LOG_LEVEL: 'silent' })
    expect(grove.output()).to.deep.equal({ stdout: `Grove is listening on ${grove.url}\n`, stderr: '' })
    const revision = (await client(grove).get('/openapi.json')).body.info['x-revision']
    expect(await client(grove).get('/healthz')).to.deep.equal({ status: 200, body: { status: 'ok', revision } })
    expect(await client(grove).get('/readyz')).to.deep.equal({ status: 200, body: { status: 'ready' } })
    expect(await grove.stop()).to.equal(0)
  })

  it.deep('writes the warnings of Node as lines of its log', async () => {
    const warns = join(dataDir, 'warns.cjs')
    const warnings =
      "process.emitWarning('odd', 'OddWarning'); process.emitWarning('old', 'DeprecationWarning', 'OLD1')"
    // The environment of the service is read by its threads, too, which have a log of no kind.
    await writeFile(warns, `if (require('worker_threads').isMainThread) setInterval(() => { ${warnings} }, 50)`)
    const grove = await spawnGrove(join(dataDir, 'data'), { NODE_OPTIONS: `--require ${warns}`, LOG_LEVEL: 'debug' })
    const lines = () => grove.output().stderr.split('\n').slice(0, -1)
    await until(
      () => lines().some((line) => line.includes('OddWarning')) && lines().some((line) => line.includes('OLD1')),
    )
    const found = lines().flatMap((line) => {
      const { level, warning, code, msg } = JSON.parse(line)
      return warning === undefined ? [] : [JSON.stringify({ level, warning, code, msg })]
    })
    expect([...new Set(found)].sort()).to.deep.equal([
      '{"level":20,"warning":"DeprecationWarning","code":"OLD1","msg":"old"}',
      '{"level":40,"warning":"OddWarning","msg":"odd"}',
    ])
    expect(await grove.stop()).to.equal(0)
  })

  it.deep('ends with one clear line if the port is taken', async () => {
    const grove = await startGrove({ dataDir })
    const port = new URL(grove.url).port
    const second = await run({ PORT: port, DATA_DIR: dataDir })
    expect(second).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `The port is in use: listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`,
    })
    await grove.close()
  })

  it.deep('ends with one clear line if the environment cannot be used', async () => {
    const { code, stdout, stderr } = await run({ PORT: 'http', RATE_LIMIT: 'maybe', DATA_DIR: dataDir })
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(/^The configuration is not valid: PORT: .*; RATE_LIMIT: .*\n$/)
  })

  for (const [HOST, said] of [
    ['192.0.2.1', '192.0.2.1 is not an address of this machine'],
    ['a..b', 'cannot resolve a..b'],
  ] as const) {
    for (const WORKERS of ['1', '2']) {
      it.deep(`ends with one line that names HOST if that is ${HOST}, with ${WORKERS} processes`, async () => {
        expect(await run({ HOST, WORKERS, PORT: '0', DATA_DIR: dataDir })).to.deep.equal({
          code: 1,
          stdout: '',
          stderr: `The configuration is not valid: HOST: ${said}\n`,
        })
      })
    }
  }

  it.deep('answers what is in flight when it is told to stop, takes nothing new, and exits 0', async () => {
    const grove = await spawnGrove(dataDir)
    const agent = new Agent({ keepAlive: true })
    const slow = await startedLogin(grove.url, agent)
    const stopped = grove.stop()
    await until(async () => (await refused(grove.url)) === 'ECONNREFUSED')
    expect(await finishLogin(slow)).to.equal(401)
    expect(await stopped).to.equal(0)
    agent.destroy()
  })

  it.deep('does not wait for connections that are only kept alive', async () => {
    const grove = await spawnGrove(dataDir)
    const { hostname, port } = new URL(grove.url)
    const idle = connect(Number(port), hostname)
    idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await new Promise((resolve) => idle.once('data', resolve))
    const ended = new Promise((resolve) => idle.resume().once('end', resolve))
    const agent = new Agent({ keepAlive: true })
    const slow = await startedLogin(grove.url, agent)
    const stopped = grove.stop()
    await ended
    // What is in flight is not cut yet: the other was closed for itself.
    expect(await finishLogin(slow)).to.equal(401)
    expect(await stopped).to.equal(0)
    idle.destroy()
    agent.destroy()
  })

  it.deep('gives up on senders that never end, and still exits 0', async () => {
    const grove = await spawnGrove(dataDir)
    const agent = new Agent({ keepAlive: true })
    const slow = await startedLogin(grove.url, agent)
    const broken = new Promise((resolve) => slow.once('error', resolve))
    expect(await grove.stop()).to.equal(0)
    await broken
    agent.destroy()
  })

  it.deep('keeps what it has acknowledged through a kill', async () => {
    const first = await spawnGrove(dataDir)
    const ann = await signUp(first, 'Ann')
    await first.kill()
    const second = await startGrove({ dataDir })
    const { status, body } = await client(second).post('/auth/login', { email: 'ann@example.org', password })
    expect({ status, user: body.user }).to.deep.equal({ status: 200, user: ann.user })
    expect((await client(second, ann.session.accessToken).get(`/orgs/${ann.org}`)).status).to.equal(200)
    await second.close()
  })

  const damages: [string, (file: string) => Promise<void>][] = [
    ['gone', (file) => rm(file)],
    ['empty', (file) => truncate(file, 0)],
    ['half there', async (file) => truncate(file, Math.floor((await stat(file)).size / 2))],
    ['no database', (file) => writeFile(file, 'x'.repeat(100_000))],
  ]
  for (const [title, damage] of damages) {
    it(`makes its index again if that is ${title}`, async () => {
      const first = await startGrove({ dataDir })
      const ann = await signUp(first, 'Ann')
      const node = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales', tags: ['sea'] })).body
      await first.close()
      await damage(join(dataDir, 'index.sqlite'))
      const second = await startGrove({ dataDir, logLevel: 'silent' })
      await untilReady(second)
      const again = client(second, ann.session.accessToken)
      expect((await again.get('/orgs')).body.orgs).to.have.length(1)
      expect((await again.get(`/orgs/${ann.org}/nodes?tag=sea`)).body.nodes[0].id).to.equal(node.id)
      expect(await again.get(`/orgs/${ann.org}/nodes/${node.id}`)).to.deep.equal({
        status: 200,
        body: JSON.parse(JSON.stringify(node).replaceAll(first.url, second.url)),
      })
      await second.close()
    })
  }

  it.deep('is one with a second process over the same folder', async () => {
    const left = await spawnGrove(dataDir)
    const right = await spawnGrove(dataDir)
    const people = await Promise.all(Array.from({ length: 12 }, (_, n) => signUp(n % 2 === 0 ? left : right, `P${n}`)))
    for (const { session, org } of people) {
      expect((await client(right, session.accessToken).get(`/orgs/${org}`)).status).to.equal(200)
      expect((await client(left, session.accessToken).get('/orgs')).body.total).to.equal(1)
    }
    await Promise.all([left.stop(), right.stop()])
  })
})

/** Runs `dist/main.js` to its end. */
function run(environment: Record<string, string>): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = endAfterFile(
    spawn(process.execPath, [...endsWithParent, 'dist/main.js'], { env: { ...process.env, ...environment } }),
  )
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...output })))
}

async function refused(url: string): Promise<unknown> {
  const error: unknown = await fetch(`${url}/healthz`).catch((failed: unknown) => failed)
  return error instanceof Error && error.cause instanceof Error && 'code' in error.cause ? error.cause.code : error
}
