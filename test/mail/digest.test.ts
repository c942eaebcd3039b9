/** The inbox by mail. */
import { expect } from 'chai'
import { isPostgres } from '../../index/credentials/mail.ts'
import { queueDigests } from '../../server/features/inbox/digest.ts'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { tokenIn } from '../support/smtp.ts'
import { grove, pass, smtp, useMail } from './scene.ts'

const day = 24 * 3_600
const rows = () => grove.deps.credentials.read.selectFrom('mail').selectAll().execute()
const digestsTo = ({ user }: PersonClient) =>
  smtp.received.filter(({ to, headers }) => to.includes(user.email) && headers.subject?.startsWith('Your inbox'))

/** Queues what is due, and waits until it was sent or dropped. */
async function send(): Promise<void> {
  await queueDigests(grove.deps)
  await grove.settled()
  expect(await rows()).to.deep.equal([])
}

/** Moves the clock, also that of PostgreSQL, which decides when a digest is due. */
async function wait(seconds: number): Promise<void> {
  pass(seconds)
  const { write } = grove.deps.credentials
  await write(async (trx) => {
    if (!isPostgres(trx)) return
    await trx
      .updateTable('digest_turn')
      .set((eb) => ({ next_at: eb('next_at', '-', seconds * 1_000) }))
      .execute()
  })
}

/** Signs in again, because the clock has moved. */
const log = async ({ user }: PersonClient) =>
  client(
    grove,
    (
      await client(grove)
        .post('/auth/login', { email: user.email, password: 'correct horse battery' })
        .then(expecting(200))
    ).body.accessToken,
  )

describe('a digest of the inbox', () => {
  useMail()

  let ann: PersonClient
  let bob: PersonClient
  let org: string
  before(async () => {
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    await client(grove).post('/auth/verify', { token: tokenIn(await smtp.verificationTo(bob.user.email)) })
    org = (await ann.post('/orgs', { name: 'Atlas www.evil.example' }).then(expecting(201))).body.id
    await ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' }).then(expecting(200))
    await bob.put(`/orgs/${org}/follow`, {}).then(({ status }) => expect(status).to.be.below(300))
    await bob.patch('/auth/me', { digest: 'daily' }).then(expecting(200))
    await send()
  })
  const write = async (title: string) => (await log(ann)).post(`/orgs/${org}/nodes`, { title }).then(expecting(201))

  it('is sent once a period, with what is new', async () => {
    expect((await (await log(bob)).get('/auth/me')).body).to.include({ digest: 'daily' })
    await wait(60)
    await write('Whales <img src=x>')
    await send()
    expect(digestsTo(bob)).to.have.length(0)
    await wait(day)
    await send()
    await send()
    const [mail, ...more] = digestsTo(bob)
    expect(more).to.deep.equal([])
    expect(mail?.text).to.contain('“Whales').and.to.contain('by Ann')
    expect(mail?.text.match(/https?:.*/g)).to.deep.equal(['https://grove.example/me/inbox'])
    expect(mail?.html).not.to.match(/<img|evil\.example/)
    expect(mail?.headers).to.include({ 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' })
    expect(digestsTo(ann)).to.deep.equal([])
  })

  it('is not sent if nothing is new', async () => {
    await wait(day + 1)
    await send()
    expect(digestsTo(bob)).to.have.length(1)
  })

  it('has only what the user wants by mail', async () => {
    await (await log(bob)).patch('/auth/me', { notifications: { following_org: 'inbox' } }).then(expecting(200))
    await write('Plankton')
    await wait(day + 1)
    await send()
    expect(digestsTo(bob)).to.have.length(1)
    const { items } = (await (await log(bob)).get('/inbox?unread=true')).body
    expect(items.map(({ node_title }: { node_title?: string }) => node_title)).to.include('Plankton')
    await (await log(bob)).patch('/auth/me', { notifications: { following_org: 'mail' } }).then(expecting(200))
  })

  it('has only what the user may still see when it is sent', async () => {
    await write('Krill')
    await wait(day + 1)
    await (await log(ann)).delete(`/orgs/${org}/members/${bob.user.email}`).then(expecting(204))
    await send()
    expect(digestsTo(bob)).to.have.length(1)
    await (await log(ann)).put(`/orgs/${org}/members/${bob.user.email}`, { role: 'reader' }).then(expecting(200))
  })

  it('ends by one click of a mail program, which needs no session and no page', async () => {
    await write('Prawns')
    await wait(day + 1)
    await send()
    const mail = digestsTo(bob).at(-1)
    const url = new URL(/^<(.*)>$/.exec(mail?.headers['list-unsubscribe'] ?? '')?.[1] ?? '')
    expect(url.href).to.match(/^https:\/\/grove\.example\/unsubscribe\?token=grv_digest_/)
    const post = (search: string) =>
      fetch(`${grove.url}/unsubscribe${search}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'List-Unsubscribe=One-Click',
      })
    expect((await post('?token=grv_digest_x')).status).to.equal(403)
    for (const _ of ['the first time', 'and once more']) expect((await post(url.search)).status).to.equal(200)
    const again = await log(bob)
    expect((await again.get('/auth/me')).body).not.to.have.property('digest')
    const token = url.searchParams.get('token') ?? ''
    expect((await client(grove).post('/auth/verify', { token })).status).to.equal(401)
    expect((await client(grove, token).get('/auth/me')).status).to.equal(401)
  })

  it('is turned on by the page, and waits for a confirmed address', async () => {
    const cat = await signUp(grove, 'Cat')
    const pages = await visitOf(grove, cat)
    await pages.send('/me/notifications', { act: 'digest', digest: 'weekly' })
    expect((await pages.open('/me/notifications')).body).to.contain('once your e-mail address is confirmed')
    expect((await cat.get('/auth/me')).body).to.include({ digest: 'weekly' })
  })
})
