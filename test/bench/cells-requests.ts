/**
 * Measures a GET of a node. The node is at a service on one machine, with credentials in PostgreSQL, at the cell that
 * has it, or behind another cell.
 */

import type { Headers } from '../support/exchange.ts'
import { databaseFor, type PostgresServer } from '../support/postgres.ts'
import type { BenchCell, CellScene } from './cells-scene.ts'
import { connectTo, requestsPerSecond } from './load.ts'
import { interleave } from './measure.ts'
import { computing } from './processes.ts'
import type { Report } from './report.ts'
import { openScene } from './scene.ts'

/** The minimum of the rounds counts, because everything above it is the work of other processes. */
const rounds = 3
const seconds = 3
const times = 500

interface Side {
  readonly what: string
  readonly url: string
  readonly path: string
  readonly headers: Headers
  /** All processes that compute the answer. */
  readonly pids: readonly number[]
}

export async function benchHops(report: Report, server: PostgresServer, cells: CellScene): Promise<void> {
  const sqlite = await openScene()
  const postgres = await openScene(1, { DATABASE_URL: await databaseFor('bench one machine', server) })
  try {
    const [here, there] = cells.cells
    if (here === undefined || there === undefined) throw new Error('There are no two cells')
    const { at: path } = await cells.node(here, await cells.org(here))
    const ofCell = (what: string, { grove }: BenchCell, others: readonly BenchCell[]): Side => ({
      ...{ what, url: grove.url, path, headers: cells.headers },
      pids: [grove, ...others.map((other) => other.grove)].map(({ pid }) => pid),
    })
    const ofService = async (what: string, { grove, headers, node }: typeof sqlite): Promise<Side> => ({
      ...{ what, url: grove.url, path: (await node()).at, headers, pids: [grove.pid] },
    })
    await compare(report, [
      await ofService('no cells, credentials.sqlite', sqlite),
      await ofService('no cells, credentials in PostgreSQL', postgres),
      ofCell('the cell that has it', here, []),
      ofCell('through another cell', there, [here]),
    ])
  } finally {
    await sqlite.close()
    await postgres.close()
  }
}

async function compare(report: Report, sides: readonly [Side, Side, Side, Side]): Promise<void> {
  const connections = sides.map(({ url, headers }) => connectTo(url, headers))
  const rows = await interleave(
    times,
    sides.map(({ what, path }, n) => [what, async () => connections[n]?.get(path)] as const),
  )
  for (const connection of connections) connection.close()
  report.rows('GET of a node, one at a time', 'ms', rows)
  const costs = await leastOf(sides)
  if (costs === undefined) report.say('missing: wrk, so CPU time is not measured')
  else
    report.rows(
      `the same, the minimum of ${rounds} rounds`,
      'µs of CPU time of the services',
      sides.map(({ what }, n) => ({ what, p50: costs[n] ?? 0, p99: costs[n] ?? 0 })),
    )
  const [plain, inPostgres, direct, hop] = sides
  for (const [side, peer] of [
    [inPostgres, plain],
    [direct, inPostgres],
    [hop, direct],
  ] as const) {
    const [n, of] = [sides.indexOf(side), sides.indexOf(peer)]
    const what = `GET of a node, ${side.what}`
    report.ratio({ what, unit: 'ms', grove: rows[n]?.p50, peer: peer.what, of: rows[of]?.p50 })
    report.ratio({ what, unit: 'µs', grove: costs?.[n], peer: peer.what, of: costs?.[of] })
  }
}

/** Microseconds of CPU time per request. Undefined without wrk. */
async function leastOf(sides: readonly Side[]): Promise<number[] | undefined> {
  const least = sides.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++)
    for (const [n, side] of sides.entries()) {
      const cost = await microseconds(side)
      if (cost === undefined) return undefined
      least[n] = Math.min(least[n] ?? cost, cost)
    }
  return least
}

async function microseconds({ url, path, headers, pids }: Side): Promise<number | undefined> {
  const spent = async () => (await Promise.all(pids.map(computing))).reduce((sum, some) => sum + some, 0)
  let before = 0
  const started = async () => {
    before = await spent()
  }
  const rate = await requestsPerSecond(url, [path], { headers, seconds, started })
  return rate === undefined ? undefined : ((await spent()) - before) / (rate * seconds)
}
