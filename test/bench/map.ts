/** Measures the map: packing trees of 1,000, 10,000 and 100,000 nodes, its size, and sending it from the cache. */

import { gzipSync } from 'node:zlib'
import { readGraphRows } from '../../index/graph/graph-rows.ts'
import { drawMap } from '../../server/features/graph/map-drawing.ts'
import { layOutMap } from '../../server/features/graph/map-layout.ts'
import { fillGraph } from './graph-data.ts'
import { interleave } from './measure.ts'
import type { Peers } from './peers.ts'
import type { Report } from './report.ts'
import { openScene } from './scene.ts'

const sizes = [1_000, 10_000, 100_000] as const
const gzip = { 'accept-encoding': 'gzip' }

export async function benchMap(report: Report, _peers: Peers): Promise<void> {
  for (const nodes of sizes) {
    const scene = await openScene()
    try {
      await scene.restart(1, () => fillGraph(scene.dataDir, scene.ann.org, { nodes, edges: 2 * nodes }))
      const named = `${nodes.toLocaleString('en')} nodes, ${(2 * nodes).toLocaleString('en')} edges`
      sayPacking(report, named, `${scene.dataDir}/index.sqlite`, scene.ann.org)
      const connection = scene.connect()
      const path = `/orgs/${scene.ann.org}/map`
      const { headers } = await connection.get(path, gzip)
      const known = { ...gzip, 'if-none-match': headers.etag ?? '' }
      const [whole, areas, same, health] = await interleave(nodes === 100_000 ? 100 : 300, [
        ['the map from the cache', () => connection.get(path, gzip)],
        ['only its areas', () => connection.get(`${path}?columns=false`, gzip)],
        ['304', () => connection.get(path, known, 304)],
        ['/healthz', () => connection.get('/healthz')],
      ])
      connection.close()
      if (!whole || !areas || !same || !health) throw new Error('Nothing was measured')
      report.rows(`map of ${named}`, 'ms', [whole, areas, same, health])
      const of = { unit: 'ms', peer: 'Grove: /healthz', of: health.p50 }
      report.ratio({ ...of, what: `map of ${nodes.toLocaleString('en')} from the cache`, grove: whole.p50 })
      report.ratio({ ...of, what: 'its 304', grove: same.p50, wanted: { atMost: 2 } })
    } finally {
      await scene.close()
    }
  }
}

/** Reports the CPU time of one packing as the thread does it, from rows that it has already read. */
function sayPacking(report: Report, named: string, file: string, orgId: string): void {
  const rows = readGraphRows(file, orgId)
  if (rows === undefined) throw new Error('There is no organisation')
  const began = process.cpuUsage()
  const places = layOutMap(rows.nodes, rows.edges)
  const { user, system } = process.cpuUsage(began)
  const json = [...(drawMap(rows, places, { columns: true }) ?? [])].join('')
  const bytes = gzipSync(json, { level: 4 }).length
  const { ids, titles } = JSON.parse(json)
  const withoutNames = gzipSync(JSON.stringify({ ...JSON.parse(json), ids: [], titles: [] }), { level: 4 }).length
  const kib = (count: number) => `${(count / 1_024).toFixed(0)} KiB`
  report.say(
    `${named}: packed with ${((user + system) / 1_000).toFixed(0)} ms of CPU time; ${kib(json.length)} of JSON, ${kib(bytes)} in gzip, ` +
      `${kib(withoutNames)} without ids and titles (${ids.length} ids, ${titles.length} titles)`,
  )
}
