/**
 * Measures time and memory as n grows 10, 100 and 1,000 times. n is the commits of a node, or the nodes of an
 * organisation.
 */

import { fillGraph } from './graph-data.ts'
import { measure, timeOf } from './measure.ts'
import { nodeProcesses, residentMemory, waitUntilIdle } from './processes.ts'
import { printTable, type Report } from './report.ts'
import { importCommits } from './repositories.ts'
import { openScene, type Scene } from './scene.ts'

const sizes = [100, 1_000, 10_000, 100_000]

/** Results by column. */
type Measured = Readonly<Record<string, number>>

export async function benchGrowth(report: Report): Promise<void> {
  for (const [what, measureAt] of [
    ['commits of one node', commitsAt],
    ['nodes of a published organisation, with twice as many edges', nodesAt],
  ] as const) {
    const measured: Measured[] = []
    for (const size of sizes) measured.push(await measureAt(size))
    show(report, what, measured)
  }
}

async function commitsAt(size: number): Promise<Measured> {
  const scene = await openScene()
  try {
    const node = await scene.node()
    await importCommits(node.repo, size)
    const path = `${node.at}/tree/main/commits?limit=50&offset=${size - 50}`
    const followed = await timeOf(() => read(scene, path))
    await scene.restart()
    const first = await timeOf(() => read(scene, path))
    const connection = scene.connect()
    const page = await measure('', 200, () => connection.get(path))
    connection.close()
    return {
      'the index catches up, ms': followed,
      'first page after a restart, ms': first,
      'page at the end, p50 ms': page.p50,
      'memory, MiB': await memoryOf(scene),
    }
  } finally {
    await scene.close()
  }
}

async function nodesAt(size: number): Promise<Measured> {
  const scene = await openScene()
  try {
    const { ann } = scene
    await ann.patch(`/orgs/${ann.org}`, { published: true })
    await scene.restart(1, () => fillGraph(scene.dataDir, ann.org, { nodes: size, edges: 2 * size }))
    await waitUntilIdle(scene.grove.pid)
    const graph = `/public/orgs/${ann.org}/graph`
    const connection = scene.connect()
    const list = await measure('', 50, () => connection.get(`/orgs/${ann.org}/nodes?limit=50&offset=${size - 50}`))
    const first = await timeOf(() => connection.get(graph, { 'accept-encoding': 'gzip' }))
    const again = await measure('', 20, () => connection.get(graph, { 'accept-encoding': 'gzip' }))
    connection.close()
    return {
      'first graph, ms': first,
      'later graph, p50 ms': again.p50,
      'last page of nodes, p50 ms': list.p50,
      'memory, MiB': await memoryOf(scene),
    }
  } finally {
    await scene.close()
  }
}

async function read(scene: Scene, path: string): Promise<void> {
  const connection = scene.connect()
  await connection.get(path)
  connection.close()
}

async function memoryOf({ grove }: Scene): Promise<number> {
  const each = await Promise.all((await nodeProcesses(grove.pid)).map(residentMemory))
  return each.reduce((sum, bytes) => sum + bytes, 0) / 2 ** 20
}

function show(report: Report, what: string, measured: readonly Measured[]): void {
  const columns = Object.keys(measured[0] ?? {})
  report.say(`\n${what}: growth with n\n`)
  const cells = measured.map((row, at) => [
    (sizes[at] ?? 0).toLocaleString('en'),
    ...columns.map((column) => (row[column] ?? 0).toFixed(1)),
  ])
  printTable([['n', ...columns], ...cells])
  for (const column of columns) {
    report.ratio({
      what: `${what.split(',')[0]}, 100,000: ${column.replace(/, .*/, '')}`,
      unit: /(\w+)$/.exec(column)?.[1] ?? '',
      grove: measured.at(-1)?.[column],
      peer: 'Grove: 100',
      of: measured[0]?.[column],
    })
  }
}
