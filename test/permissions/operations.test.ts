/** Who may call which operation, by the table. */

import { expect } from 'chai'
import { table } from '../support/attempts.ts'
import { callers } from '../support/cast.ts'
import {
  attemptOf,
  expectedSecurity,
  expectedStatus,
  ownAttemptOf,
  send,
  senderOf,
  specOperations,
} from '../support/permissions.ts'
import { atBoundaries } from '../support/seed.ts'
import { hidden, open, useScene } from './scene.ts'

describe('permissions', () => {
  useScene()

  describe('each operation', () => {
    it('of the spec has a row in the table, and each row an operation', () => {
      expect(Object.keys(table).sort()).to.deep.equal(specOperations.map(({ id }) => id).sort())
    })

    it('says in the spec what the table says of Authorization', () => {
      const inSpec = specOperations.map(({ id, security }) => [id, security])
      expect(inSpec).to.deep.equal(specOperations.map(({ id }) => [id, expectedSecurity(id)]))
    })

    for (const published of [false, true]) {
      describe(`under ${published ? 'a published' : 'an unpublished'} organisation`, () => {
        for (const operation of specOperations) {
          const { id, path, success } = operation
          if (published && !path.includes('{org_id}')) continue
          const { need, own } = table[id]
          const kinds = [{ need, what: '', attemptFor: attemptOf }]
          if (own) kinds.push({ need: 'contributor', what: ' on what is a contributor’s', attemptFor: ownAttemptOf })
          for (const { need, what, attemptFor } of kinds) {
            const all = callers.map((caller) => [caller, expectedStatus(need, caller, published, success)] as const)
            const statuses = atBoundaries(`${id}${what}`, all, ([, status]) => status)

            it(`${id}${what} answers each caller`, async () => {
              const world = published ? open : hidden
              // Who may do it first does what the others were refused: had it happened all the same, it would not succeed.
              let attempt = await attemptFor(id, world)
              const answered: [string, number][] = []
              for (const [caller] of statuses) {
                const { status } = await send(senderOf(world, caller, attempt), operation, attempt)
                answered.push([caller, status])
                if (status === success) attempt = await attemptFor(id, world)
              }
              expect(answered).to.deep.equal(statuses)
            })
          }
        }
      })
    }
  })
})
