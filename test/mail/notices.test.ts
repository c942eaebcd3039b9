/** Mails that say that something was done with an account. */
import { request } from 'node:http'
import { expect } from 'chai'
import { startScene } from '../oidc/scene.ts'
import type { Visitor } from '../oidc/visitor.ts'
import { visitOf } from '../pages/forms.ts'
import { allow, exchange, register } from '../support/connector.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { isVerification, type ReceivedMail, startMailServer } from '../support/smtp.ts'
import { grove, pass, smtp, useMail } from './scene.ts'

/** Checks that the mail has one link in both forms, to this page. */
function expectLink({ text, html }: ReceivedMail, page: string): void {
  expect(text.match(/https?:.*/g)).to.deep.equal([`https://grove.example${page}`])
  expect(html.match(/<a [^>]*>/g)).to.deep.equal([`<a href="https://grove.example${page}">`])
  for (const form of [text, html]) expect(form).not.to.match(/grv_|evil\.example|<img/)
}

/** Signs in from this address of the loopback network. */
function signInFrom(localAddress: string, { user: { email } }: PersonClient, agent: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'user-agent': agent }
    const sent = request(`${grove.url}/auth/login`, { method: 'POST', localAddress, headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify({ email, password }))
  })
}

const mailsTo = ({ user }: PersonClient) =>
  smtp.received.filter((mail) => mail.to.includes(user.email) && !isVerification(mail))

describe('a notice', () => {
  useMail()

  it('follows the first sign-in from a network, but not the sign-up', async () => {
    const ann = await signUp(grove, 'Ann')
    const agent = 'Browser <img src=x> https://evil.example'
    for (const address of ['127.0.0.7', '127.0.9.1', '127.0.9.2']) {
      pass(1)
      expect(await signInFrom(address, ann, agent)).to.equal(200)
    }
    await grove.settled()
    const [mail, ...others] = mailsTo(ann)
    expect(others).to.deep.equal([])
    expect(mail?.headers.subject).to.equal('New sign-in to Grove')
    expect(mail?.text).to.contain('127.0.9.0/24')
    expectLink(mail as ReceivedMail, '/me/sessions') // the previous line has found it
    pass(31 * 24 * 3_600)
    await signInFrom('127.0.9.1', ann, agent)
    await smtp.mailTo(ann.user.email, 2)
  })

  it.deep('follows a connection, and its end after a code was used twice', async () => {
    const bob = await signUp(grove, 'Bob')
    const program = await register(grove, { name: 'Robin www.evil.example' })
    const code = await allow(program, await visitOf(grove, bob), { access: 'read' })
    const connected = await smtp.mailTo(bob.user.email)
    expect(connected.text).to.contain('“Robin').and.to.contain('access “read”')
    expectLink(connected, '/me/connections')
    expect((await exchange(program, code)).status).to.equal(200)
    expect((await exchange(program, code)).body.error).to.equal('invalid_grant')
    const reused = await smtp.mailTo(bob.user.email, 2)
    expect(reused.headers.subject).to.equal('A connection of your account was ended')
    expectLink(reused, '/me/connections')
    expect((await exchange(program, code)).body.error).to.equal('invalid_grant')
    await grove.settled()
    expect(mailsTo(bob)).to.have.length(2)
  })

  it('follows the link of an identity, but not an account that a provider makes', async () => {
    const server = await startMailServer()
    const scene = await startScene({}, { smtpUrl: server.url })
    try {
      const cat = await signUp(scene.grove, 'Cat')
      const visitor: Visitor = scene.newVisitor()
      await visitor.send('/sign-in', { email: cat.user.email, password })
      await visitor.send('/me/identities', { act: 'link', provider: 'acme', password })
      await scene.pass(visitor, { sub: 'cat' }, { purpose: 'link' })
      expectLink(await server.mailTo(cat.user.email), '/me/identities')
      const claims = { sub: 'dan', email: 'dan@acme.example', email_verified: true, name: 'Dan' }
      expect((await scene.pass(scene.newVisitor(), claims)).status).to.equal(303)
      const { read } = scene.grove.deps.credentials
      expect(await read.selectFrom('mail').selectAll().where('address', '=', claims.email).execute()).to.deep.equal([])
      expect(server.received.filter((mail) => !isVerification(mail))).to.have.length(1)
    } finally {
      await scene.close()
    }
  })
})
