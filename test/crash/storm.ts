/**
 * Eight clients over two processes on one data folder, either of which is killed at any moment, one time in seven between
 * the renames of one ref transaction. `npm run test:crash [-- KILLS [SEED]]`, 50 kills unless said. With `--postgres`
 * credentials are in a PostgreSQL that crashes, too: in two rounds of three, in one of these beside a process. `--cells`: cells-storm.ts.
 */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { machineLine } from '../bench/report.ts'
import { newDataDir } from '../support/data-folder.ts'
import { randomFrom } from '../support/random.ts'
import { stormCells } from './cells-storm.ts'
import { startStorm } from './clients.ts'
import { startDatabase } from './database.ts'
import { judgeLeftovers, judgeRebuild, judgeRepositories, judgeSecondReader } from './folder.ts'
import { type Followers, followersEnvironment, startFollowers } from './followers.ts'
import { judgeAnswers, judgePushes } from './judge.ts'
import { judgeEvents, judgeSame, judgeShown } from './judge-events.ts'
import { startProcesses } from './processes.ts'
import { judgeSets } from './sets.ts'
import { beginWorld, logIn, printCounts, verdict } from './story.ts'

const { values, positionals } = parseArgs({
  options: { postgres: { type: 'boolean', default: false }, cells: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const kills = Number(positionals[0] ?? 50)
const seed = Number(positionals[1] ?? Math.floor(Math.random() * 2 ** 31))
if (!(kills >= 1) || !Number.isInteger(seed)) {
  console.error('npm run test:crash [-- KILLS [SEED]] [--postgres | --cells]')
  process.exit(2)
}
console.log(machineLine())
if (values.cells) process.exit(await stormCells(kills, seed))
console.log(`${kills} kills of two processes${values.postgres ? ' or PostgreSQL' : ''} under 8 clients, seed ${seed}`)

const random = randomFrom(seed)
const started = performance.now()
const dataDir = await newDataDir()
const database = values.postgres ? await startDatabase(dataDir) : undefined
const environment = { ...database?.environment, ...followersEnvironment }
const processes = await startProcesses(dataDir, 2, environment)
let followers: Followers | undefined
const endAll = async () => {
  await followers?.end()
  await processes.end().finally(() => database?.end())
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void endAll().finally(() => process.exit(130)))
const made = { plain: 0, within: 0, both: 0, database: 0 }
let code = 1
try {
  const [door] = processes.doors()
  if (!door) throw new Error('No process lives')
  const world = await beginWorld(dataDir, door, { environment })
  const first = await logIn(world, door)
  followers = await startFollowers(world, processes.doors, { random, token: first })
  const storm = startStorm(world, processes.doors, first, {
    clients: 8,
    reviewer: await logIn({ email: world.reviewer }, door),
    random,
    tolerated: ({ status }) => status === 503 && (database?.isAway() ?? false),
    pauseAtMost: () => (database?.isAway() ? 1_000 : 30),
  })
  for (let kill = 0; kill < kills; kill++) {
    const seat = random() < 0.5 ? 0 : 1
    await sleep(300 + 1_200 * random())
    const crashes = database !== undefined && kill % 3 < 2
    if (crashes) {
      await database.crash()
      made.database++
      await sleep(500 * random())
    }
    if (crashes && kill % 3 === 1) {
      await sleep(500 * random())
    } else if (kill % 7 === 3) {
      if (await processes.killWithin(seat, 1 + Math.floor(random() * 6), 15_000)) made.within++
      else made.plain++
    } else {
      await processes.kill(seat)
      made.plain++
    }
    if (crashes) await database.start()
    // The other one meets what this one held.
    await sleep(300 + 700 * random())
    if (kill % 10 === 9) {
      await processes.kill(1 - seat)
      made.both++
      await processes.restart(1 - seat)
    }
    if (processes.doors().length < 2) await processes.restart(seat)
    await storm.pause()
    database?.settled()
    const [alive] = processes.doors()
    if (!alive) throw new Error('No process lives')
    const token = await logIn(world, alive)
    storm.speak(token, await logIn({ email: world.reviewer }, alive))
    await judgeAnswers(world, alive, token, false)
    await judgePushes(world, alive, token)
    await judgeLeftovers(world, 2)
    judgeShown(world, followers)
    if (world.problems.length > 0) break
    storm.resume()
  }
  await storm.end()
  const doors = processes.doors()
  const [alive = door] = doors
  const token = await logIn(world, alive)
  await judgeAnswers(world, alive, token, true)
  await judgePushes(world, alive, token)
  await judgeLeftovers(world, 2)
  await judgeRepositories(world)
  judgeSets(world)
  const events = await judgeEvents(world, followers)
  await judgeRebuild(world, token, doors, processes.stop, async () => {
    await processes.restart(0)
    return processes.doors()[0] ?? door
  })
  judgeSame(world, events)
  await judgeSecondReader(world)
  world.problems.push(...processes.errors().filter((line) => !database?.caused(line)))
  printCounts(world)
  const seconds = ((performance.now() - started) / 1_000).toFixed(0)
  console.log(
    `${made.plain + made.within + made.both} kills in ${seconds} s: ${made.plain} at any moment, ${made.within} between the renames of a transaction, ${made.both} of the second process too${database ? `; ${made.database} crashes of PostgreSQL` : ''}`,
  )
  code = verdict(world.problems)
  if (code > 0) console.log(`Seed ${seed}; the data folder stays at ${dataDir}`)
} finally {
  await endAll()
  if (code === 0) await rm(dataDir, { recursive: true, force: true })
}
process.exit(code)
