/** Indexes that are built before the first search, and answers while one is built. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { retrieve } from '../../index/search/retrieve.ts'
import { prepareIndex } from '../../server/domain/search/open-indexes.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { randomOf } from '../support/random.ts'
import { metricsToken, parseScrape, sumOf } from '../support/scrapes.ts'
import { useWorld } from '../support/world.ts'
import { languageOf, type OverFiles, openOver } from './over-files.ts'
import { createSearchIndexIn, removeNode, type SearchIndex } from './rows-in-memory.ts'
import { setNotes } from './stored-notes.ts'

const many = 600

describe('an index that is being built', () => {
  let folder: string
  let rows: SearchIndex
  let open: OverFiles
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-prepared-'))
    rows = createSearchIndexIn(join(folder, 'index.sqlite'))
    setNotes(rows, randomOf(1), range(0, 10))
    open = openOver(join(folder, 'index.sqlite'), join(folder, 'search'))
  })
  after(async () => {
    rows.db.close()
    await rm(folder, { recursive: true, force: true })
  })

  const settings = { query: '*', top_k: 50, include_raw_text: false, expansion_depth: 'none' } as const
  const ask = async (isPatient: boolean) => {
    const found = await open.indexes.ask(
      'org',
      (index, all, unindexed) => ({ unindexed, ...retrieve(index, all, languageOf, 'org', settings) }),
      () => isPatient,
    )
    return {
      unindexed: found?.unindexed ?? -1,
      total: found?.total ?? 0,
      ids: found?.matches.map((one) => one.node_id),
    }
  }

  it('answers from what it has, without what is deleted', async () => {
    expect(await ask(true)).to.include({ unindexed: 0, total: 10 })
    setNotes(rows, randomOf(2), range(10, many))
    removeNode(rows, 'n3')
    const { unindexed, total, ids } = await ask(false)
    expect(unindexed).to.be.above(0)
    expect(total + unindexed, 'the rest').to.equal(many - 1)
    expect(ids).not.to.include('n3')
    expect(await ask(true)).to.include({ unindexed: 0, total: many - 1 })
  })

  it.deep('is built in turns, and another process reads its files', async () => {
    setNotes(rows, randomOf(3), range(many, many + 150))
    const maker = openOver(join(folder, 'index.sqlite'), join(folder, 'prepared'))
    while (await prepareIndex(maker.indexes, 'org', async () => {}));
    const reader = openOver(join(folder, 'index.sqlite'), join(folder, 'prepared'))
    expect(await reader.ask([settings])).to.deep.equal(await open.ask([settings]))
    expect(reader.indexed()).to.be.below(100)
    expect([...maker.reports, ...reader.reports]).to.deep.equal([])
  })
})

describe('a service', () => {
  let dataDir: string
  let grove: Grove
  before(async () => {
    dataDir = await newDataDir()
    grove = await startGrove({ dataDir, metricsToken })
  })
  after(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const readByQueries = async () => {
    const headers = { authorization: `Bearer ${metricsToken}` }
    const metrics = parseScrape(await (await fetch(`${grove.url}/metrics`, { headers })).text())
    return sumOf(metrics, 'grove_search_rows_total', { occasion: 'query' })
  }
  const find = async (who: Client, org: string) => {
    const { body } = await who.post(`/orgs/${org}/search/retrieve`, { query: 'quokka' }).then(expecting(200))
    return body.total
  }

  it.deep('builds indexes after many new nodes and after a start, before anyone searches', async () => {
    const ann = await signUp(grove, 'Ann')
    const nodes = Array.from({ length: 120 }, (_, n) => ({ title: `Node ${n}`, text_content: 'A quokka.' }))
    await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    await grove.settled()
    expect([await find(ann, ann.org), await readByQueries()], 'after new nodes').to.deep.equal([120, 0])
    await grove.close()
    await rm(join(dataDir, 'search'), { recursive: true })
    grove = await startGrove({ dataDir, metricsToken })
    await grove.settled()
    expect(await readdir(join(dataDir, 'search'))).to.deep.equal([ann.org])
    expect([await find(client(grove, ann.session.accessToken), ann.org), await readByQueries()]).to.deep.equal([120, 0])
  })
})

describe('a first search', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { searchWaitMs: 1_000 })

  it.deep('says over REST, on the page and to models that the index is being built', async () => {
    const words = Array.from({ length: 20_000 }, (_, n) => `word${n % 977}`).join(' ')
    for (let batch = 0; batch < 6; batch++) {
      const nodes = Array.from({ length: 15 }, (_, n) => ({ title: `Long ${batch} ${n}`, text_content: words }))
      await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    }
    const token = (await ann.post('/auth/tokens', { name: 'Model', access: 'read' }).then(expecting(201))).body.token
    const call = { name: 'search', arguments: { org_id: ann.org, query: 'word7' } }
    const [{ body }, page, told, { body: titles }] = await Promise.all([
      ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'word7' }).then(expecting(200)),
      readPage(ann, `${pageAt(ann.org)}/find?q=word7`),
      askModel(token, call),
      ann.get(`/orgs/${ann.org}/suggest?q=long`).then(expecting(200)),
    ])
    expect(body.unindexed_nodes).to.be.within(1, 90)
    expect(body.total_is_exact).to.equal(false)
    expect(titles.unindexed_nodes).to.be.within(1, 90)
    expect(page.body).to.match(/The search index is being built: \d+ pages? left\. Search again in a moment\./)
    expect(told).to.match(/The index is being built: \d+ nodes were not searched yet\. Search again later\./)
    await grove.settled()
    const { body: whole } = await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'word7' }).then(expecting(200))
    expect(whole).to.include({ total: 90, total_is_exact: true })
    expect(whole).not.to.have.property('unindexed_nodes')
  })

  async function askModel(token: string, params: object): Promise<string> {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    return (await fetch(`${grove.url}/mcp`, { method: 'POST', headers, body })).text()
  }
})

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n)
}
