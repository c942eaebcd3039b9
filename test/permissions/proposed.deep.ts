/** The operations that show nodes which are only proposed, or deleted in place, and to whom. */

import { expect } from 'chai'
import { ofAnyNode, table } from '../support/attempts.ts'
import type { Client } from '../support/people.ts'
import { attemptOf, send, specOperations } from '../support/permissions.ts'
import { type Proposed, proposeNode, recordNode, shownOperations } from '../support/proposed.ts'
import { grove, noNode, open, signInFirst, useScene } from './scene.ts'

describe('a node that is proposed, or deleted in place', () => {
  useScene()
  let node: Proposed
  let deleted: Proposed
  before(() => {
    deleted = proposeNode(grove, open.org, { by: open.owner.user, title: 'Ice' })
    recordNode(deleted, { state: 'deleted' })
  })
  beforeEach(() => {
    node = proposeNode(grove, open.org, { by: open.members.contributor.user, title: 'Krill' })
  })

  for (const operation of specOperations) {
    const { id, path, security } = operation
    if (!path.includes('{node_id}') || ofAnyNode.has(id) || id === 'restoreNode') continue
    const isShown = shownOperations.includes(id)

    it(`${id} ${isShown ? 'shows members a proposed one' : 'does not find a proposed one'}, and no deleted one`, async () => {
      const attempt = await attemptOf(id, open)
      const ask = (who: Client, node_id: string) =>
        send(who, operation, { ...attempt, params: { ...attempt.params, node_id } })
      const { anonymous, stranger, reader, owner } = open.people
      for (const who of [reader, owner]) {
        const answer = await ask(who, node.id)
        expect(answer.body?.code === 'node_not_found', JSON.stringify(answer)).to.equal(!isShown)
        expect(await ask(who, deleted.id)).to.deep.equal(noNode)
      }
      for (const hidden of [node.id, deleted.id]) {
        expect(await ask(stranger, hidden)).to.deep.equal(noNode)
        expect(await ask(anonymous, hidden)).to.deep.equal(security === 'optional' ? noNode : signInFirst)
      }
      const answer = await send(owner, operation, attempt)
      expect(answer.status, `${table[id].need}: ${JSON.stringify(answer)}`).to.equal(operation.success)
    })
  }
})
