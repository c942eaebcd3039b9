/** Invitations of an organisation: made, listed, revoked, and accepted by people who have an account. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { insertInvitation } from '../../index/credentials/invitations.ts'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { createInvitation, createSignUpInvitation } from '../../server/domain/accounts/invitations.ts'
import { operator } from '../../server/domain/actor.ts'
import { made } from '../support/cast.ts'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const notFound = {
  status: 404,
  body: { detail: 'The invitation is unknown, expired, used up or for somebody else', code: 'invitation_not_found' },
}
const dayMs = 24 * 3600 * 1000

describe('invitations', () => {
  const { grove, ann, bob, cleo } = useWorld(
    { ann: 'owner', bob: 'stranger', cleo: 'stranger' },
    { now: () => new Date(time), logLevel: 'info' },
  )
  let org: string
  let time = new Date('2026-01-01T00:00:00Z').getTime()

  beforeEach(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })

  const invite = (fields: object = {}, by: PersonClient = ann): Promise<Answer> =>
    by.post(`/orgs/${org}/invitations`, { role: 'editor', ...fields })
  const inviteToken = async (fields: object = {}, by: PersonClient = ann): Promise<string> =>
    (await made(invite(fields, by))).token
  const accept = (who: PersonClient, token: string) => who.post('/auth/invitations/accept', { token })
  const list = async (query = '') => (await made(ann.get(`/orgs/${org}/invitations${query}`))).invitations
  const roleOf = async (who: PersonClient) => (await who.get(`/orgs/${org}`)).body.role
  const setRole = (who: PersonClient, role: string) => made(ann.put(`/orgs/${org}/members/${who.user.email}`, { role }))
  const remove = (who: PersonClient) => made(ann.delete(`/orgs/${org}/members/${who.user.email}`))
  const joined = (role: string) => ({ status: 200, body: { id: org, name: 'Atlas', role } })

  describe('are made by an owner', () => {
    it('with a secret that is shown once, and a link with it behind the #', async () => {
      const { status, body, headers } = await invite({ email: 'Bob@Example.org', uses: 3 })
      const { token, url, ...invitation } = body
      expect(status).to.equal(201)
      expect(token).to.match(/^grv_invite_[\w-]{43}$/)
      expect(url).to.equal(`${grove.url}/join#token=${token}`)
      expect(headers.location).to.equal(`/orgs/${org}/invitations/${body.id}`)
      expect(headers['cache-control']).to.equal('no-store')
      expect(invitation).to.deep.equal({
        id: body.id,
        role: 'editor',
        email: 'bob@example.org',
        uses_left: 3,
        expires_at: new Date(time + 7 * dayMs).toISOString(),
        created_by: ann.user.id,
        created_at: new Date(time).toISOString(),
      })
      expect(await list()).to.deep.equal([invitation])
    })

    it('and show their terms to anybody with the secret, until they end', async () => {
      const read = (token: string) => client(grove).post('/auth/invitations/read', { token })
      const token = await inviteToken({ email: 'bob@example.org' })
      const expires_at = new Date(time + 7 * dayMs).toISOString()
      const allowed = { org: 'Atlas', role: 'editor', invited_by: 'Ann', expires_at }
      for (let times = 0; times < 2; times++) expect(await read(token)).to.deep.include({ status: 200, body: allowed })
      expect((await list())[0].uses_left).to.equal(1)
      const signUpOnly = await createSignUpInvitation({ ...grove.deps, actor: operator }, {})
      expect((await read(signUpOnly.token)).body).to.deep.equal({ expires_at })
      expect(await read('grv_invite_none')).to.deep.include(notFound)
      await accept(bob, token)
      expect(await read(token)).to.deep.include(notFound)
      const other = await inviteToken()
      time += 7 * dayMs
      const late = await read(other)
      time -= 7 * dayMs
      expect(late).to.deep.include(notFound)
    })

    it('for at most 30 days from now', async () => {
      const at = (ms: number) => new Date(time + ms).toISOString()
      expect((await invite({ expires_at: at(30 * dayMs) })).body.expires_at).to.equal(at(30 * dayMs))
      for (const expires_at of [at(30 * dayMs + 1), at(0), at(-dayMs)]) {
        const { status, body } = await invite({ expires_at })
        expect([status, body.detail[0].loc, body.detail[0].input]).to.deep.equal([
          422,
          ['body', 'expires_at'],
          expires_at,
        ])
      }
    })

    it('with a role, for an address that can be one, and for 1 to 1,000 people', async () => {
      for (const wrong of [
        { role: 'king' },
        { role: null },
        { uses: 0 },
        { uses: 1001 },
        { email: 'bob@' },
        { token: 'x' },
      ])
        expect((await invite(wrong)).status, JSON.stringify(wrong)).to.equal(422)
      expect((await invite({ uses: 1000 })).body.uses_left).to.equal(1000)
    })

    it('1,000 at most that are open', async () => {
      const row = { org_id: org, role: 'reader' as const, email_key: null, uses_left: 1, created_by: ann.user.id }
      const created_at = new Date(time).toISOString()
      const expires_at = new Date(time + dayMs).toISOString()
      await grove.deps.credentials.write(async (trx) => {
        for (let n = 0; n < 999; n++)
          await insertInvitation(trx, { ...row, id: randomUUID(), hash: randomUUID(), created_at, expires_at })
      })
      const last = await made(invite())
      expect(await invite()).to.deep.equal({
        status: 409,
        body: { detail: 'There are 1000 open invitations; revoke some first', code: 'too_many_invitations' },
      })
      await made(ann.delete(`/orgs/${org}/invitations/${last.id}`))
      await made(invite())
    })
  })

  it('are listed by pages, the oldest first, without those that have ended', async () => {
    const [used, , kept] = [
      await made(invite()),
      await made(invite({ expires_at: new Date(time + 1).toISOString() })),
      await made(invite()),
    ]
    await made(accept(bob, used.token))
    time += 1000
    const newest = await made(invite())
    expect((await list()).map(({ id }: { id: string }) => id)).to.deep.equal([kept.id, newest.id])
    const { body, headers } = await ann.get(`/orgs/${org}/invitations?limit=1`)
    expect([body.total, body.limit, body.offset, body.invitations[0].id]).to.deep.equal([2, 1, 0, kept.id])
    expect(headers.link).to.contain('offset=1')
  })

  it('are revoked: nobody joins by them any more, who has joined stays', async () => {
    const { id, token } = await made(invite({ uses: 2 }))
    await made(accept(bob, token))
    expect((await ann.delete(`/orgs/${org}/invitations/${id}`)).status).to.equal(204)
    expect(await accept(cleo, token)).to.deep.equal(notFound)
    expect(await roleOf(bob)).to.equal('editor')
    const gone = { status: 404, body: { detail: 'Invitation not found', code: 'invitation_not_found' } }
    const elsewhere = (await made(bob.post(`/orgs/${bob.org}/invitations`, { role: 'reader' }))).id
    for (const other of [id, elsewhere, randomUUID(), 'nonsense'])
      expect(await ann.delete(`/orgs/${org}/invitations/${other}`), other).to.deep.equal(gone)
  })

  describe('are accepted', () => {
    it('by a commit of org.git of the person who joins', async () => {
      expect(await accept(bob, await inviteToken())).to.deep.equal(joined('editor'))
      expect(await roleOf(bob)).to.equal('editor')
      const git = gitIn(grove, org, 'org')
      expect(git.say('log', '-1', '--format=%an <%ae> %s')).to.equal('Bob <bob@example.org> join')
      expect(JSON.parse(git.say('show', `main:members/${bob.user.id}.json`))).to.include({
        role: 'editor',
        name: 'Bob',
      })
    })

    it('as often as they say', async () => {
      const token = await inviteToken({ uses: 2 })
      await made(accept(bob, token))
      expect((await list())[0].uses_left).to.equal(1)
      await made(accept(cleo, token))
      expect(await accept(await signUp(grove, `Dan ${randomUUID()}`), token)).to.deep.equal(notFound)
    })

    it('by who has a lower role to raise it; who has that role or a higher one keeps it, and takes no use', async () => {
      await setRole(bob, 'reader')
      const token = await inviteToken()
      expect(await accept(ann, token)).to.deep.equal(joined('owner'))
      await setRole(cleo, 'editor')
      const head = gitIn(grove, org, 'org').head()
      expect(await accept(cleo, token)).to.deep.equal(joined('editor'))
      expect(gitIn(grove, org, 'org').head()).to.equal(head)
      expect(await accept(bob, token)).to.deep.equal(joined('editor'))
      expect(await accept(bob, token), 'repeated').to.deep.equal(joined('editor'))
    })

    it('by readers who become contributors, and by editors who stay editors', async () => {
      await setRole(bob, 'reader')
      await setRole(cleo, 'editor')
      const token = await inviteToken({ role: 'contributor', uses: 3 })
      expect((await list())[0].role).to.equal('contributor')
      expect(await accept(bob, token)).to.deep.equal(joined('contributor'))
      expect(await accept(cleo, token)).to.deep.equal(joined('editor'))
      const dan = await signUp(grove, `Dan ${randomUUID()}`)
      expect(await accept(dan, token)).to.deep.equal(joined('contributor'))
      expect(await Promise.all([bob, cleo, dan].map(roleOf))).to.deep.equal(['contributor', 'editor', 'contributor'])
    })

    it('only by the person whose address they name', async () => {
      const token = await inviteToken({ email: 'BOB@example.org' })
      expect(await accept(cleo, token)).to.deep.equal(notFound)
      expect(await accept(bob, token)).to.deep.equal(joined('editor'))
    })

    it('until they expire', async () => {
      const token = await inviteToken({ expires_at: new Date(time + 1000).toISOString() })
      time += 1000
      expect(await accept(bob, token)).to.deep.equal(notFound)
    })

    it('once by a user: not to come back, nor to raise a role that an owner has lowered', async () => {
      const token = await inviteToken({ role: 'owner', uses: 5 })
      const unused = await inviteToken({ role: 'maintainer', uses: 5 })
      expect(await accept(bob, token)).to.deep.equal(joined('owner'))
      await setRole(bob, 'reader')
      for (const one of [token, unused]) expect(await accept(bob, one)).to.deep.equal(notFound)
      expect(await roleOf(bob)).to.equal('reader')
      await remove(bob)
      for (const one of [token, unused]) expect(await accept(bob, one)).to.deep.equal(notFound)
      expect((await list()).map((one: { uses_left: number }) => one.uses_left)).to.deep.equal([4, 5])
      expect(await accept(bob, await inviteToken()), 'one from after that').to.deep.equal(joined('editor'))
      expect(await accept(cleo, token), 'somebody else').to.deep.equal(joined('owner'))
    })

    it('once by a user who leaves', async () => {
      const [token, unused] = [await inviteToken({ uses: 5 }), await inviteToken({ uses: 5 })]
      await made(accept(bob, token))
      await made(bob.delete(`/orgs/${org}/members/${bob.user.email}`))
      expect(await accept(bob, token)).to.deep.equal(notFound)
      expect(await accept(bob, unused), 'which no owner has overruled').to.deep.equal(joined('editor'))
    })

    it('while who made them has been an owner ever since', async () => {
      for (const end of [
        () => setRole(bob, 'maintainer'),
        () => remove(bob),
        () => made(bob.delete(`/orgs/${org}/members/${bob.user.email}`)),
      ]) {
        await setRole(bob, 'owner')
        const token = await inviteToken({ uses: 2 }, bob)
        const kept = (await made(invite())).id
        await end()
        for (const who of [cleo, bob]) expect(await accept(who, token)).to.deep.equal(notFound)
        await setRole(bob, 'owner')
        expect(await accept(cleo, token)).to.deep.equal(notFound)
        expect((await list()).at(-1).id).to.equal(kept)
      }
    })

    it('from the operator, to become an owner', async () => {
      const { token, ...rest } = await createInvitation(
        { ...grove.deps, actor: operator },
        { path: { org_id: org }, body: { role: 'owner' } },
      )
      expect(rest).to.not.have.property('created_by')
      expect(await list()).to.deep.equal([rest])
      expect(await accept(bob, token)).to.deep.equal(joined('owner'))
    })

    it('not after the organisation was deleted', async () => {
      const token = await inviteToken()
      await made(ann.delete(`/orgs/${org}`))
      expect(await accept(bob, token)).to.deep.equal(notFound)
    })

    it('not if they are invalid, or only for signing up', async () => {
      const { token } = await createSignUpInvitation({ ...grove.deps, actor: operator }, {})
      for (const other of [token, 'nonsense', `grv_invite_${'x'.repeat(43)}`])
        expect(await accept(bob, other)).to.deep.equal(notFound)
    })
  })

  it('stay out of the log and of what is refused', async () => {
    const token = await inviteToken()
    await client(grove).get(`/join?token=${token}`).then(expecting(422))
    const wrong = [
      await bob.post('/auth/invitations/accept', { token: [token] }),
      await bob.post('/auth/invitations/accept', { invitation: token }),
      await bob.post('/orgs', { name: 'x', invitation: token }),
    ]
    for (const { status, body } of wrong) {
      expect(status).to.equal(422)
      expect(JSON.stringify(body)).to.not.contain(token)
    }
    await accept(bob, token)
    expect(grove.logged()).to.not.contain(token)
  })

  it('are explained by a page without script', async () => {
    const { status, body, headers } = await client(grove).get('/join')
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('text/html; charset=utf-8')
    expect(headers['content-security-policy']).to.equal(
      "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(body).to.contain(`curl -X POST ${grove.url}/auth/signup `)
    expect(body).to.contain(`curl -X POST ${grove.url}/auth/invitations/accept `)
    expect(body).to.not.match(/<script|<link|<img|javascript:/)

    it('of an owner who is disabled let nobody in, and do again when the owner is enabled', async () => {
      const eve = await signUp(grove, `Eve ${randomUUID()}`)
      await setRole(eve, 'owner')
      const token = await inviteToken({ role: 'owner' }, eve)
      const disable = (disabled: boolean) =>
        updateAccount({ ...grove.deps, actor: operator }, { path: { account_id: eve.user.id }, body: { disabled } })
      await disable(true)
      expect(await accept(cleo, token)).to.deep.equal(notFound)
      const someone = { email: `${randomUUID()}@example.org`, password, invitation: token }
      expect((await client(grove).post('/auth/signup', someone)).body.code).to.equal('invitation_not_found')
      await disable(false)
      expect(await accept(cleo, token)).to.deep.equal(joined('owner'))
    })
  })
})
