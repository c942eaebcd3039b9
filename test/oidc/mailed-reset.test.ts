/** Mails for a new password, where users sign in through a provider. */

import { expect } from 'chai'
import { client, password, signUp } from '../support/people.ts'
import { isVerification, type MailServer, startMailServer } from '../support/smtp.ts'
import { until } from '../support/until.ts'
import { type Scene, startScene } from './scene.ts'

describe('a mail for a new password, beside a provider', () => {
  let smtp: MailServer
  let scene: Scene

  async function start(passwordLogin: boolean, linksByEmail = false): Promise<void> {
    smtp = await startMailServer()
    scene = await startScene({ signup: 'on', linksByEmail }, { smtpUrl: smtp.url, passwordLogin })
  }
  afterEach(() => scene.close())

  async function signIn(name: string): Promise<string> {
    const email = `${name}@acme.example`
    const passed = await scene.pass(scene.newVisitor(), { sub: name, email, email_verified: true, name })
    expect(passed.status).to.equal(303)
    return email
  }

  /** Asks for a mail to each address, and returns the addresses that got one. */
  async function mailed(...emails: string[]): Promise<string[]> {
    for (const email of emails)
      expect((await client(scene.grove).post('/auth/password/forgot', { email })).status).to.equal(202)
    const queued = () => scene.grove.deps.credentials.read.selectFrom('mail').selectAll().execute()
    await until(async () => (await queued()).length === 0)
    const resets = smtp.received.filter((mail) => !isVerification(mail) && mail.text.includes('/reset#token='))
    return emails.filter((email) => resets.some(({ to }) => to.includes(email)))
  }

  it('is not sent to a user without a password, who may have left', async () => {
    await start(true)
    const { user } = await signUp(scene.grove, 'Bob')
    const ann = await signIn('ann')
    expect(await mailed(ann, user.email)).to.deep.equal([user.email])
  })

  for (const linksByEmail of [false, true])
    it(`is ${linksByEmail ? 'not ' : ''}sent to a linked user with _LINK=${linksByEmail ? 'verified_email' : 'off'}`, async () => {
      await start(true, linksByEmail)
      const { user } = await signUp(scene.grove, 'Bob')
      const visitor = scene.newVisitor()
      await visitor.send('/sign-in', { email: user.email, password })
      await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
      await scene.pass(visitor, { sub: 'bob', email: user.email, email_verified: true }, { purpose: 'link' })
      expect(await mailed(user.email)).to.deep.equal(linksByEmail ? [] : [user.email])
    })

  it('is sent to nobody if passwords are off', async () => {
    await start(false)
    const ann = await signIn('ann')
    expect((await client(scene.grove).get('/auth/config')).body.password_reset).to.equal('operator')
    expect(await mailed(ann)).to.deep.equal([])
  })
})
