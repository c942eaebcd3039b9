/** Changes of an address, which the new mailbox confirms and the former one can undo. */
import { expect } from 'chai'
import { sendForm, visitOf } from '../pages/forms.ts'
import { connectProgram } from '../support/connector.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { tokenIn } from '../support/smtp.ts'
import { grove, newAddress, pass, smtp, useMail } from './scene.ts'

const ask = (who: PersonClient, new_email: string, secret = password) =>
  who.post('/auth/email', { new_email, password: secret })
const verify = (token: string) => client(grove).post('/auth/verify', { token })
const undo = (token: string) => client(grove).post('/auth/email/undo', { token })
const logIn = async (email: string, secret = password) =>
  (await client(grove).post('/auth/login', { email, password: secret })).status
const emailOf = async (who: PersonClient) => (await who.get('/auth/me').then(expecting(200))).body.email

/** Asks for a change and returns the token of the mail to the new address. */
async function asked(who: PersonClient, address: string): Promise<string> {
  await ask(who, address).then(expecting(200))
  return tokenIn(await smtp.verificationTo(address))
}

/** Changes the address and returns the token with which the former one undoes it. */
async function changed(who: PersonClient, from: string, to: string): Promise<string> {
  await verify(await asked(who, to)).then(expecting(200))
  return tokenIn(await smtp.mailTo(from))
}

describe('a change of address', () => {
  useMail()

  it('takes effect when the new mailbox confirms it', async () => {
    const ann = await signUp(grove, 'Ann')
    const to = newAddress()
    expect((await ask(ann, to, 'not the password')).body.code).to.equal('invalid_credentials')
    const { body } = await ask(ann, to).then(expecting(200))
    expect(body).to.include({ email: ann.user.email, pending_email: to })
    const mail = await smtp.verificationTo(to)
    expect(mail.headers.subject).to.equal('Confirm your new e-mail address for Grove')
    expect(mail.text.match(/https?:/g)).to.have.length(1)
    expect([await emailOf(ann), await logIn(to)]).to.deep.equal([ann.user.email, 401])
    for (const _ of ['the first time', 'and once more'])
      expect((await verify(tokenIn(mail)).then(expecting(200))).body.email).to.equal(to)
    expect((await ann.get('/auth/me')).body).to.include({ email: to, email_verified: true })
    expect([await logIn(ann.user.email), await logIn(to)]).to.deep.equal([401, 200])
    const { members } = (await ann.get(`/orgs/${ann.org}/members`).then(expecting(200))).body
    expect(members[0].email).to.equal(to)
    const told = await smtp.mailTo(ann.user.email)
    expect(told.headers.subject).to.equal('The e-mail address of your Grove account was changed')
    expect(told.text).to.contain(`https://grove.example/undo-email#token=${tokenIn(told)}\n`)
  })

  it('ends after a day, and by a later one', async () => {
    const bob = await signUp(grove, 'Bob')
    const first = await asked(bob, newAddress())
    const second = await asked(bob, newAddress())
    expect((await verify(first)).body.code).to.equal('invalid_token')
    pass(24 * 3_600 + 1)
    expect((await verify(second)).body.code).to.equal('invalid_token')
    expect(await logIn(bob.user.email)).to.equal(200)
  })

  it('is refused if another account has the address, also when it is confirmed', async () => {
    const cat = await signUp(grove, 'Cat')
    const to = newAddress()
    const token = await asked(cat, to)
    await client(grove).post('/auth/signup', { email: to, password }).then(expecting(201))
    expect((await verify(token)).body.code).to.equal('email_taken')
    expect((await ask(cat, to)).body.code).to.equal('email_taken')
  })

  it('is made on the profile page', async () => {
    const dan = await signUp(grove, 'Dan')
    const to = newAddress()
    const pages = await visitOf(grove, dan)
    const sent = await pages.send('/me/profile', { act: 'email', new_email: to, password })
    expect(sent.headers.location).to.match(/saved=pending$/)
    const done = await sendForm(grove, '/verify', { token: tokenIn(await smtp.verificationTo(to)) })
    expect(done.body).to.contain(`${to} is confirmed.`)
    const token = tokenIn(await smtp.mailTo(dan.user.email))
    const back = await sendForm(grove, '/undo-email', { token })
    expect(back.body).to.contain(`Your e-mail address is ${dan.user.email} again.`)
    expect((await sendForm(grove, '/undo-email', { token })).status).to.equal(403)
  })
})

describe('the former mailbox', () => {
  useMail({ publicUrl: 'http://127.0.0.1:3000' })

  it('gets the account back, without everything that signs in', async () => {
    const eve = await signUp(grove, 'Eve')
    const { token } = (await eve.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body
    const program = await connectProgram(grove, eve, { access: 'read', resource: 'api' })
    await smtp.mailTo(eve.user.email)
    const to = newAddress()
    await verify(await asked(eve, to)).then(expecting(200))
    const undoToken = tokenIn(await smtp.mailTo(eve.user.email, 2))
    expect((await undo(undoToken).then(expecting(200))).body.email).to.equal(eve.user.email)
    expect((await undo(undoToken)).body.code).to.equal('invalid_token')
    expect((await eve.get('/auth/me')).status).to.equal(401)
    for (const secret of [token, program.token])
      expect((await client(grove, secret).get('/auth/me')).status).to.equal(401)
    expect([await logIn(to), await logIn(eve.user.email)]).to.deep.equal([401, 401])
    const reset_token = tokenIn(await smtp.mailTo(eve.user.email, 3))
    await client(grove).post('/auth/password', { reset_token, new_password: 'a new long one' }).then(expecting(200))
    expect(await logIn(eve.user.email, 'a new long one')).to.equal(200)
  })

  it('keeps its address for seven days, also after a second change', async () => {
    const fay = await signUp(grove, 'Fay')
    const [second, third] = [newAddress(), newAddress()]
    const first = await changed(fay, fay.user.email, second)
    pass(60)
    const later = await changed(fay, second, third)
    const taken = await client(grove).post('/auth/signup', { email: fay.user.email, password })
    expect(taken.body.code).to.equal('email_taken')
    await undo(first).then(expecting(200))
    expect((await undo(later)).body.code).to.equal('invalid_token')
    expect(await logIn(third)).to.equal(401)
  })

  it('is too late after seven days', async () => {
    const gil = await signUp(grove, 'Gil')
    const token = await changed(gil, gil.user.email, newAddress())
    pass(7 * 24 * 3_600 + 1)
    expect((await undo(token)).body.code).to.equal('invalid_token')
    await client(grove).post('/auth/signup', { email: gil.user.email, password }).then(expecting(201))
  })
})

describe('mails to a new address, with limits', () => {
  useMail({ rateLimit: true })

  it('are 3 an hour to an address', async () => {
    const hal = await signUp(grove, 'Hal')
    const to = newAddress()
    const statuses = []
    for (let n = 0; n < 4; n += 1) statuses.push((await ask(hal, to)).status)
    expect(statuses).to.deep.equal([200, 200, 200, 429])
  })
})
