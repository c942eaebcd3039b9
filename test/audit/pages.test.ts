/** The audit on pages, without scripts. */

import { expect } from 'chai'
import { mainOf, type Visit, visitOf } from '../pages/forms.ts'
import { made } from '../support/cast.ts'
import { newNode } from '../support/node.ts'
import { pageAt, plain } from '../support/pages.ts'
import { type Answer, client, type PersonClient, signUp } from '../support/people.ts'
import { ann, cliDone, grove, useScene } from './scene.ts'

describe('the pages of the audit', () => {
  useScene()
  let bob: PersonClient
  let visit: Visit
  let page: string
  let whales: string

  before(async () => {
    bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }))
    for (let n = 0; n < 60; n++) await made(ann.post(`/orgs/${ann.org}/invitations`, { role: 'reader' }))
    await cliDone('member', 'add', ann.org, bob.user.email, 'maintainer')
    whales = (await newNode(grove, { ...bob, org: ann.org }, { title: 'Whales' })).id
    await ann.delete(`/orgs/${ann.org}/nodes/${(await newNode(grove, ann, { title: 'Gone' })).id}`)
    visit = await visitOf(grove, ann)
    page = `${pageAt(ann.org)}/settings/audit`
  })

  const hrefOf = (answer: Answer, text: string) => {
    const html: string = plain(answer).body
    const [, href = ''] = new RegExp(`<a class="btn" href="([^"]+)">\\s*${text}\\s*</a>`).exec(html) ?? []
    return href.replaceAll('&amp;', '&')
  }

  it('lists events and rows, newest first, page by page', async () => {
    const first = await visit.open(page)
    expect(mainOf(first)).to.include('by the operator').and.include('Gave a role').and.include('node.created')
    expect(hrefOf(first, 'Newest')).to.equal('')
    const words = mainOf(first).replace(/\s+/g, ' ')
    expect(words).to.match(/Created a page<\/strong> by Bob: <a href="[^"]*"/)
    expect(words).to.include(`title="${whales}">Whales</a>`)
    expect(words).to.match(/Deleted a page<\/strong> by Ann: <span title="[\da-f-]{36}">Gone \(deleted\)<\/span>/)
    const older = await visit.open(hrefOf(first, 'Older'))
    expect(mainOf(older)).to.include('Created an invitation').and.not.include('Gave a role')
    expect(hrefOf(older, 'Newest')).to.equal(page)
  })

  it('filters by action and by actor, and keeps the filter on the next page', async () => {
    const invitations = await visit.open(`${page}?action=invitation.*&actor=${ann.user.id}`)
    expect(mainOf(invitations)).to.include('Created an invitation').and.not.include('Gave a role')
    expect(invitations.body).to.match(/<option value="invitation\.\*" selected/)
    expect(invitations.body).to.match(new RegExp(`<option value="${ann.user.id}" selected`))
    const next = hrefOf(invitations, 'Older')
    expect(next).to.include('action=invitation.').and.include(`actor=${ann.user.id}`)
    expect(mainOf(await visit.open(next))).to.include('Created an invitation')
    expect(mainOf(await visit.open(`${page}?action=&actor=operator`)))
      .to.include('Gave a role')
      .and.not.include('by Ann')
  })

  it('says to other members that it is for owners', async () => {
    const main = mainOf(await (await visitOf(grove, bob)).open(page))
    expect(main).to.include('Only owners can see the audit. Your role: maintainer.')
    expect(main).to.not.include('127.0.0.1')
  })

  it('shows users what happened to their account, with failed sign-ins', async () => {
    await client(grove).post('/auth/login', { email: ann.user.email, password: 'not the password' })
    const main = mainOf(await visit.open('/me/sessions'))
    expect(main).to.include('Activity of your account')
    expect(main).to.include('Failed to sign in').and.include('127.0.0.1')
  })
})
