/**
 * Measures commits and creations over REST next to a GET of a node and a batch, in one run. The CPU time is that of a
 * service with one worker.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { expecting } from '../support/node.ts'
import { rowOf, timeOf } from './measure.ts'
import { nanoseconds } from './processes.ts'
import type { Report, Row } from './report.ts'
import { type BenchNode, openScene, type Scene } from './scene.ts'

const rounds = 6
/** Unmeasured rounds, because V8 compiles the code of a GET only after thousands of requests. */
const warmUps = 8
const clientCounts = [1, 16] as const
const nodesOfBatch = 200
const noteText = 'Whales sing, and others listen. '.repeat(16)

/** Milliseconds of work after the last answer that count as part of the request. */
const settleMs = 250

interface Write {
  readonly what: string
  readonly requests: number
  /** Nodes or commits of one request. */
  readonly each: number
  /** True if only one request is sent at a time. */
  readonly alone: boolean
  send(client: number): Promise<unknown>
}

interface Taken {
  readonly write: Write
  /** Milliseconds until the answer. */
  readonly times: number[]
  /** Milliseconds of CPU time of one commit, node or GET, in each round. */
  readonly costs: number[]
}

export async function benchWrites(report: Report): Promise<void> {
  const scene = await openScene(1)
  try {
    const newNodes = (length: number) => Promise.all(Array.from({ length }, () => scene.node()))
    const most = Math.max(...clientCounts)
    const writes = writesOf(scene, {
      read: await newNodes(most),
      parents: await newNodes(most),
      batch: await newNodes(1),
    })
    for (const write of writes) for (let n = 0; n < warmUps; n++) await measureOnce(scene, write, most)
    for (const clients of clientCounts) reportCosts(report, clients, await inTurns(scene, writes, clients))
  } finally {
    await scene.close()
  }
}

/** Nodes of each client. A GET includes children, so those that are read are no parents. */
interface Nodes {
  readonly read: readonly BenchNode[]
  readonly parents: readonly BenchNode[]
  readonly batch: readonly BenchNode[]
}

/** The requests. A creation and a node of a batch have the same fields. */
function writesOf({ ann }: Scene, { read, parents, batch }: Nodes): Write[] {
  let count = 0
  const note = (parent: BenchNode | undefined) => {
    count++
    return { title: `Note ${count}`, text_content: `${noteText}${count}\n`, parents: [parent?.id] }
  }
  const post = (path: string, body: object) => ann.post(path, body).then(expecting(201))
  const change = () => ({ action: 'put', path: 'docs/page.md', content: `Words ${count++}\n` })
  const notes = () => ({ nodes: Array.from({ length: nodesOfBatch }, () => note(batch[0])) })
  const created = `/orgs/${ann.org}/nodes`
  const shared = { each: 1, alone: false }
  return [
    {
      ...{ ...shared, what: 'a GET of a node', requests: 400 },
      send: (client) => ann.get(`${read[client]?.at}`).then(expecting(200)),
    },
    {
      ...{ ...shared, what: 'a commit of one file in a folder', requests: 80 },
      send: (client) => post(`${read[client]?.at}/tree/main/commits`, { message: 'Edit', changes: [change()] }),
    },
    {
      ...{ ...shared, what: 'a creation of a node with a parent', requests: 80 },
      send: (client) => post(created, note(parents[client])),
    },
    {
      ...{ what: `a batch of ${nodesOfBatch} such nodes`, requests: 1, each: nodesOfBatch, alone: true },
      send: () => post(`${created}/batch`, notes()),
    },
  ]
}

/** Measures each of the requests in each round. Each round begins with another one. */
async function inTurns(scene: Scene, writes: readonly Write[], clients: number): Promise<Taken[]> {
  const taken = writes.map((write): Taken => ({ write, times: [], costs: [] }))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < taken.length; turn++) {
      const one = taken[(turn + round) % taken.length]
      if (one === undefined) continue
      const { times, cost } = await measureOnce(scene, one.write, clients)
      one.times.push(...times)
      one.costs.push(cost)
    }
  }
  return taken
}

async function measureOnce(
  { grove }: Scene,
  write: Write,
  clients: number,
): Promise<{ times: number[]; cost: number }> {
  const times: number[] = []
  const before = await nanoseconds(grove.pid)
  let left = write.requests
  const ask = async (client: number) => {
    while (left-- > 0) times.push(await timeOf(() => write.send(client)))
  }
  await Promise.all(Array.from({ length: write.alone ? 1 : clients }, (_, client) => ask(client)))
  await sleep(settleMs)
  const spent = (await nanoseconds(grove.pid)) - before
  return { times, cost: spent / 1e6 / write.requests / write.each }
}

function reportCosts(report: Report, clients: number, taken: readonly Taken[]): void {
  const at = clients === 1 ? 'one client' : `${clients} clients`
  const answers = taken.map(({ write, times }) => rowOf(write.what, times))
  const costs = taken.map(({ write, costs }) => rowOf(write.each === 1 ? write.what : `${write.what}, per node`, costs))
  report.rows(`writes over REST, ${at}`, 'ms', answers)
  report.rows(`the same, of ${rounds} rounds`, 'ms of CPU time', costs)
  const [get, commit, creation, node] = costs
  const compare = (what: string, row: Row | undefined, peer: string, of: Row | undefined) => ({
    ...{ what: `${what}, CPU time, ${at}`, unit: 'ms', grove: row?.p50, peer, of: of?.p50 },
  })
  // No bound: a faster GET would make it harder to reach. The other version of `baseline` is the measure.
  report.ratio(compare('a commit over REST', commit, 'a GET of a node', get))
  const batch = compare('a creation of a node', creation, `a node of a batch of ${nodesOfBatch}`, node)
  report.ratio({ ...batch, wanted: { atMost: 2.5 } })
}
