/** Somebody opens an account under the address of another user, who then arrives by a mail. */
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { tokenIn } from '../support/smtp.ts'
import { grove, newAddress, smtp, useMail } from './scene.ts'

describe('an account that somebody else opened', () => {
  useMail()

  /** Mails that wait together arrive in any order. So the mail is chosen by the kind of its token. */
  const tokenTo = async (address: string, kind: 'reset' | 'undo') => {
    await grove.settled()
    const mails = smtp.received.filter((mail) => mail.to.includes(address) && mail.text.includes(`grv_${kind}_`))
    return tokenIn(mails.at(-1) ?? expect.fail('no mail was sent'))
  }
  const reset = async (email: string) => {
    // Undoing a change has sent a token too, which the next one replaces.
    await grove.settled()
    await client(grove).post('/auth/password/forgot', { email }).then(expecting(202))
    const body = { reset_token: await tokenTo(email, 'reset'), new_password: `another ${password}` }
    return client(grove).post('/auth/password', body).then(expecting(200))
  }

  it('serves only the user of its address from the first reset by mail', async () => {
    const squatter = await signUp(grove, 'Victim')
    const [mate, thief] = [await signUp(grove, 'Mate'), await signUp(grove, 'Thief')]
    const org = `/orgs/${squatter.org}`
    const bot = (await squatter.post(`${org}/bots`, { name: 'Spy', role: 'reader' }).then(expecting(201))).body
    const { token } = (await squatter.post(`${org}/bots/${bot.id}/tokens`, { name: 'T', access: 'read' })).body
    const invitation = (await squatter.post(`${org}/invitations`, { role: 'owner', uses: 5 })).body
    await squatter.put(`${org}/members/${mate.user.email}`, { role: 'reader' }).then(expecting(200))
    const hook = (await squatter.post(`${org}/webhooks`, { url: 'http://127.0.0.1:9000/' }).then(expecting(201))).body
    const other = newAddress()
    await squatter.post('/auth/email', { new_email: other, password }).then(expecting(200))
    const change = tokenIn(await smtp.verificationTo(other))

    const session = await reset(squatter.user.email)
    const victim = client(grove, session.body.accessToken)
    expect((await victim.get('/auth/me')).body).to.include({ id: squatter.user.id, email_verified: true })
    expect((await client(grove, token).get(org)).status).to.equal(401)
    const joining = await thief.post('/auth/invitations/accept', { token: invitation.token })
    expect(joining.body.code).to.equal('invitation_not_found')
    expect((await victim.get(`${org}/webhooks/${hook.id}`)).body).to.include({ active: false, reason: 'by_owner' })
    expect((await client(grove).post('/auth/verify', { token: change })).body.code).to.equal('invalid_token')
    await grove.settled()
    const notice = smtp.received.find(({ headers }) => headers.subject?.includes('before you confirmed'))
    const text = notice?.text.replace(/\s+/g, ' ')
    expect(text)
      .to.contain('1 invitations, 1 tokens of bots, 1 webhooks')
      .and.to.match(/Mate \(.+Spy\[bot\] \(/)
    const { entries } = (await victim.get(`${org}/audit`).then(expecting(200))).body
    expect(entries.map(({ action }: { action: string }) => action)).to.include.members([
      ...['invitation.revoked', 'bot.token_revoked', 'webhook.disabled'],
    ])
  })

  it('leaves no webhook and no bot, and names the owners, if there are others', async () => {
    const [squatter, thief] = [await signUp(grove, 'Prey'), await signUp(grove, 'Accomplice')]
    const org = `/orgs/${squatter.org}`
    await squatter.put(`${org}/members/${thief.user.email}`, { role: 'owner' }).then(expecting(200))
    /** Checks the token of a new bot, and a new webhook. */
    const opens = async (owner: typeof thief) => {
      const bot = (await owner.post(`${org}/bots`, { name: 'Spy', role: 'reader' }).then(expecting(201))).body
      const { token } = (await owner.post(`${org}/bots/${bot.id}/tokens`, { name: 'T', access: 'read' })).body
      const hook = (await owner.post(`${org}/webhooks`, { url: 'http://127.0.0.1:9000/' }).then(expecting(201))).body
      return async (reader: Pick<typeof thief, 'get'>) => [
        (await client(grove, token).get(org)).status,
        (await reader.get(`${org}/webhooks/${hook.id}`)).body.active,
      ]
    }
    const [spying, owned] = [await opens(squatter), await opens(thief)]

    const session = await reset(squatter.user.email)
    const victim = client(grove, session.body.accessToken)
    expect(await spying(victim)).to.deep.equal([401, false])
    expect(await owned(victim)).to.deep.equal([401, false])
    await grove.settled()
    const notice = smtp.received.findLast(({ headers }) => headers.subject?.includes('before you confirmed'))
    expect(notice?.text.replace(/\s+/g, ' ')).to.match(
      /2 tokens of bots, 2 webhooks.+: Accomplice \(owner of .+Spy\[bot\] \(/,
    )
    await victim.delete(`${org}/members/${squatter.user.email}`).then(expecting(204))
    expect((await victim.get(org)).status).to.equal(404)
  })

  it('serves only the user of its address who undoes a change of it', async () => {
    const squatter = await signUp(grove, 'Nobody')
    const org = `/orgs/${squatter.org}`
    const bot = (await squatter.post(`${org}/bots`, { name: 'Spy', role: 'reader' }).then(expecting(201))).body
    const { token } = (await squatter.post(`${org}/bots/${bot.id}/tokens`, { name: 'T', access: 'read' })).body
    const other = newAddress()
    await squatter.post('/auth/email', { new_email: other, password }).then(expecting(200))
    const change = tokenIn(await smtp.verificationTo(other))
    await client(grove).post('/auth/verify', { token: change }).then(expecting(200))
    const undo = await tokenTo(squatter.user.email, 'undo')
    await client(grove).post('/auth/email/undo', { token: undo }).then(expecting(200))
    expect((await client(grove, token).get(org)).status).to.equal(401)
    await reset(squatter.user.email)
    const own = smtp.received.filter((mail) => mail.to.includes(squatter.user.email))
    expect(own.some(({ headers }) => headers.subject?.includes('before you confirmed'))).to.equal(true)
  })

  it('names the owner to whom its own organisation was given', async () => {
    const [squatter, thief] = [await signUp(grove, 'Quarry'), await signUp(grove, 'Receiver')]
    const members = `/orgs/${squatter.org}/members`
    await squatter.put(`${members}/${thief.user.email}`, { role: 'owner' }).then(expecting(200))
    await squatter.put(`${members}/${squatter.user.email}`, { role: 'editor' }).then(expecting(200))
    await reset(squatter.user.email)
    await grove.settled()
    const own = smtp.received.filter((mail) => mail.to.includes(squatter.user.email))
    expect(own.map(({ text }) => text.replace(/\s+/g, ' ')).join()).to.contain(': Receiver (owner of Quarry)')
  })

  it('leaves no token for a bot of others, and no URL of a webhook whose secret others have replaced', async () => {
    const [squatter, host] = [await signUp(grove, 'Guest'), await signUp(grove, 'Host')]
    const org = `/orgs/${host.org}`
    const member = `${org}/members/${squatter.user.email}`
    await host.put(member, { role: 'owner' }).then(expecting(200))
    const bot = (await host.post(`${org}/bots`, { name: 'CI', role: 'reader' }).then(expecting(201))).body
    const minted = await squatter.post(`${org}/bots/${bot.id}/tokens`, { name: 'T', access: 'read' })
    await reset(squatter.user.email)
    expect((await client(grove, minted.body.token).get(org)).status).to.equal(401)

    const other = await signUp(grove, 'Other guest')
    await host.put(`${org}/members/${other.user.email}`, { role: 'owner' }).then(expecting(200))
    const hook = (await other.post(`${org}/webhooks`, { url: 'http://127.0.0.1:9000/' }).then(expecting(201))).body
    await host.post(`${org}/webhooks/${hook.id}/rotate`).then(expecting(200))
    await host.put(`${org}/members/${other.user.email}`, { role: 'reader' }).then(expecting(200))
    const at = `${org}/webhooks/${hook.id}`
    expect((await host.get(at)).body.active).to.equal(true)
    await reset(other.user.email)
    expect((await host.get(at)).body).to.include({ active: false, reason: 'by_owner' })
  })

  it('keeps all of it if its address was confirmed', async () => {
    const ann = await signUp(grove, 'Ann')
    const verification = await smtp.verificationTo(ann.user.email)
    await client(grove)
      .post('/auth/verify', { token: tokenIn(verification) })
      .then(expecting(200))
    const bot = (await ann.post(`/orgs/${ann.org}/bots`, { name: 'Builder', role: 'editor' })).body
    const { token } = (await ann.post(`/orgs/${ann.org}/bots/${bot.id}/tokens`, { name: 'T', access: 'write' })).body
    await reset(ann.user.email)
    expect((await client(grove, token).post(`/orgs/${ann.org}/nodes`, { title: 'Whales' })).status).to.equal(201)
  })
})
