/** Shared by the tests of organisations. It has a service whose clock they move, and three users. */

import { expecting } from '../support/node.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { newScene } from '../support/world.ts'

export const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

const roles = { ann: 'owner', bob: 'stranger', cleo: 'stranger' } as const

export const { grove, ann, bob, cleo, now, pass, newUser, useScene } = newScene(roles, { clock: true })

/** A second after the organisation before. */
export async function newOrg(fields: object = {}, owner: PersonClient = ann): Promise<string> {
  pass(1)
  return (await owner.post('/orgs', { name: 'Atlas', ...fields }).then(expecting(201))).body.id
}

export function put(org: string, person: PersonClient, role: string): Promise<Answer> {
  pass(1)
  return ann.put(`/orgs/${org}/members/${person.user.email}`, { role })
}

export async function rolesOf(org: string): Promise<Record<string, string>> {
  const { members } = await ann.api.listMembers({ path: { org_id: org } })
  return Object.fromEntries(members.map(({ name, role }) => [name, role]))
}
