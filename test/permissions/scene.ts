/** Shared by the tests of permissions. It has a hidden and a published organisation, with users of each role. */

import { castFor, type World, worldOf } from '../support/cast.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { metricsToken } from '../support/scrapes.ts'

export const signInFirst = {
  status: 401,
  body: { detail: 'Authentication required: send `Authorization: Bearer <token>`', code: 'unauthenticated' },
}

export const signInToSee = { status: 401, body: { detail: 'Sign in to see this', code: 'unauthenticated' } }

export const noOrg = { status: 404, body: { detail: 'Organisation not found', code: 'org_not_found' } }

export const noNode = { status: 404, body: { detail: 'Node not found', code: 'node_not_found' } }

export let grove: Grove

export let hidden: World

export let open: World

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    grove = await startGrove({ publicUrl: 'https://grove.example', metricsToken })
    const cast = await castFor(grove)
    hidden = await worldOf(cast, false)
    open = await worldOf(cast, true)
  })
  after(() => grove.close())
}
