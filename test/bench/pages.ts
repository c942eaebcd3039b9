/**
 * Measures the CPU time of a view of each page next to a GET of a node, in one run. The organisation has 300 nodes with
 * ordinary texts, links, edits and proposals. The service has one worker.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { rowOf } from './measure.ts'
import { nanoseconds } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const rounds = 7
/** Unmeasured rounds, because V8 compiles code only after thousands of calls. */
const warmUps = 6
/** Requests in a round. */
const most = { views: 10, gets: 200 } as const
/** Milliseconds of work after the last answer that count as part of the views. */
const settleMs = 50

/** Folders below the home page, the pages of each, and subpages of one page. */
const [folders, pagesEach, subpages] = [9, 30, 20] as const
const [edits, proposals, comments] = [40, 8, 5] as const

/** The most that some pages may cost, in GETs of a node. */
const goals: Readonly<Record<string, number>> = { organisation: 6, node: 4, activity: 4 }

interface View {
  readonly what: string
  readonly times: number
  send(): Promise<unknown>
}

export async function benchPages(report: Report): Promise<void> {
  const scene = await openScene()
  try {
    const all = await viewsOf(scene)
    const costs = all.map((): number[] => [])
    for (let round = -warmUps; round < rounds; round++)
      for (let turn = 0; turn < all.length; turn++) {
        const at = (turn + round + warmUps) % all.length
        const view = all[at]
        const cost = view && (await costOf(scene, view))
        if (cost !== undefined && round >= 0) costs[at]?.push(cost)
      }
    const [get, ...pages] = all.map(({ what }, at) => rowOf(what, costs[at] ?? []))
    report.rows('views of pages', 'ms of CPU time', get ? [get, ...pages] : pages)
    for (const { what, p50 } of pages) {
      const atMost = goals[what]
      report.ratio({
        ...{ what: `page: ${what}, CPU time`, unit: 'ms', grove: p50, peer: 'a GET of a node', of: get?.p50 },
        ...(atMost !== undefined && { wanted: { atMost } }),
      })
    }
  } finally {
    await scene.close()
  }
}

/** Milliseconds of CPU time of one request. */
async function costOf({ grove }: Scene, { times, send }: View): Promise<number> {
  const before = await nanoseconds(grove.pid)
  for (let n = 0; n < times; n++) await send()
  await sleep(settleMs)
  return ((await nanoseconds(grove.pid)) - before) / 1e6 / times
}

/** The GET of a node, and the pages. */
async function viewsOf(scene: Scene): Promise<View[]> {
  const { ann, grove } = scene
  const [folder = '', page = ''] = await fill(scene)
  const visitor = await visitOf(grove, ann)
  const named = (await ann.get(`/orgs/${ann.org}`).then(expecting(200))).body
  const org = pageAt(named)
  const at = async (id: string) =>
    pageAt(named, (await ann.get(`/orgs/${ann.org}/nodes/${id}`).then(expecting(200))).body)
  const node = await at(page)
  const paths: Readonly<Record<string, string>> = {
    organisation: org,
    'search results': `${org}/find?q=whale+songs`,
    activity: `${org}/activity`,
    backlinks: `${node}/backlinks`,
    'a folder': await at(folder),
    table: `${org}/nodes`,
    proposal: `${node}/proposals/1?tab=conversation`,
    'node settings': `${node}/settings`,
    node,
    changes: `${org}/changes`,
    map: `${org}/graph`,
    editor: `${node}/edit`,
    home: '/',
    history: `${node}/history`,
    blame: `${node}/blame`,
    'settings, members': `${org}/settings/members`,
    'settings, general': `${org}/settings/general`,
    inbox: '/me/inbox',
    rules: `${org}/settings/rules`,
    tags: `${org}/tags`,
    members: `${org}/members`,
    proposals: `${org}/proposals`,
    tokens: '/me/tokens',
  }
  const open = async (path: string) => {
    const { status, body } = await visitor.open(path, { 'accept-encoding': 'gzip' })
    if (status !== 200) throw new Error(`${path} answered ${status} ${body}`)
  }
  return [
    {
      ...{ what: 'a GET of a node', times: most.gets },
      send: () => ann.get(`/orgs/${ann.org}/nodes/${page}`).then(expecting(200)),
    },
    ...Object.entries(paths).map(([what, path]) => ({ what, times: most.views, send: () => open(path) })),
  ]
}

const words = 'Whales sing, and others listen. Their songs travel far through deep and cold water. '
const titleOf = (n: number) => `Page about whales ${n}`

/** Creates the nodes, and changes some of them. Returns the ids of a folder, and of a page in it. */
async function fill(scene: Scene): Promise<readonly string[]> {
  const { ann, grove } = scene
  const bo = await signUp(grove, 'Bo')
  await ann.put(`/orgs/${ann.org}/members/${bo.user.email}`, { role: 'editor' }).then(expecting(200))
  const home = { ref: 'home', title: 'Handbook', text_content: textOf(0) }
  const places = Array.from({ length: folders }, (_, n) => ({
    ...{ ref: `folder ${n}`, title: `Folder ${n}`, text_content: words, parents: ['home'] },
  }))
  const pages = Array.from({ length: folders * pagesEach + subpages }, (_, n) => pageOf(n))
  const nodes = [...places, ...pages, home]
  const { body } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
  const ids: string[] = body.nodes.map(({ id }: { readonly id: string }) => id)
  const node = (n: number) => `/orgs/${ann.org}/nodes/${ids[folders + n]}`
  for (let n = 0; n < edits; n++) {
    const changes = [{ action: 'put', path: 'content.md', content: `${textOf(n)}Edited.\n` }]
    const by = n % 3 === 0 ? bo : ann
    await by.post(`${node(n)}/tree/main/commits`, { message: `Edit ${n}`, changes }).then(expecting(201))
  }
  for (let n = 0; n < proposals; n++) await propose(n % 2 === 0 ? ann : bo, node(n), n)
  for (let n = 0; n < comments; n++)
    await bo.post(`${node(0)}/pull-requests/1/comments`, { text: `${words}${n}` }).then(expecting(201))
  return [ids[0] ?? '', ids[folders] ?? '']
}

/** Each page links to three others. The last ones are below the first. */
function pageOf(n: number) {
  return {
    ...{ ref: `page ${n}`, title: titleOf(n), text_content: textOf(n), tags: ['sea', `tag ${n % 12}`] },
    parents: [n < folders * pagesEach ? `folder ${n % folders}` : 'page 0'],
    connections: linked(n).map((target) => ({ target: `page ${target}` })),
    properties: { status: n % 3 === 0 ? 'draft' : 'done', due: `2026-01-${10 + (n % 20)}`, weight: n },
  }
}

const linked = (n: number) => [1, 31, 97].map((step) => (n + step) % (folders * pagesEach))

/** A text of 3 KiB. */
function textOf(n: number): string {
  const [one, other, third] = linked(n).map((target) => `[[${titleOf(target)}]]`)
  return [
    ...[`${words.repeat(8)}See ${one} and ${other}.`, '## Songs', `- ${words}\n- *Deep* water, as ${third} says`],
    ...['## Notes', words.repeat(12), '```ts\nconst whales = count(songs)\n```', `${words.repeat(8)}${n}\n`],
  ].join('\n\n')
}

async function propose(by: PersonClient, node: string, n: number): Promise<void> {
  await by.post(`${node}/branches`, { name: 'songs' }).then(expecting(201))
  const changes = [{ action: 'put', path: 'content.md', content: `${textOf(n)}Proposed.\n` }]
  await by.post(`${node}/tree/songs/commits`, { message: 'Songs', changes }).then(expecting(201))
  const pull = { title: `More songs ${n}`, source_branch: 'songs' }
  await by.post(`${node}/pull-requests`, pull).then(expecting(201))
}
