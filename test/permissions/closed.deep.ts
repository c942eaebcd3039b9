/** An organisation that needs a newer version is closed at each operation, for each caller. */

import { expect } from 'chai'
import type { Attempt } from '../support/attempts.ts'
import { type Caller, callers, type World } from '../support/cast.ts'
import { closeOrg, openOrg } from '../support/closed-orgs.ts'
import { attemptOf, type Operation, send, senderOf, specOperations } from '../support/permissions.ts'
import { grove, hidden, open, useScene } from './scene.ts'

const isStranger = (caller: Caller) => caller === 'stranger' || caller === 'administrator'

/** For administrators of the service, who set limits of organisations that they cannot read. */
const others = ['updateOrgLimits']

describe('a closed organisation', () => {
  useScene()

  for (const published of [true, false])
    it(`answers 503 to each operation of ${published ? 'everybody' : 'its members'}, until it is open again`, async () => {
      await answersEach(published ? open : hidden)
    })

  async function answersEach(world: World): Promise<void> {
    const inOrg = specOperations.filter(({ id, path }) => path.includes('{org_id}') && !others.includes(id))
    const attempts: (readonly [Operation, Attempt])[] = []
    for (const operation of inOrg) attempts.push([operation, await attemptOf(operation.id, world)])
    const orgs = [...new Set(attempts.map(([, { org }]) => org ?? world.org))]
    const members = async () => (await world.owner.get(`/orgs/${world.org}/members`)).body
    const before = await members()
    for (const org of orgs) await closeOrg(grove, org, ['areas'])
    const otherwise: unknown[] = []
    for (const [operation, attempt] of attempts)
      for (const caller of callers) {
        const { status, body } = await send(senderOf(world, caller, attempt), operation, attempt)
        const isSignedOut = status === 401 && (caller === 'disabled' || caller === 'anonymous')
        const isHidden = !world.published && body.code === 'org_not_found'
        const isUnseen = isHidden && (isStranger(caller) || operation.security === 'none')
        if (!isSignedOut && !isUnseen && body.code !== 'org_needs_newer_version')
          otherwise.push([operation.id, caller, status, body.code])
      }
    expect(otherwise).to.deep.equal([])
    for (const org of orgs) await openOrg(grove, org)
    expect(await members()).to.deep.equal(before)
  }
})
