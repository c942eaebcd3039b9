/** Changes that the search thread indexes ahead of queries: which, when, and that no answer differs. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Ahead, openAhead } from '../../server/domain/search/ahead.ts'
import { openSearchThread } from '../../server/domain/search/search-thread.ts'
import { type HeldTimers, holdTimers } from '../support/held-timers.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { metricsToken, parseScrape, type Scrape, sumOf } from '../support/scrapes.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { openOver } from './over-files.ts'
import { addOrg, createSearchIndexIn, removeNode, type SearchIndex } from './rows-in-memory.ts'
import { answersAnew, questionsOf, setNotes } from './stored-notes.ts'

const today = '2026-12-01'

describe('a search thread between the queries', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { metricsToken })
  let at: string
  before(() => {
    at = `/orgs/${ann.org}`
  })

  const scrape = async (): Promise<Scrape> => {
    const headers = { authorization: `Bearer ${metricsToken}` }
    return parseScrape(await (await fetch(`${grove.url}/metrics`, { headers })).text())
  }
  const rowsBy = (metrics: Scrape, occasion: 'query' | 'ahead') =>
    sumOf(metrics, 'grove_search_rows_total', { occasion })
  const create = (title: string, size: string) =>
    ann.post(`${at}/nodes`, { title, properties: { size } }).then(expecting(201))
  const find = async (query: string): Promise<string[]> => {
    const { body } = await ann.post(`${at}/search/retrieve`, { query, top_k: 50 }).then(expecting(200))
    return body.matches.map(({ node_id }: { node_id: string }) => node_id).sort()
  }
  const list = async (where: string): Promise<string[]> => {
    const { body } = await ann.get(`${at}/nodes?where=${encodeURIComponent(where)}&limit=200`).then(expecting(200))
    return body.nodes.map(({ id }: { id: string }) => id).sort()
  }

  it('indexes nothing of an organisation that nobody has searched', async () => {
    const bea = await signUp(grove, 'Bea')
    await bea.post(`/orgs/${bea.org}/nodes`, { title: 'A zebra' }).then(expecting(201))
    const before = await scrape()
    await create('A zebra', 'large')
    expect(await find('zebra')).to.have.length(1)
    await create('A second zebra', 'large')
    await until(async () => rowsBy(await scrape(), 'ahead') > rowsBy(before, 'ahead'))
    expect(sumOf(await scrape(), 'grove_search_index_documents'), 'those of Ann').to.equal(2)
  })

  it('indexes changes, so that the next queries read none', async () => {
    await list('size:large')
    const before = await scrape()
    const items = Array.from({ length: 120 }, (_, n) => ({ title: `Okapi ${n}`, properties: { size: 'small' } }))
    await ann.post(`${at}/nodes/batch`, { nodes: items }).then(expecting(201))
    const { id } = (await create('A giraffe', 'small')).body
    // Each node is read twice: into the index, and into the table of properties.
    await until(async () => {
      const metrics = await scrape()
      const isIndexed = sumOf(metrics, 'grove_search_index_documents') === 2 + 121
      return isIndexed && rowsBy(metrics, 'ahead') >= rowsBy(before, 'ahead') + 2 * 121
    })
    expect(await find('giraffe')).to.deep.equal([id])
    expect(await list('size:small')).to.have.length(121)
    expect(rowsBy(await scrape(), 'query'), 'after two queries').to.equal(rowsBy(before, 'query'))
  })

  it.deep('answers beside writers as a thread that opens everything anew', async () => {
    const write = async (writer: number) => {
      for (let round = 0; round < 12; round++) {
        const word = `gnu${writer}x${round}`
        const { id } = (await create(word, word)).body
        expect([await find(word), await list(`size:${word}`)], 'created').to.deep.equal([[id], [id]])
        const renamed = { title: `ibex${writer}x${round}`, properties: { size: 'ibex' } }
        await ann.patch(`${at}/nodes/${id}`, renamed).then(expecting(200))
        expect(await list(`size:${word}`), 'changed').to.deep.equal([])
        expect(await list('size:ibex')).to.include(id)
        if (round % 3 !== 0) continue
        await ann.delete(`${at}/nodes/${id}`).then(expecting(204))
        expect(await list('size:ibex'), 'deleted').not.to.include(id)
      }
    }
    await Promise.all([0, 1, 2, 3].map(write))
    const folder = await mkdtemp(join(tmpdir(), 'grove-anew-'))
    const files = {
      file: join(grove.dataDir, 'index.sqlite'),
      vectorsFile: join(folder, 'vectors.sqlite'),
      folder,
      memoryBytes: 2 ** 26,
    }
    const fail = (error: unknown) => expect.fail(String(error))
    const anew = openSearchThread(files, { warned: fail, died: fail })
    for (const query of ['zebra', 'okapi', 'ibex1x1', 'ibex2x3', 'gnu0x0']) {
      const settings = { top_k: 50, include_raw_text: false, expansion_depth: 'none', today } as const
      const found = await anew.ask(ann.org, { query, ...settings })
      expect(await find(query), query).to.deep.equal(found?.matches.map(({ node_id }) => node_id).sort())
    }
    const where = { property: 'size', op: 'eq', value: 'ibex' } as const
    expect(await list('size:ibex')).to.deep.equal([...((await anew.matching(ann.org, where)) ?? [])].sort())
    await anew.close()
    await rm(folder, { recursive: true, force: true })
  })
})

describe('indexes that read ahead', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-ahead-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it.deep('answer as an index that is made anew, whatever is written, read ahead and asked in any order', async () => {
    const random = randomOf(7)
    const questions = questionsOf(random, 3)
    const numbers = fc.array(fc.nat(400), { minLength: 1, maxLength: 60 })
    const steps = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), numbers }),
      fc.record({ kind: fc.constant('remove' as const), numbers }),
      fc.constant({ kind: 'ahead' as const }),
      fc.constant({ kind: 'ask' as const }),
    )
    let run = 0
    const property = fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), async (all) => {
      const at = join(folder, `${++run}`)
      const rows = createSearchIndexIn(`${at}.sqlite`)
      const { indexes, ask, reports } = openOver(`${at}.sqlite`, at)
      const expectSame = async () => expect(await ask(questions)).to.deep.equal(answersAnew(rows, questions))
      for (const step of all) {
        if (step.kind === 'set') setNotes(rows, random, step.numbers)
        else if (step.kind === 'remove') for (const n of step.numbers) removeNode(rows, `n${n}`)
        else if (step.kind === 'ask') await expectSame()
        else await Promise.all([indexes.advance('org'), ...(step === all[0] ? [] : [expectSame()])])
      }
      await expectSame()
      expect(indexes.stateOf('org')).to.deep.equal(rows.rows.orgState('org'))
      expect(await indexes.advance('org'), 'nothing is left').to.equal(false)
      expect(reports).to.deep.equal([])
      rows.db.close()
    })
    await fc.assert(property, { numRuns: 15, seed: 11 })
  })

  it('stay within the memory, and keep those that were asked last', async () => {
    const room = 2 ** 20
    const file = join(folder, 'memory.sqlite')
    const { db } = createSearchIndexIn(file)
    const orgs = Array.from({ length: 12 }, (_, n) => `org${n}`)
    const rows = new Map<string, SearchIndex>()
    const open = openOver(file, join(folder, 'memory'), room)
    const questions = questionsOf(randomOf(1), 1)
    for (const [n, orgId] of orgs.entries()) {
      const one = addOrg(db, orgId)
      rows.set(orgId, one)
      setNotes(one, randomOf(n), range(n * 10_000, 20))
      await open.ask(questions, orgId)
    }
    for (const [n, orgId] of orgs.slice(0, -1).entries()) {
      const one = rows.get(orgId)
      if (one) setNotes(one, randomOf(n), range(n * 10_000, 500))
      while (await open.indexes.advance(orgId));
      expect(open.indexes.gauges().bytes, orgId).to.be.at.most(room)
    }
    const isOpen = orgs.map((orgId) => open.indexes.stateOf(orgId) !== undefined)
    expect(isOpen.at(-1), 'the one that was asked last').to.equal(true)
    expect(isOpen, 'others were dropped').to.include(false)
    db.close()
  })
})

describe('reading ahead', () => {
  const ms = { look: 50, follow: 600_000 }
  let now: number
  let version: number
  let held: number
  let looks: number
  let slices: number
  let ahead: Ahead
  let timers: HeldTimers
  beforeEach(() => {
    timers = holdTimers()
    now = version = held = looks = slices = 0
    ahead = openAhead({
      readers: [
        {
          stateOf: (orgId) => (orgId === 'open' ? { epoch: 'epoch', version: held } : undefined),
          advance: async () => {
            slices++
            held = Math.min(version, held + 40)
            return held < version
          },
        },
      ],
      readStates: (orgIds) => {
        looks++
        return new Map(orgIds.map((orgId) => [orgId, { epoch: 'epoch', version }]))
      },
      advanced: () => {},
      now: () => now,
    })
  })
  afterEach(() => timers.release())

  const pass = async (duration: number) => {
    for (const end = now + duration; now < end; ) {
      now += ms.look
      timers.tick(ms.look)
      for (let turn = 0; turn < 5; turn++) await nextTurn()
    }
  }
  /** Waits for the look itself, since what is judged is what it did. */
  const passOneLook = async () => {
    const before = looks
    await pass(ms.look)
    await until(() => looks > before)
    expect(looks).to.equal(before + 1)
  }
  const ask = (orgId: string) => ahead.during(orgId, async () => {})

  it('waits for a pause in the changes, or for 10 of them', async () => {
    await ask('open')
    await passOneLook()
    for (let n = 0; n < 9; n++) {
      version++
      await passOneLook()
      expect(held).to.equal(0)
    }
    await passOneLook()
    expect([held, slices], 'after a pause').to.deep.equal([9, 1])
    version += 10
    await passOneLook()
    expect([held, slices], 'at once').to.deep.equal([19, 2])
    version += 100
    await passOneLook()
    await until(() => held === version)
    expect([held, slices], 'in slices').to.deep.equal([119, 5])
  })

  it('does nothing while a query runs', async () => {
    await ask('open')
    await pass(400)
    const before = looks
    let end = () => {}
    const query = ahead.during('open', () => new Promise<void>((resolve) => (end = resolve)))
    version += 1_000
    await pass(2_000)
    expect([looks, slices]).to.deep.equal([before, 0])
    end()
    await query
    await pass(200)
    await until(() => held === 1_000)
  })

  it('stops between two slices when a query comes', async () => {
    await ask('open')
    await pass(400)
    version += 1_000
    now += ms.look
    timers.tick(ms.look)
    expect(slices, 'the first slice').to.equal(1)
    let end = () => {}
    const query = ahead.during('open', () => new Promise<void>((resolve) => (end = resolve)))
    await pass(2_000)
    expect(slices, 'while the query runs').to.equal(1)
    end()
    await query
  })

  it.deep(
    'asks the database nothing if no organisation is in memory, or after ten minutes without a query',
    async () => {
      await ask('other')
      await pass(2_000)
      expect(looks).to.equal(0)
      await ask('open')
      await pass(ms.follow)
      expect(looks).to.be.above(1_000)
      await pass(ms.look)
      expect(ahead.followed()).to.equal(0)
      const before = looks
      version += 1_000
      await pass(ms.follow)
      expect([looks, slices], 'without a timer').to.deep.equal([before, 0])
      await ask('open')
      await pass(200)
      await until(() => held === 1_000)
    },
  )

  it('follows the 500 organisations with the latest queries', async () => {
    for (let n = 0; n < 520; n++) await ask(`org${n}`)
    expect(ahead.followed()).to.equal(500)
  })
})

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, n) => from + n)
}
