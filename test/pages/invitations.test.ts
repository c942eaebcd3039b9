/** Invitations as forms without scripts, from the page of their link into the organisation. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { type Answer, client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { formsOf, mainOf, sendForm, visitOf } from './forms.ts'
import { fieldsIn } from './sent-forms.ts'

describe('the link of an invitation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { logLevel: 'info' })
  let org: string
  let inside: string

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Handbook' }))).id
    inside = `${pageAt(org)}?welcome`
  })

  const invite = async (more: object = {}): Promise<string> =>
    (await made(ann.post(`/orgs/${org}/invitations`, { role: 'editor', ...more }))).url
  const tokenOf = (link: string) => link.slice(link.indexOf('grv_invite_'))
  const ledTo = ({ status, headers }: Answer) => [status, headers.location]
  const roleOf = async (email: string) => {
    const { members } = (await ann.get(`/orgs/${org}/members`)).body
    return members.find((one: { email: string }) => one.email === email)?.role
  }

  it('is made by a form of two questions, which folds how long it holds and for how many', async () => {
    const send = await visitOf(grove, ann)
    const members = `${pageAt(org)}/settings/members`
    const form = (answer: Answer) => {
      const main = mainOf(answer)
      expect(main).to.contain('E-mail (optional)').and.contain('May they propose, or publish?')
      const [, open, html = ''] = /<details class="more"( open)?>([\s\S]*?)<\/details>/.exec(main) ?? []
      return [open !== undefined, [...fieldsIn(html)].map((pair) => pair.join('='))]
    }
    expect(form(await send.open(members))).to.deep.equal([false, ['uses=1', 'expires_at=7']])
    const fields = { act: 'invite', email: 'no address', role: 'contributor', uses: '1', expires_at: '7' }
    const refused = await send.send(members, fields)
    expect([refused.status, form(refused)]).to.deep.equal([422, [false, ['uses=1', 'expires_at=7']]])
    expect(mainOf(refused)).to.match(/id="invite-email"[^>]* value="no address"/)
    expect(mainOf(refused)).to.match(/name="role" value="contributor" checked/)
    expect(form(await send.send(members, { ...fields, uses: '10' }))).to.deep.equal([true, ['uses=10', 'expires_at=7']])
    for (const role of ['contributor', 'editor', 'reader', 'maintainer', 'owner'])
      expect((await send.send(members, { ...fields, email: '', role, uses: '10' })).status).to.equal(200)
    const { invitations } = await made(ann.get(`/orgs/${org}/invitations`))
    expect(invitations.map(({ role, uses_left }: Record<string, unknown>) => [role, uses_left])).to.have.deep.members(
      ['contributor', 'editor', 'reader', 'maintainer', 'owner'].map((role) => [role, 10]),
    )
  })

  it('opens a page in the frame of all pages, and for programs the calls', async () => {
    const { status, body, headers } = await client(grove).get('/join', { accept: 'text/html' })
    expect(status).to.equal(200)
    expect(headers.vary).to.match(/\bAccept\b/)
    for (const part of ['<header class="top">', '<main id="main"', '<form method="post" action="/join"', 'theme'])
      expect(body).to.contain(part)
    expect(body).to.contain('Copy the whole link from the address bar')
    expect((await client(grove).get('/join')).body).to.contain('curl -X POST')
    const { status: moved, headers: to } = await client(grove).get('/me/invitation', { accept: 'text/html' })
    expect([moved, to.location]).to.deep.equal([301, '/join'])
  })

  it('leads to a new account, which then stands in the organisation', async () => {
    const link = await invite()
    const asked = await sendForm(grove, '/join', { invitation: link, act: 'sign-up' })
    expect(asked.status).to.equal(200)
    expect(asked.body).to.contain(`type="hidden" name="invitation" value="${tokenOf(link)}"`)
    const fields = { email: 'ben@example.org', name: 'Ben', password, invitation: tokenOf(link) }
    expect(ledTo(await sendForm(grove, '/sign-up', fields))).to.deep.equal([303, inside])
    expect(await roleOf('ben@example.org')).to.equal('editor')
    const late = await sendForm(grove, '/sign-up', { ...fields, email: 'late@example.org' })
    expect(late.status).to.equal(403)
    expect(late.body).to.match(/id="invitation"[^>]*aria-invalid/)
  })

  it('is what the field of a sign-up takes, with what a letter has around it', async () => {
    for (const [at, around] of [(link: string) => link, (link: string) => ` Join: <${link}>. `].entries()) {
      const fields = { email: `cleo${at}@example.org`, password, invitation: around(await invite()) }
      expect(ledTo(await sendForm(grove, '/sign-up', fields))).to.deep.equal([303, inside])
    }
  })

  it('leads to a sign-in, which then stands in the organisation', async () => {
    const dan = await signUp(grove, 'Dan')
    const link = await invite()
    const asked = await sendForm(grove, '/join', { invitation: link, act: 'sign-in' })
    expect(asked.body).to.contain(`type="hidden" name="invitation" value="${tokenOf(link)}"`)
    const fields = { email: dan.user.email, password, invitation: tokenOf(link) }
    const wrong = await sendForm(grove, '/sign-in', { ...fields, password: 'wrong horse battery' })
    expect(wrong.body).to.contain(`value="${tokenOf(link)}"`)
    expect(ledTo(await sendForm(grove, '/sign-in', fields))).to.deep.equal([303, inside])
    expect(await roleOf(dan.user.email)).to.equal('editor')
  })

  it('says that an invitation cannot be used after the sign-in that it led to', async () => {
    const eve = await signUp(grove, 'Eve')
    const fields = {
      email: eve.user.email,
      password,
      invitation: tokenOf(await invite({ email: 'other@example.org' })),
    }
    const answer = await sendForm(grove, '/sign-in', fields)
    expect(ledTo(answer)).to.deep.equal([303, '/join?refused'])
    const cookie = answer.headers['set-cookie']?.split(';')[0] ?? ''
    const headers = { accept: 'text/html', cookie, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-origin' }
    const { body } = await client(grove).get('/join?refused', headers)
    expect(body).to.contain('You are signed in, but that invitation cannot be used.')
  })

  it('lets a user join who has signed in, and asks for what is missing', async () => {
    const fay = await signUp(grove, 'Fay')
    const send = await formsOf(grove, fay)
    const empty = await send('/join', { invitation: ' ' })
    expect(empty.status).to.equal(422)
    expect(empty.body).to.contain('Paste the link of your invitation.')
    expect((await send('/join', { invitation: 'grv_invite_none' })).status).to.equal(403)
    expect(ledTo(await send('/join', { invitation: await invite() }))).to.deep.equal([303, inside])
  })

  it('stays out of the log', () => {
    expect(grove.logged()).to.contain('"op":"page"').and.not.contain('grv_invite_')
  })
})
