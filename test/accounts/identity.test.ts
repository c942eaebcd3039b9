/** Who may sign up as what, and that no answer says a secret. */

import { expect } from 'chai'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('sign-up', () => {
  const { grove } = useWorld({})

  const signup = (fields: object) => client(grove).post('/auth/signup', { password, ...fields })

  const local64 = 'a'.repeat(64)
  for (const email of [
    'ann@example',
    '.ann@example.org',
    'ann.@example.org',
    'a..b@example.org',
    'ann@.example.org',
    'ann@example.org.',
    'ann@example..org',
    'ann@-example.org',
    'ann@example-.org',
    'ann@exam_ple.org',
    'ann@[127.0.0.1]',
    '"ann lee"@example.org',
    'ann@example.org\n',
    ' ann@example.org',
    'änn@example.org',
    `a${local64}@example.org`,
    `ann@${'a'.repeat(64)}.org`,
    "'ann@example.org",
    "'@example.org",
    'ann',
    '@example.org',
    'a@b@example.org',
  ]) {
    it(`refuses the e-mail ${JSON.stringify(email)}`, async () => {
      const { status, body } = await signup({ email })
      expect(status).to.equal(422)
      expect(body.detail[0]).to.deep.include({ loc: ['body', 'email'] })
    })
  }

  for (const email of [
    "o'neil+tag/x=y@example.org",
    'a.b.c@sub.example.co',
    'x@1.example',
    `${local64}@example.org`,
    '_@a.bc',
  ]) {
    it(`takes the e-mail ${email}`, async () => {
      expect((await signup({ email })).status).to.equal(201)
    })
  }

  it('does not lock out users who signed up before', async () => {
    const { user } = await signUp(grove, 'Old')
    const change = { email: 'old@intranet', email_key: 'old@intranet' }
    await grove.deps.credentials.write((trx) =>
      trx.updateTable('account').set(change).where('id', '=', user.id).execute(),
    )
    expect((await client(grove).post('/auth/login', { email: 'old@intranet', password })).status).to.equal(200)
  })

  for (const name of ['.', '<>', ',;:', '" \'', '\\', '< . >']) {
    it(`refuses the name ${JSON.stringify(name)}, of which git keeps nothing`, async () => {
      const answer = await signup({ email: `${name.charCodeAt(0)}.${name.length}@example.org`, name })
      expect(answer).to.deep.equal({
        status: 422,
        body: {
          detail: [
            {
              loc: ['body', 'name'],
              msg: 'Git would remove all of this name from a commit; use letters or digits',
              type: 'value_error',
              input: name,
            },
          ],
        },
      })
    })
  }

  it('refuses at a change of address and an invitation what it refuses of a new user', async () => {
    const ann = await signUp(grove, 'Ann Other')
    const changed = await ann.post('/auth/email', { new_email: "'old@example.org", password })
    const invited = await ann.post(`/orgs/${ann.org}/invitations`, { role: 'editor', email: "'old@example.org" })
    expect([changed.status, invited.status]).to.deep.equal([422, 422])
  })
})

describe('answers under /auth/', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  const secret = 'hunter2-hunter2'
  const sent: [string, string, unknown][] = [
    ['a body that is text', '/auth/login', JSON.stringify(secret)],
    ['a misspelt field', '/auth/login', { email: 'ann@example.org', pasword: secret }],
    ['a field of another case', '/auth/login', { email: 'ann@example.org', PASSWORD: secret, Secret: secret }],
    ['another misspelt field', '/auth/password', { old: secret, new: secret }],
    ['a list', '/auth/login', [secret]],
    ['a token as a number', '/auth/refresh', { refresh: secret }],
    ['an unknown field of a token', '/auth/tokens', { name: 'x', access: 'read', key: secret }],
    ['an unknown parameter', `/auth/logout?session=${secret}`, { refreshToken: 'x' }],
    ['a password that is too short', '/auth/signup', { email: 'x@example.org', password: secret.slice(0, 7) }],
  ]
  for (const [title, path, body] of sent) {
    it(`do not repeat ${title}`, async () => {
      const answer = await client(grove, path === '/auth/tokens' ? ann.session.accessToken : undefined).post(path, body)
      expect(answer.status).to.equal(422)
      expect(JSON.stringify(answer.body)).to.not.contain(secret.slice(0, 7))
    })
  }

  it('repeat what is known and harmless', async () => {
    const { body } = await client(grove).post('/auth/login', { email: 'ann', password })
    expect(body.detail.map(({ input }: { input: unknown }) => input)).to.include('ann')
  })
})
