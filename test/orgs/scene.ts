/** What the tests of organisations share: a service whose clock they move, and three people. */

import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'

export const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

export let grove: Grove

export let ann: PersonClient

export let bob: PersonClient

export let cleo: PersonClient

export let time = 0

export const later = () => {
  time += 1000
}

/** A second after whatever was before. */
export async function newOrg(fields: object = {}, owner = ann): Promise<string> {
  later()
  return (await owner.post('/orgs', { name: 'Atlas', ...fields }).then(expecting(201))).body.id
}

export function put(org: string, person: PersonClient, role: string, by = ann): Promise<Answer> {
  later()
  return by.put(`/orgs/${org}/members/${person.user.email}`, { role })
}

export async function rolesOf(org: string): Promise<Record<string, string>> {
  const { body } = await ann.get(`/orgs/${org}/members`).then(expecting(200))
  return Object.fromEntries(body.members.map((member: { name: string; role: string }) => [member.name, member.role]))
}

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    cleo = await signUp(grove, 'Cleo')
  })
  after(() => grove.close())
}
