/**
 * Measures the search over 1,000 to 100,000 nodes, next to MiniSearch and SQLite's FTS5. Also measures dense graphs,
 * and the search thread.
 */
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { ExpansionDepth } from '../../index/search/ranking/ranking.ts'
import { type Retrieved, retrieve } from '../../index/search/retrieve.ts'
import { openSnapshots } from '../../index/search/segments/read-snapshots.ts'
import { loadLanguages } from '../../index/search/text/languages.ts'
import { openIndexes } from '../../server/domain/search/open-indexes.ts'
import { openSearchThread } from '../../server/domain/search/search-thread.ts'
import { interleave, rowOf, timeOf, turns } from './measure.ts'
import type { Report, Row } from './report.ts'
import {
  createIndexFile,
  fillOrg,
  type Link,
  linksOf,
  openChanges,
  type Place,
  questionsFor,
  type Text,
  textsOf,
} from './search-data.ts'
import { benchMemory } from './search-memory.ts'
import { openFts, openMiniSearch } from './search-peers.ts'
import { benchHanTitles, benchTitles } from './suggestions.ts'

const sizes = [1_000, 10_000, 100_000]
const largest = 100_000
const memoryBytes = 2 ** 30
const questionCount = 200
const languageOf = await loadLanguages()

export async function benchSearch(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-search-'))
  try {
    for (const size of sizes) await benchSize(report, folder, size)
    await benchHanTitles(report, { file: join(folder, 'han.sqlite'), folder: join(folder, 'han'), orgId: 'han' })
    await benchDense(report, folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function benchSize(report: Report, root: string, size: number): Promise<void> {
  const place = { file: join(root, `${size}.sqlite`), folder: join(root, `${size}`), orgId: 'org' }
  const texts = [...textsOf(size)]
  const ids = texts.map(({ id }) => id)
  await createIndexFile(place.file)
  fillOrg(place.file, place.orgId, texts, linksOf(ids, 3))
  const [first = ''] = questionsFor(texts, 1)
  if (size === largest) await benchThread(report, place, first)
  await benchLoad(report, place, size, first)
  if (size === largest) await benchMemory(report, [place.file, place.folder, place.orgId], first)
  await benchQuestions(report, place, texts)
  if (size === largest) await benchTitles(report, place, texts)
  await benchChanges(report, place, ids)
}

/**
 * Two kinds of queries. One has stop words, as users write, which Grove drops. The other has none, which is harder for
 * Grove.
 */
const kinds = [
  ['phrase', 'consecutive words'],
  ['words', 'words without stop words'],
] as const

type Ask = (query: string, expansion_depth: ExpansionDepth) => Promise<Retrieved>

/** Answers queries in this thread, as the search thread does. */
function openAsker({ file, folder, orgId }: Place) {
  const indexes = openIndexes(openSnapshots(file), folder, memoryBytes, languageOf, (error) => console.error(error))
  const ask: Ask = async (query, expansion_depth) => {
    const question = { query, top_k: 10, expansion_depth, include_raw_text: false, today: '2026-12-01' }
    const found = await indexes.ask(orgId, (index, rows) => retrieve(index, rows, languageOf, orgId, question))
    if (!found) throw new Error('The organisation is missing')
    return found
  }
  return { ask, gauges: indexes.gauges }
}

/** Measures a build from the rows, then a load of the files that it wrote. */
async function benchLoad(report: Report, place: Place, size: number, query: string): Promise<void> {
  const nodes = nodesOf(size)
  const built = openAsker(place)
  const buildMs = await timeOf(() => built.ask(query, 'none'))
  const bytes = await settledBytes(join(place.folder, place.orgId))
  const loads: number[] = []
  for (let n = 0; n < 5; n++) {
    const loaded = openAsker(place)
    loads.push(await timeOf(() => loaded.ask(query, 'none')))
  }
  const load = rowOf('', loads).p50
  const { bytes: memory, documents } = built.gauges()
  report.say(
    `\n${nodes}: built in ${(buildMs / 1_000).toFixed(2)} s, loaded in ${load.toFixed(1)} ms; ${Math.round(memory / documents)} B a node in memory, ${Math.round(bytes / size)} B on disk`,
  )
  if (size !== largest) return
  const wanted = { atMost: 1 }
  report.ratio({
    what: `load, ${nodes}`,
    unit: 'ms',
    grove: load,
    peer: 'a rebuild',
    of: buildMs,
    wanted: { atMost: 1 / 200 },
  })
  report.ratio({ what: `load, ${nodes}`, unit: 'ms', grove: load, peer: 'the limit', of: 500, wanted })
  report.ratio({ what: 'memory of a node', unit: 'B', grove: memory / documents, peer: 'the limit', of: 450, wanted })
}

/** Bytes of the files after merges have ended. A merge replaces several files with one longer file. */
async function settledBytes(folder: string): Promise<number> {
  let known = ''
  for (;;) {
    const names = (await readdir(folder).catch(() => [])).sort()
    if (names.join() === known) {
      const stats = await Promise.all(names.map((name) => stat(join(folder, name))))
      return stats.reduce((sum, { size }) => sum + size, 0)
    }
    known = names.join()
    await sleep(1_500)
  }
}

async function benchQuestions(report: Report, place: Place, texts: readonly Text[]): Promise<void> {
  const nodes = nodesOf(texts.length)
  const { ask } = openAsker(place)
  const mini = openMiniSearch(texts)
  const fts = openFts(texts)
  for (const [kind, name] of kinds) {
    const questions = questionsFor(texts, questionCount, kind)
    const [ours, minis, ftss] = [turns(questions), turns(questions), turns(questions)]
    const rows = await interleave(questionCount, [
      ['Grove, none', () => ask(ours(), 'none')],
      ['MiniSearch.search()', async () => mini(minis())],
      ['FTS5', async () => fts(ftss())],
    ])
    report.rows(`${questionCount} queries of 2 to 8 ${name}, ${nodes}`, 'ms', rows)
    for (const [at, peer, least] of [
      [1, 'MiniSearch.search()', 25],
      [2, 'FTS5', 15],
    ] as const) {
      const wanted = texts.length === largest && kind === 'phrase' ? { wanted: { atMost: 1 / least } } : {}
      const what = `a query of ${name}, p50, ${nodes}`
      report.ratio({ what, unit: 'ms', grove: rows[0]?.p50, peer, of: rows[at]?.p50, ...wanted })
    }
  }
  const [plain, deep] = await askBoth(ask, questionsFor(texts, questionCount))
  report.rows(`expansion, ${nodes}`, 'ms', [plain, deep])
  report.ratio({ what: `deep, p50, ${nodes}`, unit: 'ms', grove: deep.p50, peer: 'none', of: plain.p50 })
}

/** Measures `none` and `deep` in turn. */
async function askBoth(ask: Ask, questions: readonly string[]): Promise<readonly [Row, Row]> {
  const [plainly, deeply] = [turns(questions), turns(questions)]
  const [plain, deep] = await interleave(questionCount, [
    ['none', () => ask(plainly(), 'none')],
    ['deep', () => ask(deeply(), 'deep')],
  ])
  if (!plain || !deep) throw new Error('Nothing was measured')
  return [plain, deep]
}

/** Measures the time from the change of a text to the answer that finds it. */
async function benchChanges(report: Report, place: Place, ids: readonly string[]): Promise<void> {
  const { ask } = openAsker(place)
  const changes = openChanges(place.file, place.orgId)
  const times: number[] = []
  await ask('warm', 'none')
  for (let n = 0; n < 220; n++) {
    const id = ids[(n * 7_919) % ids.length] ?? ''
    const word = `zebra${String(n).padStart(4, '0')}`
    changes.set(id, `${word} was written by the bridgekeeper of the old stonehouse near the riverbank.`)
    let found: Retrieved | undefined
    const ms = await timeOf(async () => {
      found = await ask(word, 'none')
    })
    if (found?.matches[0]?.node_id !== id) throw new Error(`The changed node was not found: ${id}`)
    if (n >= 20) times.push(ms)
  }
  changes.close()
  const nodes = nodesOf(ids.length)
  const row = rowOf(`a changed text is found, ${nodes}`, times)
  report.rows('changes', 'ms', [row])
  if (ids.length === largest)
    report.ratio({ what: row.what, unit: 'ms', grove: row.p50, peer: 'the limit', of: 2, wanted: { atMost: 1 } })
}

/** Measures the main thread's delay while the search thread builds an index. */
async function benchThread(report: Report, place: Place, query: string): Promise<void> {
  const folder = `${place.folder}-thread`
  const idle = await loopDelay(() => sleep(5_000))
  const counting = await loopDelay(() => countInThread(5_000))
  const before = process.memoryUsage().rss
  const fail = (what: unknown) => console.error(what)
  const thread = openSearchThread(
    { file: place.file, vectorsFile: `${folder}/vectors.sqlite`, folder, memoryBytes },
    { warned: fail, died: fail },
  )
  const question = { query, top_k: 10, expansion_depth: 'none', include_raw_text: false, today: '2026-12-01' } as const
  try {
    const started = performance.now()
    const busy = await loopDelay(() => thread.ask(place.orgId, question))
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`
    report.say(
      `\nthe thread: built ${nodesOf(largest)} in ${seconds} s; this process had ${mib(before)} before, ${mib(process.memoryUsage().rss)} after`,
    )
    report.rows('delay of the main event loop', 'ms', [
      { what: 'idle', ...idle },
      { what: 'while a thread only counts', ...counting },
      { what: 'while the thread builds', ...busy },
    ])
    const of = { unit: 'ms', peer: 'idle', of: idle.p99, wanted: { atMost: 1.5 } }
    report.ratio({ what: 'event-loop delay p99 during a build', grove: busy.p99, ...of })
  } finally {
    await thread.close()
  }
}

/** Runs a busy second thread, which shows the machine's own cost of one. */
async function countInThread(ms: number): Promise<void> {
  const source = `const end = Date.now() + ${ms}; while (Date.now() < end);`
  await once(new Worker(source, { eval: true }), 'exit')
}

async function loopDelay(work: () => Promise<unknown>): Promise<{ p50: number; p99: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  await work()
  delay.disable()
  return { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6 }
}

/** Measures nodes with 300 edges each, and a hub of 50,000 children. Compares the deepest expansion with none. */
async function benchDense(report: Report, root: string): Promise<void> {
  const place = { file: join(root, 'dense.sqlite'), folder: join(root, 'dense') }
  await createIndexFile(place.file)
  const dense = [...textsOf(1_500)]
  const denseLinks = linksOf(
    dense.map(({ id }) => id),
    300,
  )
  fillOrg(place.file, 'dense', dense, denseLinks)
  const below = [...textsOf(50_001)].map((text) => ({ ...text, id: `c${text.id}` }))
  const [hub, ...children] = below
  if (!hub) return
  const named = { ...hub, title: 'hubandspoke' }
  const childLinks = children.map(({ id }): Link => ({ source: hub.id, target: id, type: 'parent_child' }))
  fillOrg(place.file, 'hub', [named, ...children], childLinks)
  const ofHub = questionsFor(children, questionCount).map((question) => `hubandspoke ${question}`)
  await compareDepths(
    report,
    { ...place, orgId: 'dense' },
    '1,500 nodes with 300 edges each',
    questionsFor(dense, questionCount),
  )
  await compareDepths(report, { ...place, orgId: 'hub' }, 'a hub of 50,000 children', ofHub)
}

async function compareDepths(report: Report, place: Place, what: string, questions: readonly string[]): Promise<void> {
  const { ask } = openAsker(place)
  await ask(questions[0] ?? '', 'deep')
  await settledBytes(join(place.folder, place.orgId))
  const rows = await askBoth(ask, questions)
  report.rows(what, 'ms', rows)
  const wanted = { atMost: 5 }
  report.ratio({
    what: `deep p99, ${what}`,
    unit: 'ms',
    grove: rows[1].p99,
    peer: 'none p99',
    of: rows[0].p99,
    wanted,
  })
}

function nodesOf(size: number): string {
  return `${size.toLocaleString('en')} nodes`
}
