/** The order in which a request is refused, and when a role ends. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { ofAnyNode, table } from '../support/attempts.ts'
import { made, makeOrg, type World } from '../support/cast.ts'
import { client } from '../support/people.ts'
import { attemptOf, send, specOperations } from '../support/permissions.ts'
import { grove, hidden, noNode, noOrg, open, signInFirst, signInToSee, useScene } from './scene.ts'

describe('permissions', () => {
  useScene()

  describe('the order of checks', () => {
    for (const operation of specOperations) {
      const { id, security } = operation
      const { need } = table[id]

      if (security === 'required') {
        it(`${id}: a missing token comes before a wrong shape`, async () => {
          const answer = await send(client(grove), operation, { query: '?nonsense=1', body: '{' })
          expect(answer).to.deep.equal(signInFirst)
          expect(answer.headers['www-authenticate']).to.equal('Bearer')
        })
      }

      if (need === 'anyone' || need === 'person' || need === 'operator') continue
      it(`${id}: a wrong shape comes before whether there is an organisation, and who may see it`, async () => {
        const zip = id === 'startImport' ? { zip: Buffer.from('PK') } : {}
        const params = { number: '1', entry: '1', name: 'links' }
        const attempt = { ...{ org: hidden.org, params, query: '?nonsense=1', body: {} }, ...zip }
        const { anonymous, stranger, reader } = hidden.people
        const extra = {
          status: 422,
          body: {
            detail: [
              {
                loc: ['query', 'nonsense'],
                msg: 'Extra inputs are not permitted',
                type: 'extra_forbidden',
                ...(operation.path.startsWith('/auth/') ? {} : { input: '1' }),
              },
            ],
          },
        }
        for (const who of security === 'required' ? [stranger, reader] : [anonymous, stranger, reader]) {
          expect(await send(who, operation, attempt)).to.deep.equal(extra)
        }
      })
    }

    it('lets nobody who is anonymous ask what exists in an unpublished organisation', async () => {
      const { anonymous } = hidden.people
      expect(await anonymous.get(`/orgs/${hidden.org}/nodes/${randomUUID()}`)).to.deep.equal(signInToSee)
      expect(await anonymous.get(`/orgs/${open.org}/nodes/${randomUUID()}`)).to.deep.equal(noNode)
    })

    for (const operation of specOperations.filter(({ path }) => path.includes('{node_id}'))) {
      const { id } = operation
      // Only those who may see the trash learn whether it has a node.
      if (table[id].need === 'public' || id === 'restoreNode' || ofAnyNode.has(id)) continue

      it(`${id}: a node that is not there is 404 before a right that is not there is 403`, async () => {
        const attempt = await attemptOf(id, open)
        const nowhere = { ...attempt, params: { ...attempt.params, node_id: randomUUID() } }
        expect(await send(open.people.reader, operation, nowhere)).to.deep.equal(noNode)
        expect(await send(open.people.stranger, operation, nowhere)).to.deep.equal(noNode)
      })
    }

    it('says 403 before it says which rule is broken', async () => {
      const { org, node } = open
      const nodes = `/orgs/${org}/nodes`
      const at = `${nodes}/${node}`
      const changes = [{ action: 'delete', path: 'nowhere.md' }]
      const broken: [string, string, unknown?][] = [
        ['post', nodes, { title: 'Child', parents: [randomUUID()] }],
        ['post', nodes, { title: 'Empty', initialize: false, text_content: 'Not empty' }],
        ['put', `${at}/parents/${node}`],
        ['delete', `${at}/parents/nonsense`],
        ['post', `${at}/connections`, { target: node }],
        ['post', `${at}/connections`, { target: 'nonsense' }],
        ['patch', `${at}/connections/n%20o`, { target: node }],
        ['delete', `${at}/connections/n%20o`],
        ['post', `${at}/branches`, { name: '-', from: 'nowhere' }],
        ['post', `${at}/tree/main/commits`, { message: 'Delete', changes }],
        ['post', `${at}/pull-requests`, { title: 'More', source_branch: 'nowhere' }],
        ['patch', `${at}/pull-requests/1`, { target_branch: 'nowhere' }],
      ]
      const { reader } = open.people
      const answers: unknown[] = []
      for (const [method, path, body] of broken) {
        const { status } = await (method === 'put'
          ? reader.put(path, body)
          : method === 'patch'
            ? reader.patch(path, body)
            : method === 'delete'
              ? reader.delete(path)
              : reader.post(path, body))
        answers.push([method, path, status])
      }
      expect(answers).to.deep.equal(broken.map(([method, path]) => [method, path, 403]))
    })

    it('says which rule is broken before it says what is in the way', async () => {
      const { owner, org, node } = open
      const again = { title: 'Again', id: node, parents: [randomUUID()] }
      const opened = { title: 'More', source_branch: 'draft', target_branch: 'nowhere' }
      const at = `/orgs/${org}/nodes/${node}`
      expect([
        (await owner.post(`/orgs/${org}/nodes`, again)).status,
        (await owner.post(`${at}/branches`, { name: 'draft', from: 'nowhere' })).status,
        (await owner.post(`${at}/pull-requests`, opened)).status,
      ]).to.deep.equal([422, 422, 422])
    })
  })

  describe('membership', () => {
    let world: World

    beforeEach(async () => {
      const org = await makeOrg(open, false)
      const { id } = await made(open.owner.post(`/orgs/${org}/nodes`, { title: 'Whales' }))
      world = { ...open, org, node: id, published: false }
    })

    it('ends with the next request, though the token lives on', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      expect((await editor.patch(at, { title: 'Dolphins' })).status).to.equal(200)
      expect((await owner.delete(`/orgs/${org}/members/${editor.user.email}`)).status).to.equal(204)
      expect(await editor.get(at)).to.deep.equal(noOrg)
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal(noOrg)
      expect((await editor.get('/auth/me')).status).to.equal(200)
    })

    it('in a published organisation ends in what the public may do', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      await made(owner.patch(`/orgs/${org}`, { published: true }))
      await made(owner.delete(`/orgs/${org}/members/${editor.user.email}`))
      expect((await editor.get(at)).status).to.equal(200)
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal({
        status: 403,
        body: { detail: 'Only members of the organisation can do this', code: 'forbidden' },
      })
    })

    it('changes its role with the next request', async () => {
      const { owner, members, org, node } = world
      const { editor } = members
      const at = `/orgs/${org}/nodes/${node}`
      const become = (role: string) => made(owner.put(`/orgs/${org}/members/${editor.user.email}`, { role }))
      await become('reader')
      expect(await editor.patch(at, { title: 'Seals' })).to.deep.equal({
        status: 403,
        body: { detail: 'You need the editor role; yours is reader', code: 'forbidden' },
      })
      await become('maintainer')
      expect((await editor.delete(at)).status).to.equal(204)
    })
  })
})
