/** Addresses that users confirm by a link in a mail. */
import { expect } from 'chai'
import { readConfig } from '../../server/base/config.ts'
import { addAccount } from '../../server/domain/accounts/accounts.ts'
import { rotateKeys } from '../../server/domain/accounts/key-rotation.ts'
import { operator } from '../../server/domain/actor.ts'
import { startScene } from '../oidc/scene.ts'
import { sendForm, visitOf } from '../pages/forms.ts'
import { register } from '../support/connector.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { startMailServer, tokenIn } from '../support/smtp.ts'
import { grove, newAddress, pass, smtp, useMail } from './scene.ts'

const verify = (token: string, at = grove) => client(at).post('/auth/verify', { token })
const again = (user: PersonClient) => user.post('/auth/verify/mail')
const rows = () => grove.deps.credentials.read.selectFrom('mail').selectAll().execute()
const sendNow = () => grove.deps.credentials.write((trx) => trx.updateTable('mail').set({ next_at: 0 }).execute())

describe('an address', () => {
  useMail()

  it('is confirmed by the mail of the sign-up', async () => {
    const ann = await signUp(grove, 'Ann')
    expect((await ann.get('/auth/me')).body).not.to.have.property('email_verified')
    const mail = await smtp.verificationTo(ann.user.email)
    const token = tokenIn(mail)
    expect(mail.headers.subject).to.equal('Confirm your e-mail address for Grove')
    expect(mail.text).to.contain(`https://grove.example/verify#token=${token}\n`)
    expect(mail.html.match(/<a href="[^"]*">/g)).to.deep.equal([
      `<a href="https://grove.example/verify#token=${token}">`,
    ])
    for (const _ of ['the first time', 'and once more'])
      expect((await verify(token).then(expecting(200))).body.email).to.equal(ann.user.email)
    expect((await ann.get('/auth/me')).body).to.include({ email_verified: true })
    const { message } = (await again(ann).then(expecting(202))).body
    expect(message).to.equal('Your e-mail address is confirmed already')
  })

  it('is confirmed only by the newest mail, within three days', async () => {
    const bob = await signUp(grove, 'Bob')
    const first = tokenIn(await smtp.verificationTo(bob.user.email))
    await again(bob).then(expecting(202))
    const second = tokenIn(await smtp.verificationTo(bob.user.email, 2))
    expect((await verify(first)).body.code).to.equal('invalid_token')
    pass(3 * 24 * 3_600 + 1)
    expect((await verify(second)).body.code).to.equal('invalid_token')
  })

  it('is confirmed by no mail to a former address', async () => {
    const cat = await signUp(grove, 'Cat')
    const token = tokenIn(await smtp.verificationTo(cat.user.email))
    await grove.deps.credentials.write((trx) =>
      trx.updateTable('account').set({ email_key: newAddress() }).where('id', '=', cat.user.id).execute(),
    )
    expect((await verify(token)).body.code).to.equal('invalid_token')
  })

  it('gets another link if the keys are rotated between two attempts', async () => {
    const tried: string[] = []
    smtp.answer = (mail) => {
      tried.push(tokenIn(mail))
      return tried.length === 1 ? 451 : undefined
    }
    const dan = await signUp(grove, 'Dan')
    await grove.settled()
    expect((await rows()).some(({ error }) => error?.includes('451'))).to.equal(true)
    await rotateKeys(grove.deps, { immediately: false })
    pass(15 * 60)
    await sendNow()
    await smtp.verificationTo(dan.user.email)
    const [first = '', second = ''] = tried
    expect(first).not.to.equal(second)
    expect((await verify(first)).body.code).to.equal('invalid_token')
    await verify(second).then(expecting(200))
  })

  it('is confirmed on the page, which takes the code and the whole link', async () => {
    const eve = await signUp(grove, 'Eve')
    const pages = await visitOf(grove, eve)
    const profile = await pages.open('/me/profile')
    expect(profile.body).to.contain('not confirmed yet')
    const token = tokenIn(await smtp.verificationTo(eve.user.email))
    const wrong = await sendForm(grove, '/verify', { token: 'grv_verify_x' })
    expect(wrong.status).to.equal(403)
    expect(wrong.body).to.contain('unknown or expired')
    const done = await sendForm(grove, '/verify', { token: `https://grove.example/verify#token=${token}` })
    expect(done.body).to.contain(`${eve.user.email} is confirmed.`)
    expect((await pages.open('/me/profile')).body).to.contain('Your e-mail address is confirmed.')
  })

  it('is mailed again by the profile page', async () => {
    const fay = await signUp(grove, 'Fay')
    await smtp.verificationTo(fay.user.email)
    const pages = await visitOf(grove, fay)
    expect((await pages.send('/me/profile', { act: 'verify' })).status).to.equal(303)
    await smtp.verificationTo(fay.user.email, 2)
  })
})

describe('a service that demands confirmed addresses', () => {
  useMail({ emailVerification: 'required', publicUrl: 'http://127.0.0.1:3000' })

  const refused = { status: 403, code: 'email_unverified' }
  const problemOf = ({ status, body }: { status: number; body: { code?: string } }) => ({ status, code: body.code })

  it('refuses organisations, members, bots, webhooks, publishing and consent until then', async () => {
    const [gil, fay] = [await signUp(grove, 'Gil'), await signUp(grove, 'Fay')]
    const program = await register(grove, { name: 'Robin' })
    const pages = await visitOf(grove, gil)
    const consent = () =>
      pages.send('/oauth/authorize', { ...program.request, act: 'allow', access: 'read', reach: 'all' })
    const attempts = {
      create: () => gil.post('/orgs', { name: 'Atlas' }),
      invite: () => gil.post(`/orgs/${gil.org}/invitations`, { role: 'reader' }),
      bot: () => gil.post(`/orgs/${gil.org}/bots`, { name: 'Builder', role: 'reader' }),
      webhook: () => gil.post(`/orgs/${gil.org}/webhooks`, { url: 'http://127.0.0.1:9000/' }),
      member: () => gil.put(`/orgs/${gil.org}/members/${fay.user.email}`, { role: 'reader' }),
      publish: () => gil.patch(`/orgs/${gil.org}`, { published: true }),
    }
    for (const [name, attempt] of Object.entries(attempts))
      expect(problemOf(await attempt()), name).to.deep.equal(refused)
    const page = await consent()
    expect(page.status).to.equal(403)
    expect(page.body).to.contain('Confirm your e-mail address first')
    await gil.patch(`/orgs/${gil.org}`, { name: 'Mine' }).then(expecting(200))
    await gil.post(`/orgs/${gil.org}/nodes`, { title: 'Whales' }).then(expecting(201))
    await verify(tokenIn(await smtp.verificationTo(gil.user.email))).then(expecting(200))
    for (const [name, attempt] of Object.entries(attempts)) expect((await attempt()).status, name).to.be.below(300)
    expect((await consent()).status).to.equal(200)
  })

  it('trusts the addresses that the operator names', async () => {
    const address = newAddress()
    await addAccount(grove.deps, { email: address, isAdmin: true, by: operator })
    const { read } = grove.deps.credentials
    const row = await read.selectFrom('account').selectAll().where('email', '=', address).executeTakeFirstOrThrow()
    expect(row.email_verified_at).to.equal(row.created_at)
    expect((await rows()).some((mail) => mail.address === address)).to.equal(false)
  })

  it('trusts a provider that confirms the address', async () => {
    const server = await startMailServer()
    const scene = await startScene({}, { smtpUrl: server.url, emailVerification: 'required' })
    try {
      const visitor = scene.newVisitor()
      await scene.pass(visitor, { sub: 'hal', email: 'hal@acme.example', email_verified: true, name: 'Hal' })
      expect((await visitor.api('/auth/me')).body).to.include({ email_verified: true })
    } finally {
      await scene.close()
    }
  })

  it('does not start without a mail server', () => {
    expect(() => readConfig({ EMAIL_VERIFICATION: 'required' })).to.throw('EMAIL_VERIFICATION: required needs SMTP_URL')
  })
})

describe('mails that confirm an address, with limits', () => {
  useMail({ rateLimit: true })

  it('are 3 an hour to an address', async () => {
    const ida = await signUp(grove, 'Ida')
    const statuses = []
    for (let n = 0; n < 3; n += 1) statuses.push((await again(ida)).status)
    expect(statuses).to.deep.equal([202, 202, 429])
  })
})

describe('a service without mail', () => {
  it('confirms no address', async () => {
    const silent = await startGrove()
    try {
      const jan = await signUp(silent, 'Jan')
      expect((await again(jan)).body.code).to.equal('forbidden')
      expect((await (await visitOf(silent, jan)).open('/me/profile')).body).not.to.contain('not confirmed')
    } finally {
      await silent.close()
    }
  })
})
