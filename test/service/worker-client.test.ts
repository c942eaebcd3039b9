/** The client of a worker thread: requests and answers, errors, ends of the thread, and what keeps the process alive. */
import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { build } from 'esbuild'
import { WorkerClient, type WorkerOptions } from '../../server/domain/worker-client.ts'
import { until } from '../support/until.ts'
import type { TestCalls } from './called-worker.ts'

describe('the client of a worker thread', () => {
  let folder: string
  let bundle: URL
  /** The threads that the test started. */
  const threads: Worker[] = []
  const started = (worker: Worker) => threads.push(worker)
  const clients: WorkerClient<TestCalls, string>[] = []
  /** Keys that wait in the worker, in the order of their arrival. */
  const held: string[] = []
  /** Causes of the ends of threads. */
  const ends: (string | undefined)[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-worker-'))
    const outfile = join(folder, 'worker.mjs')
    const entryPoints = ['test/service/called-worker.ts']
    await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' })
    bundle = pathToFileURL(outfile)
    process.on('worker', started)
  })
  beforeEach(() => {
    for (const list of [threads, held, ends]) list.length = 0
  })
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())))
  after(async () => {
    process.off('worker', started)
    await rm(folder, { recursive: true, force: true })
  })

  const open = (options: Partial<WorkerOptions<string>> = {}) => {
    const client = new WorkerClient<TestCalls, string>({
      name: 'The test thread',
      bundle,
      failure: 'The call failed',
      noticed: (key) => held.push(key),
      ended: (cause) => ends.push(cause?.message),
      ...options,
    })
    clients.push(client)
    return client
  }
  const restartPausesMs = { shortest: 1, longest: 4 }

  it('starts the thread with the first request, and takes answers in any order', async () => {
    const client = open()
    expect(threads).to.have.length(0)
    const order: string[] = []
    const asked = ['a', 'b', 'c'].map((key) => client.ask('hold', key).then((answer) => order.push(answer)))
    await until(() => held.length === 3)
    for (const key of ['c', 'a', 'b']) await client.ask('release', key)
    await Promise.all(asked)
    expect(order).to.deep.equal(['c', 'a', 'b'])
    expect(threads).to.have.length(1)
  })

  it('is given what the worker moves, without a copy', async () => {
    const client = open()
    expect(await client.ask('bytes', 1_000)).to.have.length(1_000)
    expect(await client.ask('bytesLeft', undefined)).to.equal(0)
  })

  it('throws a fault of a database as such, any other error with its text, and continues', async () => {
    const client = open()
    expect(await errorOf(client.ask('fail', 'fault'))).to.include({
      name: 'DatabaseError',
      code: 'damaged',
      message: 'The database is damaged',
    })
    const error = await errorOf(client.ask('fail', 'error'))
    expect(error).to.have.property('name', 'Error')
    expect(error.message).to.match(/^The call failed: TypeError: The input is odd\n +at /)
    expect(threads).to.have.length(1)
  })

  it('gives up an answer on abort, and no other', async () => {
    const client = open()
    const early = AbortSignal.abort(new Error('too late'))
    expect((await errorOf(client.ask('hold', 'none', early))).message).to.equal('too late')
    expect(threads, 'nothing was sent').to.have.length(0)

    const controller = new AbortController()
    const given = errorOf(client.ask('hold', 'given up', controller.signal))
    const other = client.ask('hold', 'other', controller.signal)
    const kept = client.ask('hold', 'kept')
    await until(() => held.length === 3)
    await client.ask('release', 'other')
    expect(await other).to.equal('other')
    controller.abort(new Error('given up'))
    expect((await given).message).to.equal('given up')
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0)
    // The answer that nobody waits for.
    await client.ask('release', 'given up')
    await client.ask('release', 'kept')
    expect(await kept).to.equal('kept')
  })

  it('fails all that waits when the thread ends, and starts another with the next request', async () => {
    const client = open()
    const waiting = ['a', 'b'].map((key) => errorOf(client.ask('hold', key)))
    await until(() => held.length === 2)
    const dead = [...waiting, errorOf(client.ask('exit', 3))]
    for (const { message } of await Promise.all(dead)) expect(message).to.equal('The test thread ended with code 3')
    expect(await client.ask('bytes', 1)).to.have.length(1)
    expect(threads).to.have.length(2)
    expect((await errorOf(client.ask('crash', 'a bug'))).message).to.equal('The test thread ended with code 1')
    expect(ends).to.deep.equal(['The test thread ended', 'a bug'])
  })

  it('sends what waits to a new thread if it is to restart, once', async () => {
    const client = open({ restartPausesMs, lost: (reason) => new RangeError(reason) })
    const waiting = ['a', 'b'].map((key) => client.ask('hold', key))
    await until(() => held.length === 2)
    await threads[0]?.terminate()
    const during = client.ask('bytes', 1)
    await until(() => held.length === 4)
    for (const key of ['a', 'b']) await client.ask('release', key)
    expect(await Promise.all(waiting)).to.deep.equal(['a', 'b'])
    expect(await during).to.have.length(1)
    expect(threads).to.have.length(2)

    const error = await errorOf(client.ask('exit', 3))
    expect(error).to.be.instanceOf(RangeError)
    expect(error.message).to.equal('The test thread ended with code 3')
    expect(threads, 'one that the last call ended').to.have.length(3)
    expect(await client.ask('bytes', 1)).to.have.length(1)
    expect(ends).to.deep.equal(Array(3).fill('The test thread ended'))
  })

  it('ends a thread that does not answer in time', async () => {
    const client = open({ timeoutMs: 200 })
    const error = await errorOf(client.ask('hold', 'a'))
    // A thread that is ended while it starts has code 0.
    expect(error.message).to.match(/^The test thread ended with code [01]$/)
    expect(ends).to.deep.equal(['The test thread ended'])
  })

  it('ends an idle thread, not one that is asked, and starts another with the next request', async () => {
    const client = open({ idleMs: 20 })
    const waiting = client.ask('hold', 'a')
    await until(() => held.length === 1)
    await client.ask('bytes', 1)
    // Longer than the idle time, which a thread that is asked must outlive.
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(ends, 'while a request waits').to.deep.equal([])
    await client.ask('release', 'a')
    await waiting
    await until(() => ends.length === 1)
    expect(ends).to.deep.equal([undefined])
    expect(await client.ask('bytes', 1)).to.have.length(1)
    expect(threads).to.have.length(2)
  })

  it('refuses what waits and what comes once it is closed', async () => {
    const client = open({ restartPausesMs })
    const waiting = errorOf(client.ask('hold', 'a'))
    await until(() => held.length === 1)
    await client.close()
    expect((await waiting).message).to.equal('The test thread is closed')
    expect((await errorOf(client.ask('bytes', 1))).message).to.equal('The test thread is closed')
    expect(ends).to.deep.equal([undefined])
    expect(threads).to.have.length(1)
  })

  it('keeps the process alive until the answer, and no longer', async () => {
    const script = `
      import { WorkerClient } from './server/domain/worker-client.ts'
      const bundle = new URL(${JSON.stringify(bundle)})
      const client = new WorkerClient({ name: 'The thread', bundle, failure: 'It failed', idleMs: 3_600_000 })
      client.ask('bytes', 3).then(({ length }) => console.log(length))`
    const options = ['--import', 'tsx', '--input-type=module', '-e', script]
    expect((await promisify(execFile)(process.execPath, options)).stdout).to.equal('3\n')
  })
})

/** @throws AssertionError if there is none */
async function errorOf(asked: Promise<unknown>): Promise<Error> {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).to.be.instanceOf(Error)
  return error as Error // as just asserted
}
