/** Measures a GET with credentials in PostgreSQL, and the same with credentials.sqlite. */

import { databaseFor, ownServer } from '../support/postgres.ts'
import { type Connection, requestsPerSecond } from './load.ts'
import { interleave } from './measure.ts'
import { computing } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

/** The minimum of the rounds counts, because other processes take the rest. */
const rounds = 3
const seconds = 3
const times = 500

export async function benchCredentials(report: Report): Promise<void> {
  const server = await ownServer().catch((error: unknown) => String(error))
  if (typeof server === 'string') {
    report.say(`missing: PostgreSQL, so credentials in it are not measured (${server})`)
    return
  }
  const sqlite = await openScene()
  const postgres = await openScene(1, { DATABASE_URL: await databaseFor('bench', server) })
  try {
    await compare(report, sqlite, postgres)
  } finally {
    await sqlite.close()
    await postgres.close()
    await server.stop('immediate')
  }
}

async function compare(report: Report, sqlite: Scene, postgres: Scene): Promise<void> {
  const sides = await Promise.all(
    [sqlite, postgres].map(async (scene) => ({ scene, at: (await scene.node()).at, connection: scene.connect() })),
  )
  const [inFile, inPostgres] = await interleave(
    times,
    sides.map(
      ({ at, connection }, n) => [n === 0 ? 'credentials.sqlite' : 'PostgreSQL', read(connection, at)] as const,
    ),
  )
  for (const { connection } of sides) connection.close()
  if (inFile === undefined || inPostgres === undefined) return
  report.rows('GET of a node, one at a time', 'ms', [inFile, inPostgres])
  const what = 'GET of a node, credentials in PostgreSQL'
  report.ratio({ what, unit: 'ms', grove: inPostgres.p50, peer: 'credentials.sqlite', of: inFile.p50 })
  const least = sides.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < rounds; round++)
    for (const [n, { scene, at }] of sides.entries()) {
      const cost = await microseconds(scene, at)
      if (cost === undefined) return
      least[n] = Math.min(least[n] ?? cost, cost)
    }
  const rows = [inFile, inPostgres].map(({ what: side }, n) => ({ what: side, p50: least[n] ?? 0, p99: least[n] ?? 0 }))
  report.rows(`the same, the minimum of ${rounds} rounds`, 'µs of CPU time of the service', rows)
  report.ratio({ what, unit: 'µs', grove: least[1], peer: 'credentials.sqlite', of: least[0] })
}

function read(connection: Connection, path: string): () => Promise<unknown> {
  return () => connection.get(path)
}

/** Microseconds of CPU time of the service per request. Undefined without wrk. */
async function microseconds({ grove, headers }: Scene, path: string): Promise<number | undefined> {
  let before = 0
  const started = async () => {
    before = await computing(grove.pid)
  }
  const rate = await requestsPerSecond(grove.url, [path], { headers, seconds, started })
  return rate === undefined ? undefined : ((await computing(grove.pid)) - before) / (rate * seconds)
}
