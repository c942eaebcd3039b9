/** A new password by a link in a mail. */
import { expect } from 'chai'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { isVerification, tokenIn } from '../support/smtp.ts'
import { grove, newAddress, pass, smtp, useMail } from './scene.ts'

describe('a new password by mail', () => {
  useMail()

  let ann: PersonClient
  before(async () => {
    ann = await signUp(grove, 'Ann')
  })
  const anyone = () => client(grove)
  const ask = (email: string) => anyone().post('/auth/password/forgot', { email })
  const set = (reset_token: string) => anyone().post('/auth/password', { reset_token, new_password: password })

  it('works once, for one hour, and ends what was before', async () => {
    const { token } = (await ann.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body
    await ask(ann.user.email).then(expecting(202))
    const mail = await smtp.mailTo(ann.user.email)
    const reset = tokenIn(mail)
    expect(mail.text).to.contain(`https://grove.example/reset#token=${reset}\n`)
    await set(reset).then(expecting(200))
    expect((await client(grove, token).get('/auth/me')).status).to.equal(401)
    expect((await set(reset)).body.code).to.equal('invalid_token')

    await ask(ann.user.email).then(expecting(202))
    const late = tokenIn(await smtp.mailTo(ann.user.email, 2))
    pass(3_601)
    expect((await set(late)).body.code).to.equal('invalid_token')
  })

  it('is the link of the newest mail', async () => {
    const bob = await signUp(grove, 'Bob')
    await ask(bob.user.email)
    const first = tokenIn(await smtp.mailTo(bob.user.email, 1))
    await ask(bob.user.email)
    const second = tokenIn(await smtp.mailTo(bob.user.email, 2))
    expect((await set(first)).body.code).to.equal('invalid_token')
    await set(second).then(expecting(200))
  })

  it('is asked for in the same way with and without an account', async () => {
    const bea = await signUp(grove, 'Bea')
    const unknown = newAddress()
    const answers = [await ask(bea.user.email), await ask(unknown)]
    const [one, other] = answers.map(({ status, headers, body }) => ({
      ...{ status, body },
      names: [...Object.keys(headers)].sort(),
    }))
    expect(one).to.deep.equal(other)
    expect(one?.status).to.equal(202)
    await grove.settled()
    expect(smtp.received.some(({ to }) => to.includes(unknown))).to.equal(false)
    expect(smtp.received.some(({ to }) => to.includes(bea.user.email))).to.equal(true)
  })

  it('is not sent to an account that was disabled since', async () => {
    const cat = await signUp(grove, 'Cat')
    await grove.deps.credentials.write((trx) =>
      trx.updateTable('account').set({ disabled_at: '2026-01-01T00:00:00Z' }).where('id', '=', cat.user.id).execute(),
    )
    await ask(cat.user.email).then(expecting(202))
    await grove.settled()
    expect(smtp.received.some((mail) => mail.to.includes(cat.user.email) && !isVerification(mail))).to.equal(false)
  })

  it('refuses what is not an address', async () => {
    for (const email of ['ann', 'ann@example.org\r\nBcc: bob@example.org', 'Ann <ann@example.org>'])
      expect((await ask(email)).status).to.equal(422)
  })

  it('is in the audit, when it was asked for and when it was used', async () => {
    const dan = await signUp(grove, 'Dan')
    await ask(dan.user.email)
    const session = (await set(tokenIn(await smtp.mailTo(dan.user.email))).then(expecting(200))).body
    const { entries } = (await client(grove, session.accessToken).get('/auth/audit').then(expecting(200))).body
    const actions = entries.map(({ action }: { action: string }) => action)
    expect(actions).to.include.members(['auth.reset_asked', 'auth.reset_used'])
  })
})

describe('the rows of requests for a new password', () => {
  it('are the same with and without an account', async () => {
    const quiet = await startGrove({ smtpUrl: 'smtp://127.0.0.1:1', sweeps: false })
    try {
      const eve = await signUp(quiet, 'Eve')
      const nobody = `${'x'.repeat(eve.user.email.length - 12)}@example.org`
      for (const email of [eve.user.email, nobody])
        await client(quiet).post('/auth/password/forgot', { email }).then(expecting(202))
      const rows = await quiet.deps.credentials.read
        .selectFrom('mail')
        .where('kind', '=', 'reset')
        .select(['kind', 'account_id', 'address', 'fields', 'attempts'])
        .orderBy('id')
        .execute()
      expect(new Set(rows.map(({ fields }) => fields.length)).size).to.equal(1)
      const row = (address: string) => ({ kind: 'reset', account_id: null, address, attempts: 0 })
      expect(rows.map(({ fields: _, ...one }) => one)).to.deep.equal([row(eve.user.email), row(nobody)])
    } finally {
      await quiet.close()
    }
  })
})

describe('requests for a new password, with limits', () => {
  useMail({ rateLimit: true })

  it('send 3 mails an hour to an address, and answer the same', async () => {
    const fay = await signUp(grove, 'Fay')
    const answers = []
    for (let n = 0; n < 5; n += 1)
      answers.push((await client(grove).post('/auth/password/forgot', { email: fay.user.email })).body)
    expect(new Set(answers.map((body) => JSON.stringify(body))).size).to.equal(1)
    await smtp.mailTo(fay.user.email, 3)
    await grove.settled()
    expect(smtp.received.filter((mail) => mail.to.includes(fay.user.email) && !isVerification(mail)).length).to.equal(3)
  })

  it('are at most 20 an hour from one address', async () => {
    const statuses = []
    for (let n = 0; n < 21; n += 1)
      statuses.push((await client(grove).post('/auth/password/forgot', { email: newAddress() })).status)
    expect(statuses.filter((status) => status === 429).length).to.be.greaterThan(0)
    expect(new Set(statuses)).to.deep.equal(new Set([202, 429]))
  })
})

describe('a service without a mail server', () => {
  it('answers the same, writes nothing, and says that the operator resets passwords', async () => {
    const silent = await startGrove()
    try {
      await client(silent).post('/auth/password/forgot', { email: newAddress() }).then(expecting(202))
      expect(await silent.deps.credentials.read.selectFrom('mail').selectAll().execute()).to.deep.equal([])
      expect((await client(silent).get('/auth/config')).body.password_reset).to.equal('operator')
    } finally {
      await silent.close()
    }
  })
})
