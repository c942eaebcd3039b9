/** Measures the public graph of 100,000 nodes and 200,000 edges: the first answer, later answers, and 304. */

import { setTimeout as sleep } from 'node:timers/promises'
import { fillGraph } from './graph-data.ts'
import { probe, requestsPerSecond } from './load.ts'
import { interleave, timeOf } from './measure.ts'
import type { Peers } from './peers.ts'
import { waitUntilIdle } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const size = { nodes: 100_000, edges: 200_000 }
const gzip = { 'accept-encoding': 'gzip' }

export async function benchGraph(report: Report, peers: Peers): Promise<void> {
  const scene = await openScene()
  try {
    await scene.ann.patch(`/orgs/${scene.ann.org}`, { published: true })
    await scene.restart(1, () => fillGraph(scene.dataDir, scene.ann.org, size))
    const path = `/public/orgs/${scene.ann.org}/graph`
    await first(report, scene, path)
    await unchanged(report, scene, path)
    await scene.restart(2)
    await rates(report, peers, scene, path)
  } finally {
    await scene.close()
  }
}

async function first(report: Report, scene: Scene, path: string): Promise<void> {
  await waitUntilIdle(scene.grove.pid)
  const connection = scene.connect()
  const idle = probe(scene.grove.url)
  await sleep(3_000)
  const idleMs = await idle.stop()
  const busy = probe(scene.grove.url)
  const ms = await timeOf(() => connection.get(path, gzip))
  const held = await busy.stop()
  const again = probe(scene.grove.url)
  await connection.get(path, gzip)
  const heldAgain = await again.stop()
  connection.close()
  const row = (what: string, value: number) => ({ what, p50: value, p99: value })
  report.rows('public graph of 100,000 nodes and 200,000 edges', 'ms', [
    row('the first, in gzip', ms),
    row('the longest /healthz during that, one every 10 ms', held),
    row('the longest /healthz while it is sent again', heldAgain),
    row('the longest /healthz in 3 s without other requests', idleMs),
  ])
  const ofLimit = { unit: 'ms', peer: 'the limit', wanted: { atMost: 1 } }
  report.ratio({ ...ofLimit, what: 'first public graph', grove: ms, of: 5_000 })
  report.ratio({ ...ofLimit, what: 'event loop held by the first graph', grove: held, of: 100 })
}

async function unchanged(report: Report, scene: Scene, path: string): Promise<void> {
  const connection = scene.connect()
  const { headers } = await connection.get(path, gzip)
  const known = { ...gzip, 'if-none-match': headers.etag ?? '' }
  const [same, health] = await interleave(1_000, [
    ['304 of the public graph', () => connection.get(path, known, 304)],
    ['/healthz', () => connection.get('/healthz')],
  ])
  connection.close()
  if (!same || !health) throw new Error('Nothing was measured')
  report.rows('unchanged answers', 'ms', [same, health])
  report.ratio({
    what: '304 of the public graph',
    unit: 'ms',
    grove: same.p50,
    peer: 'Grove: /healthz',
    of: health.p50,
    wanted: { atMost: 1.2 },
  })
}

async function rates(report: Report, peers: Peers, scene: Scene, path: string): Promise<void> {
  const connection = scene.connect()
  const { body, headers } = await connection.get(path, gzip)
  connection.close()
  if (headers['content-encoding'] !== 'gzip') throw new Error('The graph is not compressed')
  await peers.serve('graph', body)
  // Once unmeasured, because each worker makes its own answer.
  await requestsPerSecond(scene.grove.url, [path], { headers: gzip, seconds: 3 })
  const grove = await requestsPerSecond(scene.grove.url, [path], { headers: gzip })
  const nginx = await requestsPerSecond(peers.nginx, ['/static/graph'], { headers: gzip })
  report.ratio({
    what: `public graph, ${(body.length / 2 ** 20).toFixed(1)} MiB of gzip`,
    unit: '/s',
    grove,
    peer: 'nginx: a file of the same bytes',
    of: nginx,
    wanted: { atLeast: 0.5 },
  })
}
