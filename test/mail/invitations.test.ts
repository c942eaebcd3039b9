/** Invitations by mail. */
import { expect } from 'chai'
import { rotateKeys } from '../../server/domain/accounts/key-rotation.ts'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { grove, newAddress, pass, smtp, useMail } from './scene.ts'

const rows = () => grove.deps.credentials.read.selectFrom('mail').selectAll().execute()
const tokenIn = (text: string) => /grv_invite_[\w-]{43}/.exec(text)?.[0] ?? ''

describe('an invitation with an address', () => {
  useMail()

  let ann: PersonClient
  let org: string
  before(async () => {
    ann = await signUp(grove, 'Ann')
    org = (await ann.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body.id
  })
  const invite = async (by: PersonClient, at: string, email: string) =>
    (await by.post(`/orgs/${at}/invitations`, { role: 'editor', email }).then(expecting(201))).body

  it('is mailed with the link of the answer, which lets the user in', async () => {
    const address = newAddress()
    const { mailed, token, url } = await invite(ann, org, address)
    expect(mailed).to.equal(true)
    const mail = await smtp.mailTo(address)
    expect(mail.headers.subject).to.equal('Invitation to “Atlas”')
    expect(mail.text).to.contain('“Ann” invites you').and.to.contain(`https://grove.example/join#token=${token}\n`)
    expect(new URL(url).hash).to.equal(`#token=${token}`)
    expect(tokenIn(mail.html)).to.equal(token)
    const joined = { email: address, password, name: 'Bob', invitation: tokenIn(mail.text) }
    const { user } = (await client(grove).post('/auth/signup', joined).then(expecting(201))).body
    expect(user.orgs.map(({ id }: { id: string }) => id)).to.include(org)
  })

  it('has one link, also with hostile names', async () => {
    const hostile = 'Evil <a href="https://evil.example">x</a> www.evil.example a@evil.example\u202e'
    const eve = await signUp(grove, 'Eve')
    await eve.patch('/auth/me', { name: '"&img src=x& evil.example' }).then(expecting(200))
    const { id } = (await eve.post('/orgs', { name: hostile }).then(expecting(201))).body
    const address = newAddress()
    await invite(eve, id, address)
    const { text, html, headers } = await smtp.mailTo(address)
    expect(text.match(/https?:/g)).to.have.length(1)
    expect(html.match(/<a /g)).to.have.length(1)
    expect(html).not.to.match(/<img|<a href="(?!https:\/\/grove\.example\/join#)/)
    for (const form of [text, html, headers.subject ?? ''])
      expect(form).not.to.match(/evil\.example|\w@evil|\u202e|[\r\n]Bcc/)
    expect(headers.to).to.equal(address)
  })

  it('is not mailed after it was revoked', async () => {
    const address = newAddress()
    smtp.answer = () => 451
    const { id } = await invite(ann, org, address)
    await grove.settled()
    expect((await rows()).some(({ error }) => error?.includes('451'))).to.equal(true)
    await ann.delete(`/orgs/${org}/invitations/${id}`).then(expecting(204))
    smtp.answer = undefined
    await grove.deps.credentials.write((trx) => trx.updateTable('mail').set({ next_at: 0 }).execute())
    await grove.settled()
    expect(await rows()).to.deep.equal([])
    expect(smtp.received.some(({ to }) => to.includes(address))).to.equal(false)
  })

  it('shows in the list and on the page that its mail waits, or was refused', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Posts' }).then(expecting(201))).body
    const pages = await visitOf(grove, ann)
    const stateAfter = async (code: number | undefined) => {
      smtp.answer = () => code
      const made = await invite(ann, id, newAddress())
      await grove.settled()
      const { invitations } = (await ann.get(`/orgs/${id}/invitations`).then(expecting(200))).body
      return invitations.find((one: { id: string }) => one.id === made.id).mail
    }
    expect(await stateAfter(undefined)).to.equal(undefined)
    expect(await stateAfter(451)).to.equal('waiting')
    expect(await stateAfter(550)).to.equal('failed')
    const { headers } = await pages.open(`/o/${id}/settings/members`)
    const { body } = await pages.open(headers.location ?? '')
    expect(body).to.contain('its mail was refused').and.to.contain('its mail was not delivered yet')
  })

  it('keeps its link when the keys are rotated before it is sent', async () => {
    const address = newAddress()
    smtp.answer = () => 451
    const { token } = await invite(ann, org, address)
    await grove.settled()
    expect((await rows()).some(({ error }) => error?.includes('451'))).to.equal(true)
    await rotateKeys(grove.deps, { immediately: false })
    pass(15 * 60)
    smtp.answer = undefined
    await grove.deps.credentials.write((trx) => trx.updateTable('mail').set({ next_at: 0 }).execute())
    expect(tokenIn((await smtp.mailTo(address)).text)).to.equal(token)
  })
})

describe('the page of members', () => {
  useMail({ now: () => new Date() })

  it('says on the page that it was sent', async () => {
    const address = newAddress()
    const owner = await signUp(grove, 'Owner')
    const pages = await visitOf(grove, owner)
    const { body } = await pages.send(`/o/${owner.org}/settings/members`, {
      act: 'invite',
      role: 'reader',
      email: address,
    })
    expect(body).to.contain(`A mail with the link is on its way to ${address}.`)
    await smtp.mailTo(address)
  })
})

describe('invitations by mail, with limits', () => {
  useMail({ rateLimit: true })

  it('are 50 a day for an owner; then only the answer has the link', async () => {
    const owner = await signUp(grove, 'Owner')
    const { id } = (await owner.post('/orgs', { name: 'Atlas' }).then(expecting(201))).body
    const mailed = []
    for (let n = 0; n < 51; n += 1) {
      const sent = { role: 'reader', email: newAddress() }
      mailed.push((await owner.post(`/orgs/${id}/invitations`, sent).then(expecting(201))).body.mailed)
    }
    expect(mailed).to.deep.equal([...Array.from({ length: 50 }, () => true), false])
  })
})
