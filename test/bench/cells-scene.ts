/** Cells with one PostgreSQL to measure, and one user who has an organisation in each. */

import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newDataDir } from '../support/data-folder.ts'
import type { Headers } from '../support/exchange.ts'
import { expecting } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { databaseFor, type PostgresServer } from '../support/postgres.ts'
import { freePort } from '../support/servers.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import type { BenchNode } from './scene.ts'

export interface BenchCell {
  readonly name: string
  readonly grove: SpawnedGrove
}

export interface CellScene {
  readonly cells: readonly BenchCell[]
  readonly databaseUrl: string
  /** The user's token, valid at every cell. */
  readonly token: string
  readonly headers: Headers
  /** Creates an organisation in the cell and returns its id. */
  org(cell: BenchCell): Promise<string>
  node(cell: BenchCell, org: string, fields?: object): Promise<BenchNode>
  close(): Promise<void>
}

/** Starts the cells. The user's token is valid for 15 minutes. */
export async function openCells(server: PostgresServer, names: readonly string[]): Promise<CellScene> {
  const databaseUrl = await databaseFor(`bench ${names.join()}`, server)
  const cells: BenchCell[] = []
  const abandon = () => {
    for (const { grove } of cells) {
      process.kill(grove.pid, 'SIGKILL')
      rmSync(grove.dataDir, { recursive: true, force: true })
    }
  }
  // For a run that is interrupted.
  process.once('exit', abandon)
  for (const name of names) {
    const port = String(await freePort())
    const own = { CELL: name, CELL_URL: `http://127.0.0.1:${port}`, PORT: port }
    cells.push({ name, grove: await spawnGrove(await newDataDir(), { DATABASE_URL: databaseUrl, ...own }) })
  }
  const [first] = cells
  if (first === undefined) throw new Error('There is no cell')
  const token = (await signUp(first.grove, 'Ann')).session.accessToken
  return {
    cells,
    databaseUrl,
    token,
    headers: { authorization: `Bearer ${token}` },
    org: async ({ name, grove }) =>
      (
        await client(grove, token)
          .post('/orgs', { name: `At ${name}` })
          .then(expecting(201))
      ).body.id,
    node: async ({ grove }, org, fields = {}) => {
      const at = `/orgs/${org}/nodes`
      const { body } = await client(grove, token)
        .post(at, { title: 'History', ...fields })
        .then(expecting(201))
      return { id: body.id, at: `${at}/${body.id}`, repo: join(grove.dataDir, org, `${body.id}.git`) }
    },
    close: async () => {
      process.off('exit', abandon)
      for (const { grove } of cells) {
        await grove.stop()
        await rm(grove.dataDir, { recursive: true, force: true })
      }
    },
  }
}
