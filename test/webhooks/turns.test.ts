/** The order in which deliveries leave, next to a model that gives turns one by one. */

import { expect } from 'chai'
import fc from 'fast-check'
import { chooseInTurns } from '../../server/features/webhooks/turns.ts'

interface Row {
  readonly id: number
  readonly org_id: string
  readonly hook_id: string
}

interface Limits {
  readonly all: number
  readonly ofOrg: number
  readonly ofHook: number
}

/** Organisations stand in a line, and their webhooks also. Each goes to the end of its line after its turn. */
function byQueues(rows: readonly Row[], { all, ofOrg, ofHook }: Limits): Row[] {
  const orgs = [...new Set(rows.map(({ org_id }) => org_id))].map((org) => {
    const own = rows.filter(({ org_id }) => org_id === org)
    const hooks = [...new Set(own.map(({ hook_id }) => hook_id))]
    return { taken: 0, hooks: hooks.map((hook) => ({ taken: 0, rows: own.filter((row) => row.hook_id === hook) })) }
  })
  const chosen: Row[] = []
  for (let org = orgs.shift(); org && chosen.length < all; org = orgs.shift()) {
    if (org.taken >= ofOrg) continue
    for (let hook = org.hooks.shift(); hook; hook = org.hooks.shift()) {
      const row = hook.taken < ofHook ? hook.rows.shift() : undefined
      if (row === undefined) continue
      chosen.push(row)
      hook.taken += 1
      org.taken += 1
      org.hooks.push(hook)
      orgs.push(org)
      break
    }
  }
  return chosen
}

describe('turns of webhooks', () => {
  it('are those of a model that serves one after the other', () => {
    const hook = fc.record({ org: fc.integer({ max: 4, min: 1 }), hook: fc.integer({ max: 3, min: 1 }) })
    const limit = fc.integer({ min: -1, max: 6 })
    fc.assert(
      fc.property(fc.array(hook, { maxLength: 40 }), limit, limit, fc.nat(20), (hooks, ofOrg, ofHook, all) => {
        const rows = hooks.map(({ org, hook }, id) => ({ id, org_id: `${org}`, hook_id: `${org}.${hook}` }))
        const chosen = chooseInTurns(rows, { all, ofOrg: () => ofOrg, ofHook: () => ofHook })
        expect(chosen).to.deep.equal(byQueues(rows, { all, ofOrg, ofHook }))
      }),
    )
  })
})
