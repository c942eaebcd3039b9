/** Measures change sets next to as many pull requests, in one run: opening, reviewing, merging and their page. */

import { gzipSync } from 'node:zlib'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { interleave, rowOf, timeOf, type Work } from './measure.ts'
import { nanoseconds } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

interface Stage {
  readonly report: Report
  readonly scene: Scene
  readonly bo: PersonClient
}

/** Runs of the works that cannot be repeated on the same pages. */
const rounds = 6

export async function benchSets(report: Report): Promise<void> {
  const scene = await openScene(1, { RATE_LIMIT: 'off' })
  try {
    const bo = await signUp(scene.grove, 'Bo')
    await scene.ann.put(`/orgs/${scene.ann.org}/members/${bo.user.email}`, { role: 'editor' }).then(expecting(200))
    const stage = { report, scene, bo }
    await benchOpening(stage)
    await benchMerges(stage, 20)
    await benchMerges(stage, 50)
    await benchLists(stage)
    await benchPage(stage)
  } finally {
    await scene.close()
  }
}

const text = 'Whales sing, and others listen. '.repeat(16)

/** Creates pages by one batch. Returns their ids. */
async function pages({ scene: { ann } }: Stage, count: number): Promise<string[]> {
  const nodes = Array.from({ length: count }, (_, n) => ({ title: `Page ${n}`, text_content: text }))
  const { body } = await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
  return body.nodes.map(({ id }: { id: string }) => id)
}

let edits = 0

/** Opens a set that changes the pages. */
async function setOf({ scene: { ann } }: Stage, ids: readonly string[]) {
  const nodes = ids.map((id) => ({ id, text_content: `${text}${edits++}\n` }))
  return (await ann.post(`/orgs/${ann.org}/change-sets`, { title: 'Songs', nodes }).then(expecting(201))).body
    .change_set
}

/** Opens one pull request for each page. */
async function pullsOf({ scene: { ann } }: Stage, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const at = `/orgs/${ann.org}/nodes/${id}`
    await ann.post(`${at}/branches`, { name: 'songs' }).then(expecting(201))
    const changes = [{ action: 'put', path: 'content.md', content: `${text}${edits++}\n` }]
    await ann.post(`${at}/tree/songs/commits`, { message: 'Songs', changes }).then(expecting(201))
    await ann.post(`${at}/pull-requests`, { title: 'Songs', source_branch: 'songs' }).then(expecting(201))
  }
}

interface Cost {
  readonly ms: number[]
  /** Milliseconds of CPU time of the service. */
  readonly cpu: number[]
}

/** Measures each work once a round, in turns. A work returns what it measures, after unmeasured preparations. */
async function inTurns(
  { scene: { grove } }: Stage,
  works: readonly { readonly what: string; prepare(): Promise<Work> }[],
): Promise<Map<string, Cost>> {
  const costs = new Map<string, Cost>(works.map(({ what }) => [what, { ms: [], cpu: [] }]))
  for (let round = -1; round < rounds; round++)
    for (const { what, prepare } of round % 2 === 0 ? works : [...works].reverse()) {
      const work = await prepare()
      const before = await nanoseconds(grove.pid)
      const ms = await timeOf(work)
      const cpu = ((await nanoseconds(grove.pid)) - before) / 1e6
      if (round < 0) continue
      costs.get(what)?.ms.push(ms)
      costs.get(what)?.cpu.push(cpu)
    }
  return costs
}

function compare(report: Report, title: string, costs: Map<string, Cost>, wanted: { ms?: number; cpu?: number }): void {
  const of = (kind: keyof Cost) => [...costs].map(([what, cost]) => rowOf(what, cost[kind]))
  const [first, peer] = of('ms')
  const [ownCpu, peerCpu] = of('cpu')
  report.rows(title, 'ms', of('ms'))
  report.rows(`${title}, CPU time`, 'ms', of('cpu'))
  if (!first || !peer || !ownCpu || !peerCpu) throw new Error('Nothing was measured')
  const bound = (atMost: number | undefined) => (atMost === undefined ? {} : { wanted: { atMost } })
  report.ratio({ what: first.what, unit: 'ms', grove: first.p50, peer: peer.what, of: peer.p50, ...bound(wanted.ms) })
  const what = `${first.what}, CPU time`
  report.ratio({ what, unit: 'ms', grove: ownCpu.p50, peer: peer.what, of: peerCpu.p50, ...bound(wanted.cpu) })
}

/** 15 new pages: proposed, and created by a batch. */
async function benchOpening(stage: Stage): Promise<void> {
  const { ann } = stage.scene
  const nodes = () => Array.from({ length: 15 }, (_, n) => ({ title: `New ${n} ${edits++}`, text_content: text }))
  const costs = await inTurns(stage, [
    {
      what: 'a change set of 15 new pages',
      prepare: async () => () =>
        ann.post(`/orgs/${ann.org}/change-sets`, { title: 'New pages', nodes: nodes() }).then(expecting(201)),
    },
    {
      what: 'a batch of 15 new pages',
      prepare: async () => () => ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: nodes() }).then(expecting(201)),
    },
  ])
  // Each new page has a branch and a pull request more, and the answer judges all pages.
  compare(stage.report, 'opening', costs, { ms: 4 })
}

/** Reviews and merges of a set, next to those of as many pull requests. */
async function benchMerges(stage: Stage, count: number): Promise<void> {
  const { scene, bo, report } = stage
  const { ann } = scene
  const sets = `/orgs/${ann.org}/change-sets`
  const merging = await inTurns(stage, [
    {
      what: `merging a change set of ${count}`,
      prepare: async () => {
        const set = await setOf(stage, await pages(stage, count))
        return () => ann.post(`${sets}/${set.number}/merge`, {}).then(expecting(200))
      },
    },
    {
      what: `${count} merges`,
      prepare: async () => {
        const ids = await pages(stage, count)
        await pullsOf(stage, ids)
        return async () => {
          for (const id of ids)
            await ann.post(`/orgs/${ann.org}/nodes/${id}/pull-requests/1/merge`, {}).then(expecting(200))
        }
      },
    },
  ])
  compare(report, `merging ${count} pages`, merging, { ms: 0.5, cpu: 0.7 })
  if (count > 20) return
  const reviewing = await inTurns(stage, [
    {
      what: `approving a change set of ${count}`,
      prepare: async () => {
        const { number, version } = await setOf(stage, await pages(stage, count))
        const body = { verdict: 'approve', expected_version: version }
        return () => bo.post(`${sets}/${number}/reviews`, body).then(expecting(201))
      },
    },
    {
      what: `${count} approvals`,
      prepare: async () => {
        const ids = await pages(stage, count)
        await pullsOf(stage, ids)
        const paths = ids.map((id) => `/orgs/${ann.org}/nodes/${id}/pull-requests/1`)
        const heads: string[] = []
        for (const path of paths) heads.push((await ann.get(path).then(expecting(200))).body.pr.source_commit)
        return async () => {
          for (const [n, path] of paths.entries()) {
            const body = { verdict: 'approve', expected_source_commit: heads[n] }
            await bo.post(`${path}/reviews`, body).then(expecting(201))
          }
        }
      },
    },
  ])
  compare(report, `approving ${count} pages`, reviewing, { ms: 0.6 })
}

/** The list of an organisation's proposals with change sets, next to one without, of as many lines. */
async function benchLists(stage: Stage): Promise<void> {
  const { report, scene } = stage
  const connection = scene.connect()
  const path = `/orgs/${scene.ann.org}/pull-requests?status=all&limit=50`
  const rows = await interleave(60, [
    ['50 proposals, items folded', () => connection.get(`${path}&group=change_set`)],
    ['50 proposals, each item', () => connection.get(path)],
  ])
  connection.close()
  report.rows('lists of proposals', 'ms', rows)
  const [folded, each] = rows
  const atMost = { atMost: 1.3 }
  report.ratio({
    what: '50 proposals, items folded',
    unit: 'ms',
    grove: folded?.p50,
    peer: 'each item',
    of: each?.p50,
    wanted: atMost,
  })
}

/** The page of a set of 50, next to the page of one proposal, and to 50 of them. */
async function benchPage(stage: Stage): Promise<void> {
  const { report, scene } = stage
  const { ann } = scene
  const set = await setOf(stage, await pages(stage, 50))
  const single = await pages(stage, 50)
  await pullsOf(stage, single)
  const visitor = await visitOf(scene.grove, ann)
  const { name } = (await ann.get(`/orgs/${ann.org}`).then(expecting(200))).body
  const org = { id: ann.org, name }
  const shown = async (path: string) => {
    const answer = await visitor.open(path)
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`)
    return answer
  }
  const one = (n: number) => shown(`${pageAt(org, { id: single[n] ?? '', title: `Page ${n}` })}/proposals/1`)
  const whole = `${pageAt(org)}/proposals/${set.number}`
  const costs = await inTurns(stage, [
    { what: 'the page of 50 pages', prepare: async () => () => shown(whole) },
    { what: 'one proposal', prepare: async () => () => one(0) },
    {
      what: '50 proposals',
      prepare: async () => async () => {
        for (const n of single.keys()) await one(n)
      },
    },
  ])
  const cpu = [...costs.values()].map((cost) => rowOf('', cost.cpu).p50)
  report.rows(
    'pages, CPU time',
    'ms',
    [...costs].map(([what, cost]) => rowOf(what, cost.cpu)),
  )
  const what = 'the page of 50 pages, CPU time'
  report.ratio({ what, unit: 'ms', grove: cpu[0], peer: 'one proposal', of: cpu[1], wanted: { atMost: 10 } })
  report.ratio({ what, unit: 'ms', grove: cpu[0], peer: '50 proposals', of: cpu[2], wanted: { atMost: 0.3 } })
  const { body } = await shown(whole)
  const kib = gzipSync(body).length / 1024
  report.ratio({
    what: 'the page of 50 pages, compressed',
    unit: 'KiB',
    grove: kib,
    peer: '1 KiB',
    of: 1,
    wanted: { atMost: 120 },
  })
}
