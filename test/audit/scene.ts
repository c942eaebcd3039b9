/** The service, its users and their audit, as the tests of this folder share them. */

import type { components } from '../../spec/types.ts'
import { cli } from '../operator/desk.ts'
import { made } from '../support/cast.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import type { GroveOptions } from '../support/grove.ts'
import { type Client, client, type PersonClient, password } from '../support/people.ts'
import { newScene } from '../support/world.ts'

export type Entry = components['schemas']['AuditEntry']

const scene = newScene({ ann: 'owner', root: 'stranger' })

/** Root is an administrator of the service. */
export const { grove, ann, root } = scene
export let desk: Desk

let passed = 0

/** Moves the clock of the service. Commands have that of the machine. */
export function pass(milliseconds: number): void {
  passed += milliseconds
}

export function now(): Date {
  return new Date(Date.now() + passed)
}

export function useScene(options: GroveOptions = {}): void {
  scene.useScene({ now, ...options })
  before(async () => {
    await made(cliDone('account', 'admin', 'root@example.org'))
    desk = await newDesk()
  })
  after(async () => {
    passed = 0
    await desk.remove()
  })
}

/** Runs a command on the data folder, which must succeed. */
export async function cliDone(...args: string[]) {
  const { code, stdout, stderr } = await cli(grove.dataDir, ...args)
  if (code !== 0) throw new Error(`grove ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  return { status: 200, body: stdout, headers: {} }
}

/** Lists all entries, newest first. */
export async function entriesOf(who: Client, path: string, query = ''): Promise<Entry[]> {
  const all: Entry[] = []
  for (let after = ''; ; ) {
    const { entries, next } = await made(who.get(`${path}?limit=200${query}${after}`))
    all.push(...entries)
    if (next === undefined) return all
    after = `&after=${next}`
  }
}

/** Lists what administrators see. Signs in again if the clock has passed the end of the access token. */
export async function serviceAudit(query = ''): Promise<Entry[]> {
  const isValid = (await root.get('/auth/me')).status === 200
  return entriesOf(isValid ? root : await again(root), '/admin/audit', query)
}

/** Returns the user in a new session. */
export async function again(who: PersonClient): Promise<PersonClient> {
  const { accessToken } = await made(client(grove).post('/auth/login', { email: who.user.email, password }))
  return { ...who, ...client(grove, accessToken) }
}

export const orgAudit = (who: PersonClient = ann, org = who.org, query = '') =>
  entriesOf(who, `/orgs/${org}/audit`, query)
