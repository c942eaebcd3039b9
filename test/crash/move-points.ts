/** Every step of a move at which the command, or the service of the other cell, can die: `npm run test:points -- 'a move'`. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { runGroveCommand } from '../support/command.ts'
import { locksIn, transactionsIn } from '../support/data-folder.ts'
import { type Faults, prepareFaults } from '../support/faults.ts'
import { type Answer, client, newDataDir, password, type SpawnedGrove, signUp, spawnGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { databaseFor, ownServer } from '../support/postgres.ts'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'

type Name = 'one' | 'other'
type Side = 'the command dies' | 'the other cell dies'

interface TestCell {
  readonly dataDir: string
  readonly faults: Faults
  readonly environment: Record<string, string>
  grove: SpawnedGrove
}

/** Milliseconds between two changes of the client. */
const pauseMs = 30
/** What a client may be told while cells die beside it; nothing of it is an answer of 404. */
const passing = ['moving', 'busy', 'outcome_unknown', 'draining', 'storage_readonly']

/** @param every judges each so many steps */
export async function judgeMoves(every: number): Promise<{ readonly rows: string[][]; readonly problems: string[] }> {
  const [first, second] = [await newDataDir(), await newDataDir()]
  const server = await ownServer()
  const database = await databaseFor(first, server)
  const cells = { one: await startCell('one', first, database), other: await startCell('other', second, database) }
  const problems: string[] = []
  const rows: string[][] = []
  try {
    const ann = await signUp(cells.one.grove, 'Ann')
    const org = (await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))).body.id
    const nodes: string[] = []
    for (const title of ['Krill', 'Whale', 'Gone'])
      nodes.push((await ann.post(`/orgs/${org}/nodes`, { title, text_content: '0' }).then(expecting(201))).body.id)
    await ann.delete(`/orgs/${org}/nodes/${nodes.pop()}`).then(expecting(204))
    const scene = {
      cells,
      database,
      org,
      nodes,
      email: ann.user.email,
      acknowledged: new Map<string, number>(),
      problems,
    }
    for (const side of ['the command dies', 'the other cell dies'] as const) {
      let steps = 0
      for (let n = 1; await movesUntil(scene, side, n); n += every) {
        steps++
        console.log(`${side} at step ${n}: ${problems.length} problems`)
      }
      rows.push(['a move', side, String(steps), String(problems.length)])
      console.log(rows.at(-1)?.join(', '))
    }
  } finally {
    for (const { grove, faults, dataDir } of Object.values(cells)) {
      await grove.kill()
      await faults.remove()
      await rm(dataDir, { recursive: true, force: true })
    }
    await server.stop('fast')
  }
  return { rows, problems }
}

interface Scene {
  readonly cells: Record<Name, TestCell>
  readonly database: string
  readonly org: string
  readonly nodes: readonly string[]
  readonly email: string
  /** By node: the count in the last commit that was answered 201. */
  readonly acknowledged: Map<string, number>
  readonly problems: string[]
}

async function startCell(name: Name, dataDir: string, database: string): Promise<TestCell> {
  const faults = prepareFaults()
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const own = { DATABASE_URL: database, CELL: name, CELL_URL: url, PORT: port }
  const environment = { ...own, ...faults.environment }
  return { dataDir, faults, environment, grove: await spawnGrove(dataDir, environment) }
}

/** Moves the organisation to the cell that has it not, while a client writes. False: nothing died before its end. */
async function movesUntil(scene: Scene, side: Side, n: number): Promise<boolean> {
  const { cells, org, problems } = scene
  const from = await whereItIs(scene)
  const to = from === 'one' ? 'other' : 'one'
  const stop = writeOn(scene)
  const said = (what: string) => problems.push(`${side} at step ${n}: ${what}`)
  const died = side === 'the command dies' ? cells[from] : cells[to]
  let hasDied = false
  const command = (environment: Record<string, string>) => {
    const { DATABASE_URL = '', CELL = '', CELL_URL = '' } = cells[from].environment
    return runGroveCommand(cells[from].dataDir, ['move-org', org, to], {
      DATABASE_URL,
      CELL,
      CELL_URL,
      ...environment,
    })
  }
  if (side === 'the command dies') {
    // Its own file: what the service of the same folder does is not counted.
    const faults = prepareFaults()
    await faults.ask(`KILL ${n}`)
    const { code } = await command(faults.environment)
    hasDied = code === null
    await faults.remove()
  } else {
    await died.faults.ask(`KILL ${n} ${org}`)
    const ended = command({})
    void died.grove.exited.then(() => {
      hasDied = true
    })
    let isOver = false
    void ended.then(() => {
      isOver = true
    })
    await until(() => hasDied || isOver)
    await died.faults.none()
    if (hasDied) died.grove = await spawnGrove(died.dataDir, died.environment)
    await ended
  }
  for (let again = 0; (await placeOf(scene)) !== to; again++) {
    const { code, stdout, stderr } = await command({})
    if (code !== 0 && again >= 3) {
      said(`it cannot be moved afterwards: ${code} ${stdout}${stderr}`)
      break
    }
  }
  for (const other of await stop()) said(other)
  await judge(scene, from, to, said)
  return hasDied
}

/** A client that writes to each node in turn, by whichever cell answers. Returns how it is stopped, and what it was told. */
function writeOn({ cells, org, nodes, email, acknowledged }: Scene): () => Promise<string[]> {
  let over = false
  const others: string[] = []
  const write = async () => {
    let token: string | undefined
    for (let at = 0; !over; at++, await sleep(pauseMs)) {
      const { grove } = Object.values(cells)[at % 2] as TestCell // there are two
      const node = nodes[(at >> 1) % nodes.length] ?? ''
      const count = (acknowledged.get(node) ?? 0) + 1
      try {
        token ??= (await client(grove).post('/auth/login', { email, password }).then(expecting(200))).body.accessToken
        const changes = [{ action: 'put', path: 'content.md', content: `${count} ${at}` }]
        const at0 = `/orgs/${org}/nodes/${node}/tree/main/commits`
        const answer = await client(grove, token).post(at0, { message: `Count ${count}`, changes })
        if (answer.status === 201) acknowledged.set(node, count)
        else if (!isPassing(answer))
          others.push(`a commit was answered ${answer.status} ${JSON.stringify(answer.body)}`)
        const read = await client(grove, token).get(`/orgs/${org}/nodes/${node}`)
        if (read.status !== 200 && !isPassing(read))
          others.push(`a node was answered ${read.status} ${JSON.stringify(read.body)}`)
      } catch {
        // The cell has died, or is not up yet.
      }
    }
  }
  const writing = write()
  return async () => {
    over = true
    await writing
    return others
  }
}

function isPassing({ status, body }: Answer): boolean {
  return status === 503 && passing.includes(body.code)
}

async function judge(scene: Scene, from: Name, to: Name, said: (what: string) => void): Promise<void> {
  const { cells, org, nodes, email, acknowledged } = scene
  const [source, target] = [cells[from], cells[to]]
  await until(async () => !(await readdir(source.dataDir)).includes(org)).catch(() => said('its folder stays'))
  if (!(await readdir(target.dataDir)).includes(org)) said('its folder is missing')
  for (const { dataDir } of [source, target]) {
    const foreign = (await readdir(dataDir)).filter((name) => name.startsWith('foreign-'))
    if (foreign.length > 0) said(`set aside: ${foreign}`)
    await until(async () => [...(await locksIn(dataDir)), ...(await transactionsIn(dataDir))].length === 0).catch(() =>
      said('locks or transactions are left'),
    )
  }
  if ((await readdir(target.dataDir)).includes('closed')) said('it stays closed')
  const arriving = await readdir(join(target.dataDir, 'arriving'))
  if (arriving.length > 0) said(`left in arriving: ${arriving}`)
  const { accessToken } = (await client(source.grove).post('/auth/login', { email, password }).then(expecting(200)))
    .body
  for (const node of nodes) {
    let found: Answer | undefined
    await until(async () => {
      found = await client(source.grove, accessToken).get(`/orgs/${org}/nodes/${node}/tree/main/commits?limit=200`)
      return found.status === 200
    })
    const counts = (found?.body.history ?? []).map(({ message }: { message: string }) => message)
    const count = acknowledged.get(node) ?? 0
    if (count > 0 && !counts.includes(`Count ${count}`)) said(`the commit ${count} of ${node}, acknowledged, is lost`)
  }
}

async function whereItIs(scene: Scene): Promise<Name> {
  let found: Name | undefined
  await until(async () => {
    found = await placeOf(scene)
    return found !== undefined
  })
  return found ?? 'one'
}

async function placeOf({ database, org }: Scene): Promise<Name | undefined> {
  const db = new pg.Client({ connectionString: database })
  await db.connect()
  try {
    const { rows } = await db.query('select cell, state from place where org_id = $1', [org])
    return rows[0]?.state === 'here' ? rows[0].cell : undefined
  } finally {
    await db.end()
  }
}
