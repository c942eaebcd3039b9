/**
 * Measures the CPU time of each request that needs no account, over large content: ordinary texts, and texts made to be
 * dear. Processes that Git starts count too.
 */

import { rm } from 'node:fs/promises'
import { newDataDir } from '../support/data-folder.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { specOperations } from '../support/permissions.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { computingOfAll, waitUntilIdle } from './processes.ts'
import { printTable, type Report } from './report.ts'

/** Nodes of the organisation, and commits of one of them. */
const [nodes, commits] = [1_000, 1_000]
const repeats = 20

/** One kind of request. `n` counts repetitions, so that a query can be one that no cache has. */
type Ask = (n: number) => { readonly path: string; readonly body?: object; readonly page?: boolean }

export async function benchAnonymous(report: Report): Promise<void> {
  const grove = await spawnGrove(await newDataDir())
  try {
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const asks = asksOf(ann.org, await fill(grove, ann))
    await waitUntilIdle(grove.pid)
    const rows: [string, number, string][] = []
    for (const [what, ask] of Object.entries(asks)) rows.push([what, ...(await measured(grove, ask))])
    report.say(`\nanonymous requests, ${nodes} nodes, the mean of ${repeats}\n`)
    const cells = rows.sort(([, a], [, b]) => b - a).map(([what, ms, status]) => [what, ms.toFixed(1), status])
    printTable([['request', 'ms of CPU', 'statuses'], ...cells])
  } finally {
    await grove.stop()
    await rm(grove.dataDir, { recursive: true, force: true })
  }
}

async function measured(grove: SpawnedGrove, ask: Ask): Promise<[number, string]> {
  const statuses = new Set([await send(grove, ask(repeats))])
  const before = await computingOfAll(grove.pid)
  for (let n = 0; n < repeats; n++) statuses.add(await send(grove, ask(n)))
  return [((await computingOfAll(grove.pid)) - before) / 1_000 / repeats, [...statuses].join()]
}

async function send({ url }: SpawnedGrove, { path, body, page = false }: ReturnType<Ask>): Promise<number> {
  const response = await fetch(url + path, {
    headers: {
      ...(page && { accept: 'text/html', 'sec-fetch-mode': 'navigate' }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return response.status
}

/** The nodes and ids that the requests need. */
interface Content {
  /** A node with a long history, a long text, and a type. */
  readonly node: TestNode
  /** A node whose texts are made to be dear, one for each repetition. */
  readonly dear: TestNode
  /** Commits of that node, which no cache has. */
  readonly texts: readonly string[]
  readonly oldest: string
  readonly newest: string
}

async function fill(grove: SpawnedGrove, ann: PersonClient): Promise<Content> {
  const node = await newNode(grove, ann, { title: 'Whales', text_content: textOf(400) })
  for (let at = 0; at < nodes; at++) {
    const fields = { title: `Page ${at}`, parents: [node.id], text_content: `${textOf(at % 20)}\n#tag${at % 50}\n` }
    await ann.post(`/orgs/${ann.org}/nodes`, fields).then(expecting(201))
  }
  const oldest = node.git.head()
  let newest = oldest
  for (let at = 0; at < commits; at++)
    newest = node.git.commit({ files: { 'log.txt': `${at}\n`.repeat(200) }, parents: [newest] })
  node.git.point('main', newest)
  const dear = await newNode(grove, ann, { title: 'Dear' })
  const texts = Array.from({ length: repeats + 1 }, (_, n) =>
    dear.git.commit({ files: { 'content.md': `${n}\n\n${'# a\n'.repeat(12_000)}` }, parents: [dear.git.head()] }),
  )
  dear.git.point('main', dear.git.commit({ files: {}, parents: [dear.git.head(), ...texts] }))
  await ann.get(`${dear.at}/branches/main`).then(expecting(200))
  return { node, dear, texts, oldest, newest }
}

function textOf(paragraphs: number): string {
  return Array.from(
    { length: paragraphs },
    (_, at) => `## Part ${at}\n\nWhales eat [[Page ${at}]] and **krill**.\n`,
  ).join('\n')
}

function asksOf(org: string, { node, dear, texts, oldest, newest }: Content): Record<string, Ask> {
  const values: Record<string, string> = {
    ...{ org_id: org, node_id: node.id, branch: 'main', path: 'content.md' },
    ...{
      commit: newest,
      commit_id: newest,
      object_id: node.git.say('rev-parse', 'main:content.md'),
      type_name: 'none',
    },
  }
  const queries: Record<string, string> = {
    compareCommits: `?base=${oldest}&head=${newest}`,
    getPatch: `?base=${oldest}&head=${newest}`,
    listTaggedNodes: '?tag=tag1',
    suggestTitles: '?q=pag',
  }
  const asks: Record<string, Ask> = {}
  for (const { id, method, path, security } of specOperations) {
    if (method !== 'GET' || (security !== 'none' && security !== 'optional')) continue
    const url = path.replace(/\{(\w+)\}/g, (name, key) => values[key] ?? name)
    asks[id] = () => ({ path: url + (queries[id] ?? '') })
  }
  const at = pageAt(org, node.id)
  return {
    ...asks,
    'searchNodes, a new query': (n) => ({ path: `/orgs/${org}/search/retrieve`, body: { query: `part ${n} whales` } }),
    'searchNodes, along the graph': (n) => ({
      path: `/orgs/${org}/search/retrieve`,
      body: { query: `krill ${n}`, graph: 'deep' },
    }),
    queryNodes: () => ({ path: `/orgs/${org}/nodes/query`, body: { where: 'title:Page' } }),
    'listCommits of a path': () => ({ path: `${node.at}/tree/main/commits?path=log.txt` }),
    'page of the organisation': () => ({ path: `/o/${org}`, page: true }),
    'page of a text of 400 headings and links': () => ({ path: at, page: true }),
    'page of 12,000 headings': (n) => ({ path: `${pageAt(org, dear.id)}?at=${texts[n]}`, page: true }),
    'page of the history': () => ({ path: `${at}/history`, page: true }),
    'page of a commit': () => ({ path: `${at}/commits/${newest}`, page: true }),
    'page of a comparison': () => ({ path: `${at}/compare?from=${oldest}&to=${newest}`, page: true }),
    'page of the authors': () => ({ path: `${at}/blame`, page: true }),
    'page of the search': (n) => ({ path: `/o/${org}/find?q=whales+${n}`, page: true }),
    'page of the table': () => ({ path: `/o/${org}/nodes`, page: true }),
    'page of the map': () => ({ path: `/o/${org}/graph`, page: true }),
    'page of all tags': () => ({ path: `/o/${org}/tags`, page: true }),
    'page of all subpages': () => ({ path: `${at}/subpages`, page: true }),
    'changes.atom': () => ({ path: `/o/${org}/changes.atom` }),
    'sitemap.xml': () => ({ path: `/o/${org}/sitemap.xml` }),
  }
}
