/**
 * A cell whose link to PostgreSQL is cut by `ip link set down`, under the clients of the storm, while another machine serves a
 * copy of its folder under its name: `npm run test:link [-- ROUNDS [SEED]]`, 3 rounds unless said; for root, where network
 * namespaces may be made.
 */

import { cp, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { machineLine } from '../bench/report.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { randomFrom } from '../support/random.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { startStorm } from './clients.ts'
import { type CrashingDatabase, startDatabase } from './database.ts'
import { judgeLeftovers, judgeRepositories } from './folder.ts'
import { judgeAnswers, judgePushes } from './judge.ts'
import { type Machine, makeMachine } from './network.ts'
import { beginWorld, logIn, printCounts, verdict } from './story.ts'
import { placeOf, type World } from './world.ts'

const rounds = Number(process.argv[2] ?? 3)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31))
if (!(rounds >= 1) || !Number.isInteger(seed)) {
  console.error('npm run test:link [-- ROUNDS [SEED]]')
  process.exit(2)
}
/** Milliseconds: the lease, and an answer that was under way. */
const leaseEndsMs = 12_000
const random = randomFrom(seed)
const living = new Set<SpawnedGrove>()
const machines: Machine[] = []
const folders: string[] = []
let database: CrashingDatabase | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)))
let code: number | undefined
try {
  database = await startDatabase(`link ${process.pid}`)
  const { DATABASE_URL: url = '' } = database.environment
  // Once for all rounds: a machine that cannot have one says so.
  machines.push(...(await Promise.all([makeMachine(url), makeMachine(url)])))
} catch (error) {
  await end()
  console.log(`Skipped, for this machine has no link to cut: ${error}`)
  process.exit(0)
}
console.log(machineLine())
console.log(`${rounds} times a cell whose link is cut, under 8 clients, seed ${seed}`)
try {
  const [cell, other] = machines
  for (let round = 0; round < rounds && !code && cell && other; round++) code = await cutOnce(cell, other, round)
} finally {
  await end()
}
if (code !== 0) console.log(`Seed ${seed}; folders stay: ${folders.join(', ')}`)
else for (const folder of folders) await rm(folder, { recursive: true, force: true })
process.exit(code ?? 1)

async function end(): Promise<void> {
  for (const grove of living) await grove.kill()
  for (const machine of machines) await machine.remove()
  await database?.end()
}

async function serve(machine: Machine, dataDir: string, name: string): Promise<SpawnedGrove> {
  const own = { CELL: name, CELL_URL: `http://${machine.address}:3000`, HOST: machine.address, WORKERS: '1' }
  const grove = await spawnGrove(dataDir, { DATABASE_URL: machine.database, ...own }, machine.through)
  living.add(grove)
  return grove
}

/** The exit code. */
async function cutOnce(cell: Machine, other: Machine, round: number): Promise<0 | 1> {
  const [from, to] = [await newDataDir(), await newDataDir()]
  folders.push(from, to)
  const name = `cell-${round}`
  const first = await serve(cell, from, name)
  const world = await beginWorld(from, first, { name: `Ann ${round}` })
  const token = await logIn(world, first)
  const { org } = world
  await client(first, token).patch(`/orgs/${org}`, { published: true }).then(expecting(200))
  const anybody = client(first)
  let isRefusing = false
  const clients = startStorm(world, () => [first], token, {
    clients: 8,
    random,
    tolerated: ({ status }) => isRefusing && status === 503,
    // Until the lease ends, in ten seconds, a few hundred refusals show as much as thousands.
    pauseAtMost: () => (isRefusing ? 300 : 30),
  })
  const reading = readersOf(world, first)
  await sleep(1_000 + 2_000 * random())

  isRefusing = true
  await cell.cut()
  await sleep(leaseEndsMs)
  const acknowledged = () => [...world.counts.values()].reduce((sum, counts) => sum + counts.acknowledged, 0)
  const [before, asked] = [acknowledged(), unknowns(world)]
  await until(() => unknowns(world) > asked)
  // As it is at one moment, with what is under way: locks, and in run/ whose they are. Its gits come to their end.
  process.kill(first.pid, 'SIGSTOP')
  await sleep(200)
  await cp(from, to, { recursive: true }).finally(() => process.kill(first.pid, 'SIGCONT'))
  const second = await serve(other, to, name)
  const beside = await beginWorld(to, second, { name: `Bea ${round}` })
  const besides = startStorm(beside, () => [second], await logIn(beside, second), { clients: 4, random })
  if (acknowledged() > before) world.problems.push('A cell without its lease, and without PostgreSQL, has acknowledged')

  await cell.restore()
  await until(() => first.output().stderr.includes('has taken the lease of this cell'))
  await sleep(3_000)
  await clients.end()
  await besides.end()
  const refused = await client(first, await logIn(world, first)).post(`/orgs/${org}/nodes`, { title: 'Late' })
  if (refused.body.code !== 'storage_readonly')
    world.problems.push(`The first answers ${refused.status} ${JSON.stringify(refused.body)}`)
  await anybody.get(`/orgs/${org}`).then(expecting(200))
  world.problems.push(...(await reading.end()))

  // Whatever the first has acknowledged, at any time, is with the second.
  const kept: World = { ...world, dataDir: to, shared: [] }
  for (const node of world.shared) kept.shared.push({ ...node, ...placeOf(kept, node.id) })
  for (const judged of [kept, beside]) {
    const fresh = await logIn(judged, second)
    await judgeAnswers(judged, second, fresh, true)
    await judgePushes(judged, second, fresh)
  }
  await judgeLeftovers(kept, 1)
  await judgeRepositories(kept)
  printCounts(world)
  for (const grove of [first, second]) {
    await grove.kill()
    living.delete(grove)
  }
  return verdict([...world.problems, ...beside.problems])
}

function unknowns({ counts }: World): number {
  return [...counts.values()].reduce((sum, { unknown }) => sum + unknown, 0)
}

/** Anybody, who reads what is published all the time; at the end, what was not answered with 200. */
function readersOf({ org }: World, door: SpawnedGrove): { end(): Promise<string[]> } {
  const problems: string[] = []
  let over = false
  const readers = [`/orgs/${org}`, `/orgs/${org}/nodes`, `/orgs/${org}/graph`].map(async (path) => {
    while (!over) {
      const unanswered = (error: Error) => ({ status: 0, body: String(error.cause ?? error) })
      const { status, body } = await client(door).get(path).catch(unanswered)
      if (status !== 200) problems.push(`${path} was answered ${status} ${JSON.stringify(body)}`)
      await sleep(50)
    }
  })
  return {
    end: async () => {
      over = true
      await Promise.all(readers)
      return problems
    },
  }
}
