/** Hidden things, and invalid tokens. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ofAnyNode, table } from '../support/attempts.ts'
import { startGrove } from '../support/grove.ts'
import { type Answer, client, signUp } from '../support/people.ts'
import { attemptOf, send, specOperations } from '../support/permissions.ts'
import { grove, hidden, noNode, noOrg, open, signInFirst, signInToSee, useScene } from './scene.ts'

const badToken = { status: 401, body: { detail: 'The token is invalid, expired or revoked', code: 'invalid_token' } }

const notInTrash = {
  status: 404,
  body: { detail: 'The trash of this organisation does not have this node', code: 'node_not_found' },
}

const forAdministrators = {
  status: 403,
  body: { detail: 'Only administrators of the service can do this', code: 'forbidden' },
}

describe('permissions', () => {
  useScene()

  describe('what is hidden', () => {
    const unknownOrgs = ['01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02', randomUUID().toUpperCase()]

    for (const operation of specOperations.filter(({ path }) => path.includes('{org_id}'))) {
      const { id } = operation

      it(`${id} tells neither the anonymous nor a stranger an unpublished organisation from an unknown one`, async () => {
        const attempt = await attemptOf(id, hidden)
        const { anonymous, stranger } = hidden.people
        const expected = operation.security === 'none' ? noOrg : signInFirst
        for (const org of [attempt.org ?? '', ...unknownOrgs]) {
          const byAnonymous = await send(anonymous, operation, { ...attempt, org })
          expect(byAnonymous, `anonymous, ${org}`).to.deep.equal(
            operation.security === 'optional' ? signInToSee : expected,
          )
          const byStranger = await send(stranger, operation, { ...attempt, org })
          expect(byStranger, `stranger, ${org}`).to.deep.equal(
            table[id].need === 'administrator' ? forAdministrators : noOrg,
          )
        }
      })
    }

    for (const operation of specOperations.filter(({ path }) => path.includes('{node_id}'))) {
      const { id } = operation
      if (ofAnyNode.has(id)) continue

      it(`${id} does not find a node of another organisation, nor one that nobody has`, async () => {
        const attempt = await attemptOf(id, hidden)
        const { owner, org } = open
        const unknown = id === 'restoreNode' ? notInTrash : noNode
        expect(await send(owner, operation, { ...attempt, org })).to.deep.equal(unknown)
        for (const node_id of [randomUUID(), 'nonsense', '../org', 'org']) {
          const nowhere = { ...attempt, org, params: { ...attempt.params, node_id } }
          expect(await send(owner, operation, nowhere), node_id).to.deep.equal(unknown)
        }
      })
    }

    it('is no edge to a node of another organisation', async () => {
      const foreign = hidden.node
      const { owner, org, node } = open
      const at = `/orgs/${org}/nodes/${node}`
      const answers: [string, Answer][] = [
        ['parents', await owner.post(`/orgs/${org}/nodes`, { title: 'Child', parents: [foreign] })],
        ['parent', await owner.put(`${at}/parents/${foreign}`)],
        ['connection', await owner.post(`${at}/connections`, { target: foreign })],
        ['children', await owner.get(`/orgs/${org}/nodes?parent_id=${foreign}`)],
      ]
      expect(answers.map(([what, { status, body }]) => [what, status, body.code ?? body.total])).to.deep.equal([
        ['parents', 422, undefined],
        ['parent', 404, 'parent_not_found'],
        ['connection', 422, undefined],
        ['children', 200, 0],
      ])
    })
  })

  describe('a bad token', () => {
    for (const operation of specOperations) {
      const { id, security, success } = operation

      if (security === 'none') {
        it(`is ignored by ${id}, which never looks at Authorization`, async () => {
          const attempt = await attemptOf(id, open)
          expect((await send(client(grove, 'garbage'), operation, attempt)).status).to.equal(success)
        })
      } else {
        it(`is 401 at ${id}, whatever else is wrong, and never taken for anonymous`, async () => {
          const nobody = { org: open.org, params: { node_id: open.node }, query: '?nonsense=1', body: '{' }
          const answer = await send(client(grove, 'garbage'), operation, nobody)
          expect(answer).to.deep.equal(badToken)
          expect(answer.headers['www-authenticate']).to.equal('Bearer error="invalid_token"')
        })
      }
    }

    it('is one of another service, an id token, another scheme, or none at all after Bearer', async () => {
      const other = await startGrove({ publicUrl: 'https://grove.example' })
      try {
        const { session } = await signUp(other, 'Zoe')
        const { accessToken, idToken } = open.owner.session
        const sent = [
          `Bearer ${session.accessToken}`,
          `Bearer ${idToken}`,
          `Basic ${accessToken}`,
          'Bearer',
          accessToken,
        ]
        for (const authorization of sent) {
          const { anonymous } = open.people
          expect(await anonymous.get(`/orgs/${open.org}`, { authorization }), authorization).to.deep.equal(badToken)
        }
      } finally {
        await other.close()
      }
    })
  })
})
