/**
 * Measures requests, starts and memory next to those of another version, in turns within one run. `BASELINE` names a
 * built checkout of that version. Both have the same data.
 */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { rowOf } from './measure.ts'
import { computing, nanoseconds, residentMemory } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const rounds = 8
/** V8 compiles the code of a GET only after thousands of requests. */
const warmUps = 6
const starts = 8
/** Milliseconds of work after the last answer that count as part of the requests. */
const settleMs = 250

interface Kind {
  readonly what: string
  readonly requests: number
  send(side: Side): Promise<unknown>
}

interface Side extends Scene {
  readonly one: string
  readonly shelf: string
}

let count = 0
const kinds: readonly Kind[] = [
  { what: 'a GET of a node', requests: 400, send: ({ ann, one }) => ann.get(one).then(expecting(200)) },
  {
    ...{ what: 'a list of 50 nodes', requests: 200 },
    send: ({ ann }) => ann.get(`/orgs/${ann.org}/nodes?limit=50`).then(expecting(200)),
  },
  {
    ...{ what: 'a commit', requests: 80 },
    send: ({ ann, one }) => {
      const change = { action: 'put', path: 'docs/page.md', content: `Words ${count++}\n` }
      return ann.post(`${one}/tree/main/commits`, { message: 'Edit', changes: [change] }).then(expecting(201))
    },
  },
  {
    ...{ what: 'a creation', requests: 80 },
    send: ({ ann, shelf }) =>
      ann
        .post(`/orgs/${ann.org}/nodes`, { title: `Note ${count++}`, text_content: 'Whales sing.\n', parents: [shelf] })
        .then(expecting(201)),
  },
]

export async function benchBaseline(report: Report): Promise<void> {
  const folder = process.env.BASELINE
  if (folder === undefined) {
    report.say('Without BASELINE, the folder of a built checkout, nothing is compared with another version.')
    return
  }
  await compareStarts(report, folder)
  const sides = [await openSide(), await openSide(folder)] as const
  try {
    for (const kind of kinds) for (let n = 0; n < warmUps; n++) for (const side of sides) await costOf(side, kind)
    for (const kind of kinds) await compare(report, sides, kind)
  } finally {
    for (const side of sides) await side.close()
  }
}

async function openSide(folder?: string): Promise<Side> {
  const scene = await openScene(1, {}, folder)
  const [one, shelf] = [await scene.node(), await scene.node({ title: 'Shelf' })]
  for (let n = 0; n < 60; n++)
    await scene.node({ title: `Page ${n}`, text_content: 'Whales sing, and others listen.\n' })
  return { ...scene, grove: scene.grove, ann: scene.ann, one: one.at, shelf: shelf.id }
}

/** Milliseconds of CPU time of one request. */
async function costOf(side: Side, { requests, send }: Kind): Promise<number> {
  const before = await nanoseconds(side.grove.pid)
  for (let n = 0; n < requests; n++) await send(side)
  await sleep(settleMs)
  return ((await nanoseconds(side.grove.pid)) - before) / 1e6 / requests
}

async function compare(report: Report, sides: readonly [Side, Side], kind: Kind): Promise<void> {
  const costs: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++)
    for (const at of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
      costs[at].push(await costOf(sides[at], kind))
  reportPair(report, kind.what, 'ms of CPU time', costs, 1)
}

/** Reports two columns of figures. @param atMost the bound of this version's median divided by the other one's */
function reportPair(report: Report, what: string, unit: string, [own, others]: [number[], number[]], atMost: number) {
  const [mine, theirs] = [rowOf('this version', own), rowOf('the other version', others)]
  report.rows(`${what}, least ${Math.min(...own).toFixed(2)} and ${Math.min(...others).toFixed(2)}`, unit, [
    mine,
    theirs,
  ])
  const of = { unit, grove: mine.p50, peer: 'the other version', of: theirs.p50 }
  report.ratio({ what: `${what}, ${unit}`, ...of, wanted: { atMost } })
}

/** Compares starts of a folder with one user, until the service listens, and then at rest. */
async function compareStarts(report: Report, folder: string): Promise<void> {
  const cpu: [number[], number[]] = [[], []]
  const memory: [number[], number[]] = [[], []]
  for (let n = 0; n < starts; n++)
    for (const [at, from] of [undefined, folder].entries()) {
      const dataDir = await newDataDir()
      const grove = await spawnGrove(dataDir, { WORKERS: '1' }, [], from)
      cpu[at]?.push((await computing(grove.pid)) / 1_000)
      memory[at]?.push((await residentMemory(grove.pid)) / 2 ** 20)
      await grove.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  reportPair(report, 'a start until it listens', 'ms of CPU time', cpu, 1.5)
  reportPair(report, 'memory when it listens', 'MiB', memory, 1.3)
}
