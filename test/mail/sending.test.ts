/** Mails reach the server once, or twice after a crash, and are never lost. */
import { rm } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { isVerification, type MailServer, startMailServer } from '../support/smtp.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { grove, pass, smtp, useMail } from './scene.ts'

const ask = (of: { readonly url: string }, email: string) =>
  client(of).post('/auth/password/forgot', { email }).then(expecting(202))
/** Signs up a user, and waits for the mail that confirms the address. */
async function newUser(of: Grove | { readonly url: string }, server: MailServer, name: string): Promise<PersonClient> {
  const user = await signUp(of, name)
  await server.verificationTo(user.user.email)
  return user
}

const rowsOf = ({ deps }: Grove) => deps.credentials.read.selectFrom('mail').selectAll().execute()

describe('a mail', () => {
  useMail()

  it.deep('has a plain and an HTML part, one link, and the headers of an automatic mail', async () => {
    const ann = await newUser(grove, smtp, 'Ann')
    await ask(grove, ann.user.email)
    const { headers, text, html, from } = await smtp.mailTo(ann.user.email)
    expect(from).to.equal('grove@grove.example')
    expect(headers).to.include({ 'auto-submitted': 'auto-generated', to: ann.user.email })
    expect(headers['message-id']).to.match(/^<[0-9a-f-]{36}@grove\.example>$/)
    expect(text.match(/https?:/g)).to.have.length(1)
    expect(html.match(/href=/g)).to.have.length(1)
    expect(html).not.to.match(/<img|<script|src=/)
  })

  it('is tried again after a refusal for a while, under the same id and with the same link', async () => {
    const bob = await newUser(grove, smtp, 'Bob')
    const tried: string[] = []
    smtp.answer = ({ headers, text }) => {
      tried.push(`${headers['message-id']} ${text}`)
      return tried.length === 1 ? 451 : undefined
    }
    await ask(grove, bob.user.email)
    await grove.settled()
    const [row] = await rowsOf(grove)
    expect(row).to.deep.include({ attempts: 1, failed_at: null, claimed_by: null })
    expect(row?.error).not.to.contain('@')
    if (process.env.GROVE_TEST_DATABASE_URL === undefined) pass(61)
    else await grove.deps.credentials.write((trx) => trx.updateTable('mail').set({ next_at: 0 }).execute())
    await smtp.mailTo(bob.user.email)
    expect(new Set(tried).size).to.equal(1)
    expect(tried).to.have.length(2)
  })

  it('is given up after a refusal for good', async () => {
    const cat = await newUser(grove, smtp, 'Cat')
    smtp.answer = () => 550
    await ask(grove, cat.user.email)
    await grove.settled()
    const [row] = await rowsOf(grove)
    expect(row).to.deep.include({ attempts: 1, claimed_by: null })
    expect(smtp.received.some((mail) => mail.to.includes(cat.user.email) && !isVerification(mail))).to.equal(false)
    await grove.deps.credentials.write((trx) => trx.deleteFrom('mail').execute())
  })
})

describe('a mail server on another machine', () => {
  it('gets nothing without TLS', async () => {
    const address = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    // Linux connects 0.0.0.0 to this machine, and it is not a name of the loopback interface.
    const server = await startMailServer({}, '0.0.0.0')
    const smtpUrl = `smtp://${address ?? '0.0.0.0'}:${server.port}`
    const far = await startGrove({ smtpUrl, isMailLocal: false })
    try {
      const dan = await signUp(far, 'Dan')
      await ask(far, dan.user.email)
      await far.settled()
      const [row] = await rowsOf(far)
      expect(row).to.deep.include({ attempts: 1, failed_at: null })
      expect(server.received).to.deep.equal([])
    } finally {
      await far.close()
    }
  })
})

describe('a service that is killed while it sends', () => {
  let dataDir: string
  let server: MailServer
  before(async () => {
    dataDir = await newDataDir()
    server = await startMailServer()
  })
  after(() => rm(dataDir, { recursive: true, force: true }))

  const environment = () => ({ SMTP_URL: server.url, MAIL_FROM: 'grove@grove.example', PUBLIC_URL: 'http://127.0.0.1' })

  it.deep('leaves a mail that another process sends, under the same id', async () => {
    const first = await spawnGrove(dataDir, environment())
    const ann = await newUser(first, server, 'Ann')
    const ids: (string | undefined)[] = []
    let isDead = false
    // The first attempt is never answered: the process dies after the server has the mail.
    server.answer = async ({ headers }) => {
      ids.push(headers['message-id'])
      if (ids.length === 1) await until(() => isDead)
      return undefined
    }
    await ask(first, ann.user.email)
    await until(() => ids.length === 1)
    await first.kill()
    isDead = true
    const second = await spawnGrove(dataDir, environment())
    try {
      await until(() => ids.length === 2)
      expect(new Set(ids).size).to.equal(1)
      const resets = () => server.received.filter((mail) => !isVerification(mail))
      await until(() => resets().length === 2)
      const links = resets().map(({ text }) => text)
      expect(new Set(links).size).to.equal(1)
    } finally {
      await second.stop()
    }
  })
})

describe('two services on one folder', () => {
  it.deep('send each mail once', async () => {
    const dataDir = await newDataDir()
    const server = await startMailServer()
    const one = await startGrove({ dataDir, smtpUrl: server.url })
    const other = await startGrove({ dataDir, smtpUrl: server.url })
    try {
      const people = []
      for (let n = 0; n < 12; n += 1) people.push(await signUp(n % 2 === 0 ? one : other, `User ${n}`))
      await Promise.all(people.map(({ user }, n) => ask(n % 2 === 0 ? other : one, user.email)))
      await Promise.all([one.settled(), other.settled()])
      expect(await rowsOf(one)).to.deep.equal([])
      const sentTo = server.received
        .filter((mail) => !isVerification(mail))
        .flatMap(({ to }) => to)
        .sort()
      expect(sentTo).to.deep.equal(people.map(({ user }) => user.email).sort())
    } finally {
      await one.close()
      await other.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})
