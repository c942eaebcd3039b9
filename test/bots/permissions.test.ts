/** A bot may do what its role allows, except operations that need a session. */

import { expect } from 'chai'
import { table } from '../support/attempts.ts'
import { castFor, type World, worldOf } from '../support/cast.ts'
import type { Client } from '../support/people.ts'
import { attemptOf, expectedStatus, type Operation, send, specOperations } from '../support/permissions.ts'
import { metricsToken } from '../support/scrapes.ts'
import { atBoundaries, isDeep } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'
import { newBot, speaking } from './scene.ts'

const roles = ['reader', 'contributor', 'editor', 'maintainer'] as const
const accesses = ['read', 'propose', 'write'] as const

describe('the permissions of a bot', () => {
  const { grove } = useWorld({}, { publicUrl: 'https://grove.example', metricsToken })
  let world: World
  const bots = new Map<string, Client>()
  before(async () => {
    world = await worldOf(await castFor(grove), false)
    for (const role of roles) {
      const { id } = await newBot(world.owner, world.org, { role })
      for (const access of accesses)
        bots.set(`${role} ${access}`, (await speaking(grove, world.owner, world.org, id, { access })).as)
    }
  })

  function expected({ id, path, token, security, success }: Operation, role: (typeof roles)[number], access: string) {
    const { need } = table[id]
    if (security === 'none' || security === 'metrics') return expectedStatus(need, role, false, success)
    // The attempts are on branches that do not belong to an agent, so `propose` reads only.
    const isCovered = path.includes('{org_id}') && (token === 'read' || (token !== 'none' && access === 'write'))
    // The branches of a change set are its own.
    const isProposal = id === 'openChangeSet' && access === 'propose'
    return isCovered || isProposal ? expectedStatus(need, role, false, success) : 403
  }

  /** Roles with the access to write, and accesses of the highest role, are both chains. The deep run tries all pairs. */
  function cellsOf(operation: Operation) {
    const cell = (role: (typeof roles)[number], access: (typeof accesses)[number]) =>
      [`${role} ${access}`, expected(operation, role, access)] as const
    if (isDeep) return roles.flatMap((role) => accesses.map((access) => cell(role, access)))
    const chains = [roles.map((role) => cell(role, 'write')), accesses.map((access) => cell('maintainer', access))]
    return [...new Map(chains.flatMap((chain) => atBoundaries(operation.id, chain, ([, status]) => status)))]
  }

  for (const operation of specOperations)
    it(`${operation.id}`, async () => {
      let attempt = await attemptOf(operation.id, world)
      const answered: [string, number][] = []
      const wanted = cellsOf(operation)
      for (const [name] of wanted) {
        const bot = bots.get(name)
        if (bot === undefined) throw new Error(`There is no bot with ${name}`)
        const { status } = await send(bot, operation, attempt)
        answered.push([name, status])
        if (status === operation.success) attempt = await attemptOf(operation.id, world)
      }
      expect(answered).to.deep.equal(wanted)
    })
})
