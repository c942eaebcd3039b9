/** Two cells on one database, in this process; and what lies in their folders and in the directory. */

import { readdir, rm } from 'node:fs/promises'
import { expect } from 'chai'
import { v7 as newId } from 'uuid'
import { insertAccount } from '../../index/credentials/accounts.ts'
import { listPlaces } from '../../index/credentials/places.ts'
import type { PlaceRow } from '../../index/credentials/schema.ts'
import type { Person } from '../../server/domain/actor.ts'
import { type CellDeps, requireCell } from '../../server/domain/cells/cell.ts'
import { isId } from '../../server/domain/layout.ts'
import { type Finished, runCommand, withoutProgress } from '../support/command.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password } from '../support/people.ts'
import { databaseFor } from '../support/postgres.ts'

/** A service that is a cell. */
interface CellGrove extends Grove {
  readonly deps: CellDeps
}

export let here: CellGrove
export let there: CellGrove
/** The database of both. */
export let database: string

/** Where the others reach a cell from now on: known once it listens. */
export async function setUrl(name: string, url: string): Promise<void> {
  await here.deps.credentials.write((trx) => trx.updateTable('cell').set({ url }).where('name', '=', name).execute())
  for (const { deps } of [here, there]) deps.placement.places.clear()
}

/** So that both cells reach each other. */
export async function setUrls(): Promise<void> {
  await setUrl('here', here.url)
  await setUrl('there', there.url)
}

/** Its address is one where nothing answers. */
export function cellNamed(name: string) {
  return { name, url: `http://${name}.example:3000` }
}

export async function startCell(name: string, options: GroveOptions = {}): Promise<CellGrove> {
  const grove = await startGrove({ cell: cellNamed(name), postgres: database, ...options })
  return { ...grove, deps: requireCell(grove.deps) }
}

/** Cells `here` and `there`; by default on a database of the run's server. */
export function useCells(
  options: GroveOptions = {},
  newDatabase: (key: string) => Promise<string> = databaseFor,
): void {
  const folders: string[] = []
  before(async () => {
    folders.push(await newDataDir(), await newDataDir())
    database = await newDatabase(folders.join())
    here = await startCell('here', { ...options, dataDir: folders[0] ?? '' })
    there = await startCell('there', { ...options, dataDir: folders[1] ?? '' })
  })
  after(async () => {
    await here?.close()
    await there?.close()
    for (const folder of folders) await rm(folder, { recursive: true })
  })
}

/** The same person at another cell. */
export async function signIn(grove: Grove, { user }: PersonClient): Promise<PersonClient> {
  const { body } = await client(grove).post('/auth/login', { email: user.email, password }).then(expecting(200))
  return { ...client(grove, body.accessToken), user: body.user, org: body.user.org_id, session: body }
}

export async function orgsIn({ dataDir }: { readonly dataDir: string }): Promise<string[]> {
  return (await readdir(dataDir)).filter(isId)
}

export async function placeOf(orgId: string): Promise<PlaceRow | undefined> {
  return (await listPlaces(here.deps.credentials.read, [orgId]))[0]
}

/** The organisations of a person as a cell lists them. */
export async function listedAt(person: PersonClient) {
  return (await person.get('/orgs?limit=200').then(expecting(200))).body.orgs
}

/** A person whose personal organisation is not made yet. */
export async function newcomer(name: string): Promise<{ readonly person: Person; readonly org: string }> {
  const [id, org] = [newId(), newId()]
  const email = `${id}@example.org`
  const account = { id, email, name, password_hash: 'none', created_at: new Date().toISOString(), org_id: org }
  await here.deps.credentials.write((trx) => insertAccount(trx, { ...account, hide_email: 0 }))
  return { person: { kind: 'person', id, email, name, isAdmin: false }, org }
}

/** A command of the operator at a cell, without its progress. */
export async function groveAt(at: Grove, ...args: readonly string[]): Promise<Finished> {
  const cell = at === here ? 'here' : 'there'
  return withoutProgress(
    await runCommand(args, {
      ...process.env,
      ...{ DATA_DIR: at.dataDir, LOG_LEVEL: 'warn', DATABASE_URL: database, CELL: cell, CELL_URL: cellNamed(cell).url },
    }),
  )
}

/** From the other cell, where it is. */
export function move(org: string, to: 'here' | 'there'): Promise<Finished> {
  return groveAt(to === 'there' ? here : there, 'move-org', org, to)
}

/** Moves an organisation, and says why if the command refuses. */
export async function moved(org: string, to: 'here' | 'there'): Promise<void> {
  const { code, stdout, stderr } = await move(org, to)
  expect(code, stdout + stderr).to.equal(0)
}
