/**
 * Power cuts: a service under the clients of the storm, on a disk whose journal stops at any moment.
 * `npm run test:power [-- CUTS [SEED]]`, 20 cuts unless said; for root, where loop devices may be mounted. With `--cell`
 * the disk is a cell's: after each cut another machine has it, which starts with the same CELL and an address of its own
 * while the lease of the one before runs.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { machineLine } from '../bench/report.ts'
import { faultsIn } from '../support/log.ts'
import { randomFrom } from '../support/random.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { startStorm } from './clients.ts'
import { startDatabase } from './database.ts'
import { type Disk, makeDisk } from './disk.ts'
import { judgeLeftovers, judgeRebuild, judgeRepositories, judgeSecondReader, meetLocks } from './folder.ts'
import { type Followers, followersEnvironment, startFollowers } from './followers.ts'
import { judgeAnswers, judgePushes } from './judge.ts'
import { judgeEvents, judgeSame, judgeShown } from './judge-events.ts'
import { beginWorld, logIn, printCounts, verdict } from './story.ts'

const { values, positionals } = parseArgs({
  options: { cell: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const cuts = Number(positionals[0] ?? 20)
const seed = Number(positionals[1] ?? Math.floor(Math.random() * 2 ** 31))
if (!(cuts >= 1) || !Number.isInteger(seed)) {
  console.error('npm run test:power [-- CUTS [SEED]] [--cell]')
  process.exit(2)
}
const disk = await makeDisk().catch((error: unknown) => {
  console.log(`Skipped, for this machine has no disk to cut the power of: ${error}`)
  process.exit(0)
})
console.log(machineLine())
console.log(`${cuts} power cuts of ${values.cell ? 'a cell' : 'one process'} under 8 clients, seed ${seed}`)
const database = values.cell ? await startDatabase(`power ${process.pid}`) : undefined
let living: SpawnedGrove | undefined
let followers: Followers | undefined
const end = async () => {
  await followers?.end()
  await living?.kill()
  await database?.end()
  await disk.remove()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)))
let code = 1
try {
  code = await storm(disk)
} finally {
  await end()
}
process.exit(code)

async function storm({ folder, cutPower, remount }: Disk): Promise<number> {
  const random = randomFrom(seed)
  const started = performance.now()
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)
  let machine = 0
  const own = () => ({
    ...followersEnvironment,
    ...(database && { ...database.environment, CELL: 'cell', CELL_URL: `http://machine-${machine}.example:3000` }),
  })
  const start = async () => {
    machine++
    living = await spawnGrove(dataDir, own())
    return living
  }
  let grove = await start()
  const world = await beginWorld(dataDir, grove, { environment: own() })
  let isCut = false
  const doors = () => (living ? [living] : [])
  const first = await logIn(world, grove)
  // Their files are on another disk.
  followers = await startFollowers(world, doors, { random, token: first, tolerated: [500, 503] })
  const clients = startStorm(world, doors, first, {
    clients: 8,
    random,
    // Whatever it says then is no promise; that nothing is there any more would be a lie.
    tolerated: ({ status }) => isCut && status >= 500,
  })
  for (let cut = 0; cut < cuts; cut++) {
    await sleep(500 + 2_500 * random())
    isCut = true
    await cutPower()
    // For some, answers still come.
    await sleep(200 * random())
    await grove.kill()
    living = undefined
    await clients.pause()
    await remount()
    isCut = false
    grove = await start()
    const token = await logIn(world, grove)
    clients.speak(token)
    judgeShown(world, followers)
    await judgeAnswers(world, grove, token, cut === cuts - 1)
    await meetLocks(world)
    await judgePushes(world, grove, token)
    await judgeLeftovers(world, 1)
    await judgeRepositories(world)
    if (world.problems.length > 0) {
      console.log(faultsIn(grove.output().stderr).join('\n'))
      break
    }
    if (cut < cuts - 1) clients.resume()
  }
  await clients.end()
  const token = await logIn(world, grove)
  const events = await judgeEvents(world, followers)
  await judgeRebuild(world, token, [grove], async () => void (await grove.stop()), start)
  judgeSame(world, events)
  await judgeSecondReader(world)
  printCounts(world)
  console.log(`${cuts} power cuts in ${((performance.now() - started) / 1_000).toFixed(0)} s`)
  const wrong = verdict(world.problems)
  if (wrong > 0) console.log(`Seed ${seed}`)
  return wrong
}
