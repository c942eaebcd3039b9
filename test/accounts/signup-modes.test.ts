/** Who may sign up: everybody, people with an invitation, nobody. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { createSignUpInvitation } from '../../server/domain/accounts/invitations.ts'
import { operator } from '../../server/domain/actor.ts'
import { made, makeInvitation } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'

const needsInvitation = {
  status: 403,
  body: { detail: 'Sign-up needs a valid invitation', code: 'signup_closed' },
}
const closed = { status: 403, body: { detail: 'Sign-up is closed; ask the operator', code: 'signup_closed' } }
const noInvitation = {
  status: 404,
  body: { detail: 'The invitation is unknown, expired, used up or for somebody else', code: 'invitation_not_found' },
}

describe('SIGNUP', () => {
  let dataDir: string
  let open: Grove
  let byInvitation: Grove
  let ann: PersonClient
  let org: string
  let people = 0

  before(async () => {
    dataDir = await newDataDir()
    open = await startGrove({ dataDir })
    byInvitation = await startGrove({ dataDir, signup: 'invite', slowPasswords: true })
    ann = await signUp(open, 'Ann')
    org = (await made(ann.post('/orgs', { name: 'Atlas' }))).id
  })
  after(async () => {
    await open.close()
    await byInvitation.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  const newEmail = () => `person${++people}@example.org`
  const ask = (grove: Grove, invitation?: unknown, email = newEmail()): Promise<Answer> =>
    client(grove).post('/auth/signup', { email, password, ...(invitation === undefined ? {} : { invitation }) })
  const inviteTo = async (fields: object = {}) => (await makeInvitation({ owner: ann, org }, fields)).token
  const forSignUp = async () => (await createSignUpInvitation({ ...open.deps, actor: operator }, {})).token

  it('is shown to anyone', async () => {
    const rest = { password_login: true, password_reset: 'operator', oidc: [] }
    expect((await client(open).get('/auth/config')).body).to.deep.equal({ signup: 'open', ...rest })
    expect((await client(byInvitation).get('/auth/config')).body).to.deep.equal({ signup: 'invite', ...rest })
  })

  describe('open', () => {
    it('needs no invitation, and refuses a bad one', async () => {
      expect((await ask(open)).body.user).to.not.have.property('orgs')
      await ask(open, null).then(expecting(201))
      const email = newEmail()
      expect(await ask(open, 'grv_invite_nonsense', email)).to.deep.equal(noInvitation)
      await ask(open, undefined, email).then(expecting(201))
    })

    it('lets a user with the invitation of an organisation join it in the same answer', async () => {
      const token = await inviteTo({ role: 'editor' })
      const { body } = await ask(open, token).then(expecting(201))
      const joined = { id: org, name: 'Atlas', role: 'editor' }
      expect(body.user.orgs).to.deep.equal([joined])
      const person = client(open, body.accessToken)
      expect((await person.get(`/orgs/${org}`)).body.role).to.equal('editor')
      expect((await person.get(`/orgs/${body.user.org_id}`)).body.role).to.equal('owner')
      expect(await ask(open, token)).to.deep.equal(noInvitation)
    })
  })

  describe('invite', () => {
    it('refuses who has no good invitation', async () => {
      const late = await inviteTo({ email: 'bob@example.org' })
      for (const token of [undefined, null, 'grv_invite_nonsense', late])
        expect(await ask(byInvitation, token), String(token)).to.deep.equal(needsInvitation)
    })

    it('tells who has no good invitation nothing of accounts', async () => {
      expect(await ask(byInvitation, undefined, 'ann@example.org')).to.deep.equal(needsInvitation)
    })

    it('admits with an invitation of an organisation, and with one that is only for signing up', async () => {
      const { body } = await ask(byInvitation, await inviteTo()).then(expecting(201))
      expect(body.user.orgs).to.deep.equal([{ id: org, name: 'Atlas', role: 'reader' }])
      const token = await forSignUp()
      expect((await ask(byInvitation, token).then(expecting(201))).body.user).to.not.have.property('orgs')
      expect(await ask(byInvitation, token)).to.deep.equal(needsInvitation)
    })

    it('takes no use of an invitation for an address that has an account', async () => {
      const token = await forSignUp()
      expect((await ask(byInvitation, token, 'ANN@example.org')).body.code).to.equal('email_taken')
      await ask(byInvitation, token).then(expecting(201))
    })

    it('lets people who have an account sign in', async () => {
      await client(byInvitation).post('/auth/login', { email: 'ann@example.org', password }).then(expecting(200))
    })

    it('takes any spelling of the e-mail address that the invitation is for', async () => {
      const token = await inviteTo({ email: 'CLEO@example.org' })
      const { body } = await ask(byInvitation, token, 'Cleo@Example.ORG').then(expecting(201))
      expect(body.user.orgs).to.have.length(1)
    })
  })

  it('closed refuses everybody', async () => {
    const grove = await startGrove({ dataDir, signup: 'closed' })
    try {
      for (const token of [undefined, await forSignUp(), await inviteTo()])
        expect(await ask(grove, token)).to.deep.equal(closed)
      expect((await client(grove).get('/auth/config')).body.signup).to.equal('closed')
    } finally {
      await grove.close()
    }
  })

  it('never tells a secret in what it refuses', async () => {
    const token = await forSignUp()
    const wrong = await client(open).post('/auth/signup', { email: 'x', password, invitation: [token] })
    expect(wrong.status).to.equal(422)
    expect(JSON.stringify(wrong.body)).to.not.contain(token)
  })

  it('is judged before the password is hashed: many who are refused keep nobody waiting', async () => {
    // More than the 64 sign-ups that may wait for their password, whose excess is 429.
    const refused = await Promise.all(Array.from({ length: 200 }, () => ask(byInvitation)))
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([403]))
  })

  it.deep('gives one use of an invitation to one of those who sign up with it at once, in two processes', async () => {
    for (let round = 0; round < 5; round++) {
      const token = await inviteTo()
      const emails = Array.from({ length: 6 }, newEmail)
      const answers = await Promise.all(emails.map((email, at) => ask(at % 2 ? open : byInvitation, token, email)))
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
      for (const [at, { status, body }] of answers.entries()) {
        if (status === 201) continue
        expect([403, 404]).to.include(status)
        expect(['signup_closed', 'invitation_not_found']).to.include(body.code)
        const login = await client(open).post('/auth/login', { email: emails[at], password })
        expect(login.status, 'no account is made').to.equal(401)
      }
    }
  })
})
