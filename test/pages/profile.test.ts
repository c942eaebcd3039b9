/** The pages about the signed-in user, as forms without scripts. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { clientName } from '../../server/pages/text/client-name.ts'
import { made } from '../support/cast.ts'
import { git } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { type Answer, client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, ledTo, mainOf, type Visit, valueIn, visitOf } from './forms.ts'
import { fieldsIn } from './sent-forms.ts'

describe('the profile of a user', () => {
  const { grove } = useWorld({})
  let ann: PersonClient
  let pages: Visit

  beforeEach(async () => {
    ann = await signUp(grove, `Ann ${randomUUID()}`)
    pages = await visitOf(grove, ann)
  })

  const me = async () => (await ann.get('/auth/me').then(expecting(200))).body

  it('is one of four tabs, which ask anonymous visitors to sign in', async () => {
    for (const page of ['profile', 'password', 'tokens', 'sessions']) {
      const shown = await pages.open(`/me/${page}`)
      expect(shown.status, page).to.equal(200)
      const tabs = [...mainOf(shown).matchAll(/<a href="\/me\/(\w+)"( aria-current="page")?>/g)]
      const inNavigation = tabs.filter(([, name]) => ['profile', 'password', 'tokens', 'sessions'].includes(name ?? ''))
      expect(new Set(inNavigation.map(([, name]) => name)).size, page).to.equal(4)
      expect(inNavigation.filter(([, , current]) => current).map(([, name]) => name)).to.deep.equal([page])
      expect((await client(grove).get(`/me/${page}`, { accept: 'text/html' })).status, page).to.equal(401)
    }
  })

  it('changes the name, and hides the e-mail address in later commits', async () => {
    expect(valueIn(await pages.open('/me/profile'), 'name')).to.equal(ann.user.name)
    const fields = { act: 'profile', name: ' Ann Lee ', hide_email: 'on' }
    expect(ledTo(await pages.send('/me/profile', fields))).to.deep.equal([303, '/me/profile?saved=profile'])
    expect(await me()).to.include({ name: 'Ann Lee', hide_email: true })
    const { id } = await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' }))
    const author = await git(`${grove.dataDir}/${ann.org}/${id}.git`, 'log', '-1', '--format=%an %ae', 'main')
    expect(author.trim()).to.equal(`Ann Lee ${ann.user.id}@users.noreply.invalid`)
    const shown = await pages.open('/me/profile')
    expect(mainOf(shown)).to.match(/name="hide_email"[^>]* checked/)
    await pages.send('/me/profile', { act: 'profile', name: 'Ann Lee' })
    expect(await me()).to.not.have.property('hide_email')
    for (const name of ['<>', 'x'.repeat(201), '']) {
      const refused = await pages.send('/me/profile', { act: 'profile', name })
      expect(refused.status, name).to.equal(422)
      expect(valueIn(refused, 'name')).to.equal(name.replace('<', '&lt;'))
    }
    expect((await me()).name).to.equal('Ann Lee')
  })

  it('preselects the access that is recommended for agents, and keeps another choice', async () => {
    const chosen = (page: Answer) =>
      [...mainOf(page).matchAll(/name="access" value="(\w+)" checked/g)].map(([, access]) => access)
    expect(chosen(await pages.open('/me/tokens'))).to.deep.equal(['propose'])
    expect(chosen(await pages.open('/me/tokens?access=read'))).to.deep.equal(['read'])
    const refused = await pages.send('/me/tokens', { act: 'create', name: '', access: 'write' })
    expect({ status: refused.status, access: chosen(refused) }).to.deep.equal({ status: 422, access: ['write'] })
    expect(mainOf(refused)).to.contain('For an assistant, choose “Propose”: then people decide what is published.')
  })

  it('folds more options of a token unless one was changed or is wrong, and sends what was chosen', async () => {
    const folded = (page: Answer) => {
      const [, open, html = ''] = /<details class="more"( open)?>([\s\S]*?)<\/details>/.exec(mainOf(page)) ?? []
      return [open !== undefined, [...fieldsIn(html)].map((pair) => pair.join('='))]
    }
    const usual = ['org_id=', 'node_id=', 'expires_at=90']
    expect(folded(await pages.open('/me/tokens'))).to.deep.equal([false, usual])
    const fields = { act: 'create', name: '', access: 'read', org_id: '', node_id: '', expires_at: '90' }
    expect(folded(await pages.send('/me/tokens', fields))).to.deep.equal([false, usual])
    const long = await pages.send('/me/tokens', { ...fields, expires_at: 'never' })
    expect(folded(long)).to.deep.equal([true, ['org_id=', 'node_id=', 'expires_at=never']])
    const wrong = await pages.send('/me/tokens', { ...fields, name: 'A', node_id: randomUUID() })
    expect([wrong.status, folded(wrong)[0]]).to.deep.equal([422, true])
    for (const access of ['propose', 'write', 'read'])
      await pages.send('/me/tokens', { ...fields, access, name: access, org_id: ann.org, expires_at: 'never' })
    const { tokens } = (await ann.get('/auth/tokens').then(expecting(200))).body
    for (const { name, ...token } of tokens) {
      expect(token).to.include({ access: name, org_id: ann.org })
      expect(token).to.not.have.property('expires_at')
    }
    expect(tokens).to.have.length(3)
  })

  it('changes the e-mail address by the password', async () => {
    const new_email = `${randomUUID()}@example.org`
    const bob = await signUp(grove, `Bob ${randomUUID()}`)
    const send = (fields: Record<string, string>) => pages.send('/me/profile', { act: 'email', ...fields })
    const wrong = await send({ new_email, password: 'not this one' })
    expect([wrong.status, alertIn(wrong), valueIn(wrong, 'new_email')]).to.deep.equal([
      422,
      'This is not your current password.',
      new_email,
    ])
    const taken = await send({ new_email: bob.user.email, password })
    expect([taken.status, alertIn(taken)]).to.deep.equal([422, 'There is an account with this e-mail address.'])
    expect((await send({ new_email: 'nothing', password })).status).to.equal(422)
    expect((await me()).email).to.equal(ann.user.email)
    expect(ledTo(await send({ new_email, password }))).to.deep.equal([303, '/me/profile?saved=email'])
    expect((await me()).email).to.equal(new_email)
    await client(grove).post('/auth/login', { email: new_email, password }).then(expecting(200))
  })

  it('lists the sessions, and ends one or all others', async () => {
    const [second, third] = [await visitOf(grove, ann), await visitOf(grove, ann)]
    const shown = await pages.open('/me/sessions')
    expect(mainOf(shown)).to.contain('4 sessions.')
    expect(mainOf(shown).split('This browser')).to.have.length(2)
    const ids = [...mainOf(shown).matchAll(/name="session_id" value="([^"]+)"/g)].map(([, id = '']) => id)
    expect(ids).to.have.length(3)
    // The newest is first.
    expect(ledTo(await pages.send('/me/sessions', { act: 'end', session_id: ids[0] ?? '' }))).to.deep.equal([
      303,
      '/me/sessions?saved=end',
    ])
    expect((await third.open('/me/profile')).status).to.equal(401)
    expect((await second.open('/me/profile')).status).to.equal(200)
    const again = await pages.send('/me/sessions', { act: 'end', session_id: ids[0] ?? '' })
    expect([again.status, alertIn(again)]).to.deep.equal([404, 'Session not found.'])
    const bob = await signUp(grove, `Bob ${randomUUID()}`)
    const theirs = (await bob.get('/auth/sessions').then(expecting(200))).body.sessions[0].id
    expect((await pages.send('/me/sessions', { act: 'end', session_id: theirs })).status).to.equal(404)
    expect((await bob.get('/auth/me')).status).to.equal(200)
    expect((await pages.send('/me/sessions', { act: 'end-others' })).status).to.equal(303)
    expect((await second.open('/me/profile')).status).to.equal(401)
    expect(mainOf(await pages.open('/me/sessions')))
      .to.contain('1 session.')
      .and.to.not.contain('everywhere else')
    expect((await pages.send('/me/sessions', { act: 'nonsense' })).status).to.equal(400)
  })

  it('deletes the account by its password, and signs out', async () => {
    const wrong = await pages.send('/me/profile', { act: 'delete', password: 'not this one' })
    expect([wrong.status, alertIn(wrong)]).to.deep.equal([422, 'This is not your current password.'])
    expect(mainOf(wrong)).to.match(/<details open/)
    const bob = await signUp(grove, `Bob ${randomUUID()}`)
    await made(ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }))
    const owner = await pages.send('/me/profile', { act: 'delete', password })
    expect([owner.status, alertIn(owner)?.includes('would have no owner')]).to.deep.equal([409, true])
    await made(ann.delete(`/orgs/${ann.org}/members/${bob.user.email}`))
    const deleted = await pages.send('/me/profile', { act: 'delete', password })
    expect(ledTo(deleted)).to.deep.equal([303, '/goodbye'])
    expect(deleted.headers['set-cookie']).to.match(/^grove=;/)
    expect((await client(grove).get('/goodbye', { accept: 'text/html' })).body).to.contain('Account deleted')
    expect((await pages.open('/me/profile')).status).to.equal(401)
    const { status } = await client(grove).post('/auth/login', { email: ann.user.email, password })
    expect(status).to.equal(401)
  })
})

describe('the name of a client', () => {
  const rows: readonly [string | undefined, string][] = [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36',
      'Chrome on Windows',
    ],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0',
      'Edge on Windows',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
      'Safari on macOS',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
      'Safari on iOS',
    ],
    [
      'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36',
      'Chrome on Android',
    ],
    ['git/2.39.5', 'Git'],
    ['curl/8.5.0', 'curl'],
    ['node', 'node'],
    ['', 'Unknown client'],
    [undefined, 'Unknown client'],
  ]
  for (const [header, name] of rows)
    it(`is ${name}`, () => {
      expect(clientName(header)).to.equal(name)
    })
})
