/** The members of an organisation. */

import { expect } from 'chai'
import { ann, bob, cleo, newOrg, noOrg, put, rolesOf, useScene } from './scene.ts'

const lastOwner = {
  status: 409,
  body: { detail: 'An organisation must have an owner; make another member an owner first', code: 'last_owner' },
}

describe('organisations', () => {
  useScene()

  describe('members', () => {
    it('are listed in the order in which they came', async () => {
      const org = await newOrg()
      await put(org, cleo, 'reader')
      await put(org, bob, 'editor')
      const { body } = await cleo.get(`/orgs/${org}/members`)
      const { created_at: since, ...first } = body.members[0]
      expect(first).to.deep.equal({ user_id: ann.user.id, email: 'ann@example.org', name: 'Ann', role: 'owner' })
      expect(since).to.equal((await ann.get(`/orgs/${org}`)).body.created_at)
      expect(body.members.map((member: { name: string }) => member.name)).to.deep.equal(['Ann', 'Cleo', 'Bob'])
      expect(body).to.include({ total: 3, limit: 50, offset: 0 })
      expect((await cleo.get(`/orgs/${org}/members?limit=1&offset=1`)).headers.link).to.equal(
        `</orgs/${org}/members?limit=1&offset=2>; rel="next"`,
      )
    })

    it('are added by e-mail, whatever its case', async () => {
      const org = await newOrg()
      const { status, body } = await ann.put(`/orgs/${org}/members/BOB@Example.ORG`, { role: 'editor' })
      const { created_at, ...member } = body
      expect(status).to.equal(200)
      expect(member).to.deep.equal({ user_id: bob.user.id, email: 'bob@example.org', name: 'Bob', role: 'editor' })
      expect((await ann.get(`/orgs/${org}/members`)).body.members[1]).to.deep.equal({ ...member, created_at })
    })

    it('take another role, and stay members since they came', async () => {
      const org = await newOrg()
      const { body: before } = await put(org, bob, 'reader')
      expect(await put(org, bob, 'maintainer')).to.deep.equal({ status: 200, body: { ...before, role: 'maintainer' } })
      expect(await put(org, bob, 'maintainer')).to.deep.equal({ status: 200, body: { ...before, role: 'maintainer' } })
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner', Bob: 'maintainer' })
    })

    it('need an account', async () => {
      const org = await newOrg()
      expect(await ann.put(`/orgs/${org}/members/nobody@example.org`, { role: 'reader' })).to.deep.equal({
        status: 404,
        body: { detail: 'There is no account with this e-mail address', code: 'account_not_found' },
      })
    })

    it('have one of four roles', async () => {
      const org = await newOrg()
      const answers = [await put(org, bob, 'admin'), await ann.put(`/orgs/${org}/members/bob@example.org`, {})]
      expect(answers.map(({ status, body }) => [status, body.detail[0].loc, body.detail[0].type])).to.deep.equal([
        [422, ['body', 'role'], 'enum'],
        [422, ['body', 'role'], 'missing'],
      ])
    })

    it('are removed by an owner, whatever the case of the e-mail', async () => {
      const org = await newOrg()
      await put(org, bob, 'editor')
      expect((await ann.delete(`/orgs/${org}/members/Bob@EXAMPLE.org`)).status).to.equal(204)
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner' })
      expect(await ann.delete(`/orgs/${org}/members/bob@example.org`)).to.deep.equal({
        status: 404,
        body: { detail: 'There is no member with this e-mail address', code: 'member_not_found' },
      })
    })

    it('may leave, whatever their role', async () => {
      const org = await newOrg()
      for (const role of ['reader', 'contributor', 'editor', 'maintainer', 'owner']) {
        await put(org, bob, role)
        expect((await bob.delete(`/orgs/${org}/members/BOB@example.org`)).status, role).to.equal(204)
        expect(await bob.get(`/orgs/${org}`), role).to.deep.equal(noOrg)
      }
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner' })
    })

    it('who are no owners remove nobody else', async () => {
      const org = await newOrg()
      await put(org, bob, 'maintainer')
      await put(org, cleo, 'reader')
      expect(await bob.delete(`/orgs/${org}/members/cleo@example.org`)).to.deep.equal({
        status: 403,
        body: { detail: 'Only an owner can remove other members', code: 'forbidden' },
      })
    })

    it('always have an owner: the last one neither leaves nor takes a lower role', async () => {
      const org = await newOrg()
      await put(org, bob, 'maintainer')
      expect(await ann.delete(`/orgs/${org}/members/ann@example.org`)).to.deep.equal(lastOwner)
      expect(await put(org, ann, 'maintainer')).to.deep.equal(lastOwner)
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'owner', Bob: 'maintainer' })
    })

    it('let an owner go as soon as there is another', async () => {
      const org = await newOrg()
      await put(org, bob, 'owner')
      expect((await put(org, ann, 'reader')).status).to.equal(200)
      expect(await bob.delete(`/orgs/${org}/members/bob@example.org`)).to.deep.equal(lastOwner)
      expect(await rolesOf(org)).to.deep.equal({ Ann: 'reader', Bob: 'owner' })
    })

    it('keep an owner when the last two leave together', async () => {
      const org = await newOrg()
      await put(org, bob, 'owner')
      const answers = await Promise.all([
        ann.delete(`/orgs/${org}/members/ann@example.org`),
        bob.delete(`/orgs/${org}/members/bob@example.org`),
      ])
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([204, 409])
    })
  })
})
