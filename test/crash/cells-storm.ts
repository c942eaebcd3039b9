/**
 * Three cells of one database under clients that ask any of them, whosever an organisation is. Cells are killed and start
 * again on their folders, and in one round of three, the first, PostgreSQL crashes beside: `npm run test:crash -- KILLS --cells`.
 */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../support/people.ts'
import { randomFrom } from '../support/random.ts'
import { pick } from './actor.ts'
import { type CrashingCell, startCells } from './cells.ts'
import { type Storm, startStorm } from './clients.ts'
import { startDatabase } from './database.ts'
import { judgeLeftovers, judgeRepositories } from './folder.ts'
import { judgeAnswers, judgePushes } from './judge.ts'
import { judgeDirectory, judgeDoctors } from './judge-cells.ts'
import { beginWorld, logIn, printCounts, summed, verdict } from './story.ts'
import type { World } from './world.ts'

const names = ['a', 'b', 'c']
const clientsOfEach = 2

/** The exit code. */
export async function stormCells(kills: number, seed: number): Promise<0 | 1> {
  console.log(`${kills} rounds of kills of three cells under ${names.length * clientsOfEach} clients, seed ${seed}`)
  const random = randomFrom(seed)
  const started = performance.now()
  const database = await startDatabase(`cells ${process.pid}`)
  const cells = await startCells(names, database.environment)
  const end = () => cells.end().finally(() => database.end())
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)))
  const made = { cells: 0, databases: 0 }
  const worlds: World[] = []
  const storms: Storm[] = []
  let code: 0 | 1 = 1

  const problems = () => worlds.flatMap(({ problems }) => problems)
  const tolerated = ({ status, body }: Answer) => status === 503 && (database.isAway() || typeof body === 'string')
  const pauseAtMost = () => (database.isAway() || cells.doors().length < names.length ? 400 : 30)
  /** Each organisation is asked for at another cell than its own. */
  const judge = async (round: number, all: boolean) => {
    for (const [at, world] of worlds.entries()) {
      const other = cells.all[(at + 1 + (round % 2)) % names.length]?.grove
      if (other === undefined) throw new Error('A cell does not live')
      const token = await logIn(world, other)
      storms[at]?.speak(token)
      await judgeAnswers(world, other, token, all)
      await judgePushes(world, other, token)
      await judgeLeftovers(world, 1)
    }
  }

  try {
    for (const cell of cells.all) {
      if (cell.grove === undefined) throw new Error('A cell does not live')
      const options = { name: `Ann ${cell.name}`, environment: cell.environment }
      const world = await beginWorld(cell.dataDir, cell.grove, options)
      worlds.push(world)
    }
    for (const [at, world] of worlds.entries()) {
      const door = pick(cells.doors(), random) ?? cells.all[at]?.grove
      if (door === undefined) throw new Error('No cell lives')
      const clients = { clients: clientsOfEach, random, tolerated, pauseAtMost }
      storms.push(startStorm(world, cells.doors, await logIn(world, door), clients))
    }
    for (let round = 0; round < kills && problems().length === 0; round++) {
      await sleep(500 + 1_500 * random())
      if (round % 3 === 0) {
        await database.crash()
        made.databases++
        await sleep(500 * random())
      }
      const dying = cells.all.filter(() => random() < 0.5)
      const killed: readonly CrashingCell[] = dying.length > 0 ? dying : cells.all.slice(0, 1)
      await Promise.all(killed.map((cell) => cells.kill(cell)))
      made.cells += killed.length
      if (round % 3 === 0) await database.start()
      await sleep(300 * random())
      // Each waits for the end of its own lease; the others go on.
      await Promise.all(killed.map((cell) => cells.start(cell)))
      await sleep(500)
      await Promise.all(storms.map((storm) => storm.pause()))
      database.settled()
      await judge(round, false)
      for (const storm of storms) storm.resume()
    }
    await Promise.all(storms.map((storm) => storm.end()))
    // A start compares the directory with its folder.
    await cells.stop()
    for (const cell of cells.all) await cells.start(cell)
    await judge(kills, true)
    const [first] = worlds
    for (const world of worlds) await judgeRepositories(world)
    first?.problems.push(
      ...(await judgeDirectory(database, cells.all)),
      ...(await judgeDoctors(cells.all)),
      ...cells.errors().filter((line) => !database.caused(line)),
    )
    printCounts({ counts: summed(worlds) })
    const seconds = ((performance.now() - started) / 1_000).toFixed(0)
    console.log(`${made.cells} kills of cells and ${made.databases} crashes of PostgreSQL in ${seconds} s`)
    code = verdict(problems())
    if (code > 0) console.log(`Seed ${seed}; folders stay: ${cells.all.map(({ dataDir }) => dataDir).join(', ')}`)
    return code
  } finally {
    await end()
    if (code === 0) for (const { dataDir } of cells.all) await rm(dataDir, { recursive: true, force: true })
  }
}
