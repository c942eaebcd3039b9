/** The search thread of a process: what it sees of commits, its death, the index made again beside it, what it keeps. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { openSearchThread, type SearchThread } from '../../server/domain/search/search-thread.ts'
import { grove as command } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { metricsToken, parseScrape } from '../support/scrapes.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { openOver } from './over-files.ts'
import { addOrg, createSearchIndexIn } from './rows-in-memory.ts'
import { answersAnew, questionsOf, setNotes } from './stored-notes.ts'

const question = {
  ...{ query: 'zebra', top_k: 10, include_raw_text: false, today: '2026-12-01' },
  expansion_depth: 'none',
} as const
/** Each question by a connection of its own, so that another worker may take it. */
const close = { connection: 'close' }

async function find({ post, org }: PersonClient, query: string): Promise<string[]> {
  const { status, body } = await post(`/orgs/${org}/search/retrieve`, { query }, close)
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.matches.map(({ node_id }: { node_id: string }) => node_id).sort()
}

describe('the search threads of two workers', () => {
  it.deep(
    'find a commit with the next question, lose a deleted node with the next, and open an index each',
    async () => {
      const dataDir = await newDataDir()
      const grove = await spawnGrove(dataDir, { WORKERS: '2', METRICS_TOKEN: metricsToken })
      const ann = await signUp(grove, 'Ann')
      const at = `/orgs/${ann.org}/nodes`
      const first = (await ann.post(at, { title: 'A zebra' }, close)).body.id
      const isEveryWorkers = async () => {
        await find(ann, 'zebra')
        const response = await fetch(`${grove.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
        const samples = parseScrape(await response.text()).get('grove_search_index_documents') ?? []
        return samples.filter(({ value }) => value > 0).length === 2
      }
      await until(isEveryWorkers)
      for (let round = 0; round < 3; round++) {
        const { id } = (await ann.post(at, { title: `Zebra ${round}` }, close)).body
        for (let n = 0; n < 4; n++) expect(await find(ann, 'zebra')).to.deep.equal([first, id].sort())
        expect((await ann.patch(`${at}/${id}`, { title: 'An okapi' }, close)).status).to.equal(200)
        for (let n = 0; n < 2; n++) expect(await find(ann, 'zebra')).to.deep.equal([first])
        for (let n = 0; n < 2; n++) expect(await find(ann, 'okapi')).to.deep.equal([id])
        expect((await ann.delete(`${at}/${id}`, close)).status).to.equal(204)
        for (let n = 0; n < 4; n++) expect(await find(ann, 'zebra okapi')).to.deep.equal([first])
      }
      expect(await grove.stop()).to.equal(0)
      await rm(dataDir, { recursive: true, force: true })
    },
  )
})

describe('a search thread', () => {
  /** Threads that are still to die as soon as they have started. */
  let deaths = 0
  const threads: Worker[] = []
  const kill = (worker: Worker) => {
    threads.push(worker)
    if (deaths-- > 0) void worker.terminate()
  }
  after(() => {
    process.off('worker', kill)
  })
  const { grove, ann } = useWorld({ ann: 'owner' }, async () => {
    process.on('worker', kill)
    return { logLevel: 'error' }
  })
  before(async () => {
    expect((await ann.post(`/orgs/${ann.org}/nodes`, { title: 'A zebra' })).status).to.equal(201)
  })

  it('that dies is started anew and answers what it was asked', async () => {
    deaths = 1
    expect(await find(ann, 'zebra')).to.have.length(1)
    expect(threads).to.have.length(2)
    expect(died()).to.equal(1)
  })

  it('that dies between two questions is started anew by the next', async () => {
    await threads.at(-1)?.terminate()
    expect(await find(ann, 'zebra')).to.have.length(1)
    expect(died()).to.equal(2)
  })

  it('that dies twice over a question answers 503 search_unavailable, and later ones again', async () => {
    await threads.at(-1)?.terminate()
    threads.length = 0
    deaths = 2
    const { status, body, headers } = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'zebra' })
    expect([status, body.code]).to.deep.equal([503, 'search_unavailable'])
    expect(headers['retry-after']).to.match(/^\d+$/)
    expect(threads).to.have.length(2)
    const answers = await Promise.all(Array.from({ length: 5 }, () => find(ann, 'zebra')))
    for (const found of answers) expect(found).to.have.length(1)
    expect(threads).to.have.length(3)
  })

  it.deep('follows an index that is made again beside the service', async () => {
    const before = await find(ann, 'zebra')
    for (let round = 0; round < 2; round++) {
      expect((await command(grove.dataDir, 'reindex')).code).to.equal(0)
      expect(await find(ann, 'zebra')).to.deep.equal(before)
      const { id } = (await ann.post(`/orgs/${ann.org}/nodes`, { title: `Okapi ${round}` })).body
      expect(await find(ann, 'okapi')).to.include(id)
    }
  })

  it('that is closed refuses what it was asked and what it is asked, and starts no more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grove-thread-'))
    const rows = createSearchIndexIn(join(folder, 'index.sqlite'))
    const options = {
      file: join(folder, 'index.sqlite'),
      vectorsFile: join(folder, 'vectors.sqlite'),
      folder: join(folder, 'search'),
      memoryBytes: 2 ** 24,
    }
    const open = (died: () => void) => openSearchThread(options, { warned: () => {}, died })
    const codeOf = (asked: ReturnType<SearchThread['ask']>) =>
      asked.then(
        () => 'answered',
        ({ code }) => code,
      )
    const thread = open(() => {})
    expect(await codeOf(thread.ask('org', question))).to.equal('answered')
    const asked = codeOf(thread.ask('org', question))
    await thread.close()
    // The answer may have come first.
    expect(await asked).to.be.oneOf(['search_unavailable', 'answered'])
    expect(await codeOf(thread.ask('org', question))).to.equal('search_unavailable')

    threads.length = 0
    deaths = 1
    let pausing: SearchThread | undefined
    const closed = new Promise<void>((resolve) => {
      pausing = open(() => setImmediate(() => resolve(pausing?.close())))
    })
    const unanswered = codeOf(pausing?.ask('org', question) ?? Promise.reject(new Error('There is no thread')))
    await closed
    expect(await unanswered).to.equal('search_unavailable')
    expect(threads).to.have.length(1)
    rows.db.close()
    await rm(folder, { recursive: true, force: true })
  })

  const died = () => grove.logged().split('the search thread died').length - 1
})

describe('the memory of all indexes', () => {
  const orgs = Array.from({ length: 40 }, (_, n) => `org${n}`)
  const questions = questionsOf(randomOf(1), 1)
  const room = 2 ** 20
  let folder: string
  let answers: Record<string, string[]>
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-memory-'))
    const { db } = createSearchIndexIn(join(folder, 'index.sqlite'))
    answers = {}
    for (const [n, orgId] of ['large', ...orgs].entries()) {
      const rows = addOrg(db, orgId)
      const first = n * 10_000
      setNotes(
        rows,
        randomOf(n),
        Array.from({ length: orgId === 'large' ? 2_900 : 200 }, (_, i) => first + i),
      )
      answers[orgId] = answersAnew(rows, questions)
    }
    db.close()
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it.deep('stays within its bound, but for one index that is larger alone, whatever is asked', async () => {
    const open = openOver(join(folder, 'index.sqlite'), join(folder, 'search'), room)
    const random = randomOf(5)
    let most = 0
    for (const orgId of [...orgs, ...random.shuffled(orgs), 'large', ...orgs.slice(0, 5)]) {
      expect(await open.ask(questions, orgId), orgId).to.deep.equal(answers[orgId])
      const { bytes, documents } = open.indexes.gauges()
      if (orgId === 'large') {
        expect(bytes).to.be.above(room)
        expect(documents, 'those of the one alone').to.equal(2_900)
      } else expect(bytes).to.be.at.most(room)
      most = Math.max(most, documents)
    }
    expect(most, 'several at once').to.be.at.least(400)
    const before = open.indexes.gauges().opened
    await open.ask(questions, orgs[4])
    expect(open.indexes.gauges().opened, 'the one that was used last is kept').to.equal(before)
  })

  it.deep('is within its bound again after questions of all organisations at once', async () => {
    const open = openOver(join(folder, 'index.sqlite'), join(folder, 'search'), room)
    const found = await Promise.all(orgs.map((orgId) => open.ask(questions, orgId)))
    expect(found).to.deep.equal(orgs.map((orgId) => answers[orgId]))
    expect(open.indexes.gauges().bytes).to.be.at.most(room)
  })
})
