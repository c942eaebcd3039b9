/** The pages of administrators, as forms without scripts. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { made } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, ledTo, mainOf, sendForm, type Visit, valueIn, visitOf } from './forms.ts'

const linkIn = (answer: Answer) => /data-token[^>]*>\s*([^<\s]+)/.exec(mainOf(answer))?.[1] ?? ''

describe('the pages of administrators', () => {
  const { grove, ada } = useWorld({ ada: 'owner' }, { signup: 'open', logLevel: 'info' })
  let pages: Visit
  let bob: PersonClient

  before(async () => {
    await appoint(ada)
    pages = await visitOf(grove, ada)
  })
  beforeEach(async () => {
    bob = await signUp(grove, `Bob ${randomUUID()}`)
  })

  const appoint = (who: PersonClient, is_admin = true) =>
    updateAccount({ ...grove.deps, actor: operator }, { path: { account_id: who.user.id }, body: { is_admin } })
  const at = (who = bob) => `/admin/accounts/${who.user.id}`
  const read = async (who = bob) => (await ada.get(at(who))).body
  const log = (email: string, secret: string) => client(grove).post('/auth/login', { email, password: secret })

  it('are in the menu of administrators only, and refuse others as REST does', async () => {
    const shown = (await pages.open('/')).body
    expect(shown).to.contain('<a href="/admin/accounts">Administration</a>')
    expect(ledTo(await pages.open('/admin'))).to.deep.equal([303, '/admin/accounts'])
    const other = await visitOf(grove, bob)
    expect((await other.open('/')).body).to.not.contain('Administration')
    for (const path of ['/admin/accounts', '/admin/accounts/new', '/admin/health', at(ada)]) {
      const refused = await other.open(path)
      expect(refused.status, path).to.equal(403)
      expect(mainOf(refused)).to.contain('Only administrators of the service can do this.')
      const { status } = await client(grove).get(path, { accept: 'text/html' })
      expect(status, path).to.equal(401)
    }
    for (const act of ['admin', 'dismiss', 'disable', 'enable', 'reset', 'delete'])
      expect((await other.send(at(ada), { act, confirm: ada.user.email })).status, act).to.equal(403)
    expect((await other.send('/admin/accounts/new', { act: 'create', email: 'x@example.org' })).status).to.equal(403)
    expect((await ada.get('/admin/accounts')).status).to.equal(200)
  })

  it('leave the menu with the right, also if the browser has the page', async () => {
    await appoint(bob)
    const others = await visitOf(grove, bob)
    const { headers } = await others.open('/new')
    const again = () => others.open('/new', { 'if-none-match': headers.etag ?? '' })
    expect((await again()).status).to.equal(304)
    await appoint(bob, false)
    const changed = await again()
    expect([changed.status, changed.body.includes('Administration')]).to.deep.equal([200, false])
  })

  it('leave the same paths to programs', async () => {
    const { body, headers } = await ada.get('/admin/accounts').then(expecting(200))
    expect(headers['content-type']).to.match(/^application\/json/)
    expect(headers.vary).to.match(/\bAccept\b/)
    expect(body.accounts[0].id).to.equal(ada.user.id)
    expect((await pages.open('/admin/none')).status).to.equal(404)
    expect((await pages.open(`/admin/accounts/${randomUUID()}`)).status).to.equal(404)
  })

  it('list accounts with filter and pages', async () => {
    const prefix = randomUUID()
    const many = Array.from({ length: 51 }, (_, at) => `${prefix}-${at}@example.org`)
    for (const email of many) await made(ada.post('/admin/accounts', { email }))
    const shown = (answer: Answer) => [...mainOf(answer).matchAll(/<small>([^<]*@[^<]*) · /g)].map(([, email]) => email)
    const first = await pages.open(`/admin/accounts?q=${prefix}`)
    expect(shown(first)).to.deep.equal(many.slice(0, 50))
    expect(mainOf(first)).to.contain('51 matching accounts').and.to.contain('never signed in')
    const [, next = ''] = /<a class="btn" href="([^"]*)">Next</.exec(mainOf(first)) ?? []
    const second = await pages.open(next.replaceAll('&amp;', '&'))
    expect(shown(second)).to.deep.equal(many.slice(50))
    expect(mainOf(second)).to.contain('>Previous<')
    expect(shown(await pages.open(`/admin/accounts?q=${prefix}&state=disabled`))).to.deep.equal([])
    expect(valueIn(await pages.open('/admin/accounts?q=%3Cb%3E%22'), 'q')).to.equal('&lt;b>&quot;')
    for (const query of ['state=nonsense', 'from=-1', `q=${'x'.repeat(300)}`, 'from=9999999'])
      expect((await pages.open(`/admin/accounts?${query}`)).status, query).to.equal(200)
  })

  it('add an account, whose user opens the link and sets a password', async () => {
    const email = `${randomUUID()}@example.org`
    const added = await pages.send('/admin/accounts/new', { act: 'create', email, name: 'Zoe', hide_email: 'on' })
    expect(added.status).to.equal(200)
    expect(added.headers['cache-control']).to.equal('no-store')
    const link = linkIn(added)
    expect(link).to.match(new RegExp(`^${grove.url}/reset#grv_reset_[\\w-]{20,}$`))
    const again = await pages.send('/admin/accounts/new', { act: 'create', email, name: 'Zoe', is_admin: 'on' })
    expect([again.status, alertIn(again)]).to.deep.equal([409, 'There is an account with this e-mail address.'])
    expect([valueIn(again, 'email'), valueIn(again, 'name')]).to.deep.equal([email, 'Zoe'])
    expect(mainOf(again)).to.match(/name="is_admin"[^>]* checked/)
    const wrong = await pages.send('/admin/accounts/new', { act: 'create', email: 'zoe', name: 'Zoe' })
    expect([wrong.status, valueIn(wrong, 'email')]).to.deep.equal([422, 'zoe'])
    // Without script, the user pastes the whole link.
    expect((await client(grove).get('/reset', { accept: 'text/html' })).body).to.contain('copy the whole link')
    const set = await sendForm(grove, '/reset', { reset_token: link, new_password: 'staple the horse' })
    expect(ledTo(set)).to.deep.equal([303, '/'])
    const { user } = (await log(email, 'staple the horse').then(expecting(200))).body
    expect(user).to.include({ name: 'Zoe', hide_email: true }).and.to.not.have.property('is_admin')
    const used = await sendForm(grove, '/reset', { reset_token: link, new_password: 'staple the horse' })
    expect(used.status).to.equal(403)
  })

  it('make and unmake an administrator', async () => {
    expect(ledTo(await pages.send(at(), { act: 'admin' }))).to.deep.equal([303, `${at()}?saved=admin`])
    expect(mainOf(await pages.open(`${at()}?saved=admin`))).to.contain('is an administrator now')
    expect((await bob.get('/admin/accounts')).status).to.equal(200)
    expect(ledTo(await pages.send(at(), { act: 'dismiss' }))).to.deep.equal([303, `${at()}?saved=dismiss`])
    expect((await bob.get('/admin/accounts')).status).to.equal(403)
  })

  it('disable with a reason, and enable', async () => {
    const long = await pages.send(at(), { act: 'disable', disabled_reason: 'x'.repeat(501) })
    expect([long.status, valueIn(long, 'disabled_reason')]).to.deep.equal([422, 'x'.repeat(501)])
    expect(await read()).to.not.have.property('disabled_at')
    expect((await pages.send(at(), { act: 'disable', disabled_reason: ' Left <b> ' })).status).to.equal(303)
    expect(await read()).to.include({ disabled_reason: 'Left <b>' })
    expect(mainOf(await pages.open(at())))
      .to.contain('Left &lt;b>')
      .and.to.contain('>Enable<')
    expect((await bob.get('/auth/me')).status).to.equal(401)
    expect((await pages.send(at(), { act: 'enable' })).status).to.equal(303)
    expect(await read()).to.not.have.property('disabled_at')
    expect((await pages.send(at(), { act: 'disable' })).status).to.equal(303)
    expect(await read()).to.have.property('disabled_at')
  })

  it('issue a reset link once, which no log has', async () => {
    const first = await pages.send(at(), { act: 'reset' })
    const second = await pages.send(at(), { act: 'reset' })
    expect([first.status, second.status]).to.deep.equal([200, 200])
    expect((await pages.open(at())).body).to.not.contain('grv_reset_')
    const set = (link: string) => sendForm(grove, '/reset', { reset_token: link, new_password: 'staple the horse' })
    expect((await set(linkIn(first))).status, 'an earlier link ends').to.equal(403)
    expect((await set(` <${linkIn(second)}>. `)).status).to.equal(303)
    await log(bob.user.email, 'staple the horse').then(expecting(200))
    expect(grove.logged()).to.contain('"op":"page"').and.not.contain('grv_reset_')
  })

  it('delete after the e-mail address is typed, and say what stays', async () => {
    expect(mainOf(await pages.open(at()))).to.contain('Git history keeps the name and e-mail address')
    for (const confirm of ['', ada.user.email]) {
      const refused = await pages.send(at(), { act: 'delete', confirm })
      expect([refused.status, alertIn(refused)]).to.deep.equal([
        422,
        `Type ${bob.user.email} to confirm. The account was not deleted.`,
      ])
      expect(valueIn(refused, 'confirm')).to.equal(confirm)
    }
    const cid = await signUp(grove, `Cid ${randomUUID()}`)
    await made(bob.put(`/orgs/${bob.org}/members/${cid.user.email}`, { role: 'editor' }))
    const owner = await pages.send(at(), { act: 'delete', confirm: bob.user.email })
    expect(owner.status).to.equal(409)
    expect(alertIn(owner)).to.contain('would have no owner; make another member an owner first')
    expect(valueIn(owner, 'confirm')).to.equal(bob.user.email)
    await made(bob.put(`/orgs/${bob.org}/members/${cid.user.email}`, { role: 'owner' }))
    const deleted = await pages.send(at(), { act: 'delete', confirm: ` ${bob.user.email.toUpperCase()} ` })
    expect(deleted.status).to.equal(200)
    expect(mainOf(deleted)).to.contain('Account deleted').and.to.contain(`Left: ${bob.user.name}`)
    expect((await pages.open(at())).status).to.equal(404)
    expect((await pages.send(at(), { act: 'delete', confirm: bob.user.email })).status).to.equal(404)
  })

  it('offer nothing for the own account, and refuse it', async () => {
    const own = await pages.open(at(ada))
    expect(mainOf(own)).to.contain('This is your own account').and.to.not.contain('<form')
    for (const [act, more] of Object.entries({ disable: {}, dismiss: {}, delete: { confirm: ada.user.email } })) {
      const refused = await pages.send(at(ada), { act, ...more })
      expect([refused.status, alertIn(refused)], act).to.deep.equal([
        409,
        'You cannot do this to your own account; ask another administrator.',
      ])
    }
    expect(await read(ada))
      .to.include({ is_admin: true })
      .and.to.not.have.property('disabled_at')
    expect((await pages.send(at(), { act: 'nonsense' })).status).to.equal(400)
  })

  it('let two administrators act at once', async () => {
    await appoint(bob)
    const others = await visitOf(grove, bob)
    const [cid, dan] = [await signUp(grove, `Cid ${randomUUID()}`), await signUp(grove, `Dan ${randomUUID()}`)]
    const both = await Promise.all(
      [pages, others].map(({ send }) => send(at(cid), { act: 'delete', confirm: cid.user.email })),
    )
    expect(
      both
        .map(({ status }) => status)
        .sort()
        .at(0),
    ).to.equal(200)
    expect((await pages.open(at(cid))).status).to.equal(404)
    await pages.send(at(dan), { act: 'disable', disabled_reason: 'First' })
    const { disabled_at } = await read(dan)
    // The other one still has the form of an enabled account.
    expect((await others.send(at(dan), { act: 'disable', disabled_reason: 'Second' })).status).to.equal(303)
    expect(await read(dan)).to.include({ disabled_at, disabled_reason: 'Second' })
    expect((await others.send(at(dan), { act: 'enable' })).status).to.equal(303)
    expect((await pages.send(at(dan), { act: 'enable' })).status).to.equal(303)
  })

  it('end with the next click of who was dismissed or disabled', async () => {
    await appoint(bob)
    const others = await visitOf(grove, bob)
    expect((await others.open('/admin/accounts')).status).to.equal(200)
    await pages.send(at(), { act: 'dismiss' })
    const refused = await others.send(at(ada), { act: 'reset' })
    expect([refused.status, refused.body.includes('grv_reset_')]).to.deep.equal([403, false])
    expect((await others.open('/admin/accounts')).status).to.equal(403)
    expect((await others.open('/me/profile')).status).to.equal(200)
    await pages.send(at(), { act: 'disable' })
    for (const answer of [await others.open('/admin/health'), await others.send(at(ada), { act: 'reset' })]) {
      expect(answer.status).to.equal(401)
      expect(mainOf(answer)).to.contain('<h1>Sign in</h1>')
    }
  })

  it('show the health of the service, without secrets and paths', async () => {
    const health = await pages.open('/admin/health')
    expect(health.status).to.equal(200)
    const shown = mainOf(health)
    for (const part of [
      'Repositories',
      'Storage',
      'Background jobs',
      'grove backup',
      `Node ${process.version.slice(1)}`,
    ])
      expect(shown, part).to.contain(part)
    const { accounts } = (await ada.get('/admin/status').then(expecting(200))).body.counts
    expect(shown).to.contain(`${accounts}, of which`)
    expect(shown).to.not.contain(grove.dataDir)
  })
})
