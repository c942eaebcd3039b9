/**
 * Measures more than one machine: what passing a request or transfer on costs, and how much three cells commit compared
 * with one.
 */

import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ownServer, type PostgresServer } from '../support/postgres.ts'
import { benchMove } from './cells-moves.ts'
import { benchHops } from './cells-requests.ts'
import { type CellScene, openCells } from './cells-scene.ts'
import { benchTransfers } from './cells-transfers.ts'
import { timeOf } from './measure.ts'
import { computingOfAll, postmasterOf, waitUntilIdle } from './processes.ts'
import type { Report } from './report.ts'
import type { BenchNode } from './scene.ts'

const names = ['a', 'b', 'c']
const clients = 16
/** Commits of one client in a round. */
const each = 25
const rounds = 4

export async function benchCells(report: Report): Promise<void> {
  const server = await ownServer().catch((error: unknown) => String(error))
  if (typeof server === 'string') {
    report.say(`missing: PostgreSQL, so cells are not measured (${server})`)
    return
  }
  try {
    const three = await openCells(server, names)
    try {
      await benchHops(report, server, three)
      await benchTransfers(report, three)
      await benchMove(report, three)
      await benchSpread(report, server, three)
    } finally {
      await three.close()
    }
  } finally {
    await server.stop('immediate')
  }
}

/** Repositories of three organisations, and the URL at which each is used. */
interface Side {
  readonly what: string
  readonly scene: CellScene
  readonly targets: readonly { readonly url: string; readonly node: BenchNode }[]
  /** The sums of all rounds. */
  readonly total: { ms: number; service: number; database: number }
}

async function benchSpread(report: Report, server: PostgresServer, three: CellScene): Promise<void> {
  const one = await openCells(server, ['alone'])
  try {
    const sides = [
      await sideOf('one cell', one),
      await sideOf('three cells, each used for its own organisation', three),
    ] as const
    for (const { scene } of sides) for (const { grove } of scene.cells) await waitUntilIdle(grove.pid)
    const database = await postmasterOf(server.url)
    // About as many commits of each process are not measured, because compilers take their time.
    for (const side of sides) for (let n = 0; n < side.scene.cells.length; n++) await commitRound(side, database)
    for (const { total } of sides) Object.assign(total, { ms: 0, service: 0, database: 0 })
    for (let round = 0; round < rounds; round++)
      for (const side of round % 2 === 0 ? sides : [...sides].reverse()) await commitRound(side, database)
    tell(report, sides)
  } finally {
    await one.close()
  }
}

async function sideOf(what: string, scene: CellScene): Promise<Side> {
  const places = []
  for (let n = 0; n < names.length; n++) {
    const cell = scene.cells[n % scene.cells.length]
    if (cell === undefined) throw new Error('There is no cell')
    places.push({ cell, org: await scene.org(cell) })
  }
  const targets = []
  for (let n = 0; n < clients; n++) {
    const place = places[n % places.length]
    if (place === undefined) throw new Error('There is no organisation')
    targets.push({ url: place.cell.grove.url, node: await scene.node(place.cell, place.org) })
  }
  return { what, scene, targets, total: { ms: 0, service: 0, database: 0 } }
}

let edits = 0

/** Runs one round of commits. Each client stays with its repository. */
async function commitRound({ scene, targets, total }: Side, database: number): Promise<void> {
  const service = () => sumOf(scene.cells.map(({ grove }) => computingOfAll(grove.pid)))
  const before = { service: await service(), database: await computingOfAll(database) }
  total.ms += await timeOf(() =>
    Promise.all(
      targets.map(async ({ url, node }) => {
        const ann = client({ url }, scene.token)
        for (let n = 0; n < each; n++) {
          const changes = [{ action: 'put', path: 'docs/page.md', content: `text ${edits++}` }]
          await ann.post(`${node.at}/tree/main/commits`, { message: 'edit', changes }).then(expecting(201))
        }
      }),
    ),
  )
  total.service += (await service()) - before.service
  total.database += (await computingOfAll(database)) - before.database
}

async function sumOf(numbers: readonly Promise<number>[]): Promise<number> {
  return (await Promise.all(numbers)).reduce((sum, some) => sum + some, 0)
}

function tell(report: Report, [one, three]: readonly [Side, Side]): void {
  const commits = rounds * clients * each
  const costOf = ({ total }: Side) => (total.service + total.database) / 1_000 / commits
  report.say(`\n${clients} clients, each with its own repository, in three organisations; in turns\n`)
  for (const side of [one, three]) {
    const { ms, service, database } = side.total
    const shares = [service, database].map((some) => (some / 1_000 / commits).toFixed(2))
    report.say(
      `${((commits * 1_000) / ms).toFixed(0).padStart(6)} commits a second: ${side.what}; ` +
        `${costOf(side).toFixed(2)} ms of CPU time each: ${shares[0]} of the service and its Git processes, ${shares[1]} of PostgreSQL`,
    )
  }
  const share = costOf(one) / costOf(three)
  report.say(
    '\nOne process does not use all cores of this machine, and three share them, so their rates do not show what three machines do. The CPU time of a commit shows it: three ' +
      `machines commit 3 x ${share.toFixed(2)} = ${(3 * share).toFixed(2)} times as many as one, while PostgreSQL is not the limit.`,
  )
  const what = 'CPU time of a commit, three cells'
  report.ratio({ what, unit: 'ms', grove: costOf(three), peer: 'one cell', of: costOf(one) })
  const rate = ({ total }: Side) => (commits * 1_000) / total.ms
  report.ratio({
    what: 'commits, three cells on the same cores',
    unit: '/s',
    grove: rate(three),
    peer: 'one cell',
    of: rate(one),
  })
}
