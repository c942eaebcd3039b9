/** Every step of a move at which the command, or the service of the other cell, can die: `npm run test:points -- 'a move'`. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { exists } from '../../gitstore/fs-exists.ts'
import { runGroveCommand } from '../support/command.ts'
import { locksIn, newDataDir, transactionsIn } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client } from '../support/people.ts'
import { databaseFor, ownServer } from '../support/postgres.ts'
import { randomFrom } from '../support/random.ts'
import { freePort } from '../support/servers.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { type Storm, startStorm } from './clients.ts'
import { judgeRepositories } from './folder.ts'
import { judgeAnswers, judgePushes } from './judge.ts'
import { judgeDirectory } from './judge-cells.ts'
import { actInOrg } from './operations.ts'
import { beginWorld, logIn, printCounts, summed } from './story.ts'
import type { World } from './world.ts'

type Name = 'one' | 'other'
type Side = 'the command dies' | 'the other cell dies'

interface TestCell {
  readonly name: Name
  readonly dataDir: string
  readonly faults: Faults
  readonly environment: Record<string, string>
  grove: SpawnedGrove
  isAlive: boolean
}

const clients = 8
/** Milliseconds that a client waits between two changes, at most: while the move goes on, and while it is repaired. */
const pauseMs = { moving: 1_000, repaired: 12_000 }
/** One organisation goes to and fro so often; then comes another, for its history not to grow. */
const movesOfOne = 4

/**
 * Ends with the first step that is not well.
 *
 * @param every judges each so many steps of the other cell, and a tenth of that of the command, which has fewer. The first
 *   is random, so that many runs cover all
 */
export async function judgeMoves(every: number): Promise<{ readonly rows: string[][]; readonly problems: string[] }> {
  const [first, second] = [await newDataDir(), await newDataDir()]
  const server = await ownServer()
  const database = await databaseFor(first, server)
  const cells = { one: await startCell('one', first, database), other: await startCell('other', second, database) }
  const problems: string[] = []
  const rows: string[][] = []
  const strides = { 'the command dies': Math.ceil(every / 10), 'the other cell dies': every }
  const worlds: World[] = []
  let scene: Scene | undefined
  let moves = 0
  try {
    for (const side of ['the command dies', 'the other cell dies'] as const) {
      let steps = 0
      const begin = 1 + Math.floor(Math.random() * strides[side])
      for (let n = begin, hasDied = true; hasDied && problems.length === 0; n += strides[side]) {
        if (moves++ % movesOfOne === 0) {
          await scene?.storm.end()
          scene = await beginScene(cells, database, problems)
          worlds.push(scene.world)
        }
        if (scene) hasDied = await movesUntil(scene, side, n)
        steps++
        console.log(`${side} at step ${n}${hasDied ? '' : ', after its end'}: ${problems.length} problems`)
      }
      rows.push(['a move', side, String(steps), String(problems.length)])
      console.log(rows.at(-1)?.join(', '))
    }
  } finally {
    await scene?.storm.end()
    for (const { grove, faults, dataDir } of Object.values(cells)) {
      await grove.kill()
      await faults.remove()
      await rm(dataDir, { recursive: true, force: true })
    }
    await server.stop('fast')
    await server.remove()
  }
  printCounts({ counts: summed(worlds) })
  return { rows, problems }
}

interface Scene {
  readonly cells: Record<Name, TestCell>
  readonly database: string
  readonly world: World
  readonly storm: Storm
  /** Whether a move goes on, and is not repaired. */
  isMoving: boolean
  readonly problems: string[]
}

async function startCell(name: Name, dataDir: string, database: string): Promise<TestCell> {
  const faults = prepareFaults()
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const own = { DATABASE_URL: database, CELL: name, CELL_URL: url, PORT: port }
  const environment = { ...own, ...faults.environment }
  const cell = { name, dataDir, faults, environment, isAlive: true, grove: await spawnGrove(dataDir, environment) }
  watch(cell)
  return cell
}

function watch(cell: TestCell): void {
  cell.isAlive = true
  void cell.grove.exited.then(() => {
    cell.isAlive = false
  })
}

/** Whether it had died. Once the lease of the one before has ended. */
async function startAgain(cell: TestCell): Promise<boolean> {
  const answers = await client(cell.grove)
    .get('/healthz')
    .then(
      () => true,
      () => false,
    )
  if (answers) return false
  await cell.grove.exited
  cell.grove = await spawnGrove(cell.dataDir, cell.environment)
  watch(cell)
  return true
}

/** An organisation of the first cell, with clients that wait: of its nodes one is deleted, and moves too. */
async function beginScene(cells: Scene['cells'], database: string, problems: string[]): Promise<Scene> {
  const { grove, dataDir } = cells.one
  const world = await beginWorld(dataDir, grove, { name: `Ann ${performance.now()}` })
  const token = await logIn(world, grove)
  const person = client(grove, token)
  const { id } = (await person.post(`/orgs/${world.org}/nodes`, { title: 'Gone' }).then(expecting(201))).body
  await person.delete(`/orgs/${world.org}/nodes/${id}`).then(expecting(204))
  const doors = () => Object.values(cells).flatMap(({ grove, isAlive }) => (isAlive ? [grove] : []))
  const storm = startStorm(world, doors, token, {
    clients,
    random: randomFrom(1),
    act: actInOrg,
    tolerated,
    refusals: ['busy', 'moving', 'draining', 'storage_readonly'],
    pauseAtMost: () => (scene.isMoving ? pauseMs.moving : pauseMs.repaired),
  })
  const scene: Scene = { cells, database, world, storm, isMoving: true, problems }
  await storm.pause()
  return scene
}

/** Of HTTP git shows the status alone, so that it may be 503 `outcome_unknown`; a push is told the latter in a sentence. */
function tolerated({ status, body }: Answer): boolean {
  return status === 503 && typeof body === 'string' && /error: 503|lease of this cell ended/.test(body)
}

/** Moves the organisation to the cell that has it not, while clients write. False: nothing died before its end. */
async function movesUntil(scene: Scene, side: Side, n: number): Promise<boolean> {
  const { world, storm, problems } = scene
  const from = await whereItIs(scene)
  const to = from === 'one' ? 'other' : 'one'
  scene.isMoving = true
  storm.resume()
  const hasDied = await (side === 'the command dies' ? commandDies : otherDies)(scene, from, to, n)
  for (let again = 0; (await placeOf(scene)) !== to; again++) {
    const { code, stdout, stderr } = await move(scene, from, to)
    if (code !== 0 && again >= 3) {
      world.problems.push(`it cannot be moved afterwards: ${code} ${stdout}${stderr}`)
      break
    }
  }
  await storm.pause()
  await judge(scene, from, to).catch((error: unknown) => world.problems.push(`it cannot be judged: ${error}`))
  problems.push(...world.problems.splice(0).map((problem) => `${side} at step ${n}: ${problem}`))
  return hasDied
}

async function commandDies(scene: Scene, from: Name, to: Name, n: number): Promise<boolean> {
  // Its own file: what the service of the same folder does is not counted.
  const faults = prepareFaults()
  await faults.ask(`KILL ${n}`)
  const { code } = await move(scene, from, to, faults.environment)
  scene.isMoving = false
  await faults.remove()
  return code === null
}

async function otherDies(scene: Scene, from: Name, to: Name, n: number): Promise<boolean> {
  const { cells, storm, world } = scene
  const dying = cells[to]
  await dying.faults.ask(`KILL ${n} ${world.org}`)
  let isOver = false
  const ended = move(scene, from, to).then(() => {
    isOver = true
  })
  await until(() => isOver || !dying.isAlive)
  scene.isMoving = false
  // What clients do there is counted too: once they wait, it is dead or lives on.
  if (isOver) await storm.pause()
  await dying.faults.none()
  const hasDied = await startAgain(dying)
  storm.resume()
  await ended
  return hasDied
}

function move({ cells, world }: Scene, from: Name, to: Name, environment: Record<string, string> = {}) {
  const { DATABASE_URL = '', CELL = '', CELL_URL = '' } = cells[from].environment
  const own = { DATABASE_URL, CELL, CELL_URL, ...environment }
  return runGroveCommand(cells[from].dataDir, ['move-org', world.org, to], own)
}

/** Nothing is in flight. */
async function judge(scene: Scene, from: Name, to: Name): Promise<void> {
  const { cells, world, storm, database } = scene
  const [source, target] = [cells[from], cells[to]]
  const said = (what: string) => world.problems.push(what)
  await until(async () => !(await readdir(source.dataDir)).includes(world.org)).catch(() => said('its folder stays'))
  for (const { dataDir } of [source, target])
    await until(async () => [...(await locksIn(dataDir)), ...(await transactionsIn(dataDir))].length === 0).catch(() =>
      said('locks or transactions are left'),
    )
  if (exists(join(target.dataDir, world.org, 'closed'))) said('it stays closed')
  const arriving = await readdir(join(target.dataDir, 'arriving'))
  if (arriving.length > 0) said(`left in arriving: ${arriving}`)
  world.problems.push(...(await judgeDirectory({ environment: { DATABASE_URL: database } }, [source, target])))
  world.dataDir = target.dataDir
  const token = await logIn(world, source.grove)
  storm.speak(token)
  await until(async () => (await client(source.grove, token).get(`/orgs/${world.org}`)).status === 200)
  await judgeAnswers(world, source.grove, token, true)
  await judgePushes(world, source.grove, token)
  await judgeRepositories(world)
}

async function whereItIs(scene: Scene): Promise<Name> {
  let found: Name | undefined
  await until(async () => {
    found = await placeOf(scene)
    return found !== undefined
  })
  return found ?? 'one'
}

async function placeOf({ database, world }: Scene): Promise<Name | undefined> {
  const db = new pg.Client({ connectionString: database })
  await db.connect()
  try {
    const { rows } = await db.query('select cell, state from place where org_id = $1', [world.org])
    return rows[0]?.state === 'here' ? rows[0].cell : undefined
  } finally {
    await db.end()
  }
}
