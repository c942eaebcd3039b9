/** Each user chooses what comes into the inbox, and mutes pages and proposals. */
import { expect } from 'chai'
import { sendForm } from '../pages/forms.ts'
import { ann, aProposal, bob, comment, cy, grove, pass, useScene } from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, password } from '../support/people.ts'
import { edit, follow, followOrg, inbox, itemOf, saidOf } from './scene.ts'

describe('choices of an inbox', () => {
  useScene({ sweeps: false })
  beforeEach(() => pass(10))

  const choose = (notifications: object) => cy.patch('/auth/me', { notifications }).then(expecting(200))

  it('turn reasons off, and the next reason counts', async () => {
    const node = await ann.node()
    await follow(cy, node)
    await followOrg(cy, ann.org)
    await edit(ann, node, 'A')
    expect(saidOf(await inbox(cy), node)).to.deep.equal(['following_node node.updated 2 new'])
    expect((await choose({ following_node: 'none' })).body.notifications).to.deep.equal({ following_node: 'none' })
    expect(saidOf(await inbox(cy), node)).to.deep.equal(['following_org node.updated 2 new'])
    await choose({ following_org: 'none' })
    expect(saidOf(await inbox(cy), node)).to.deep.equal([])
    expect((await cy.api.listUnread()).items).to.deep.equal([])
    const { body } = await choose({ following_node: 'mail', following_org: 'mail' })
    expect(body.notifications).to.equal(undefined)
    expect((await cy.api.listUnread()).items).to.have.length(1)
    expect((await cy.patch('/auth/me', { notifications: { everything: 'none' } })).status).to.equal(422)
    await cy.delete(`/orgs/${ann.org}/follow`).then(expecting(204))
  })

  it('mute a page with its proposals, except what mentions the user', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    await follow(cy, node)
    await edit(ann, node, 'A')
    await cy.put(`${node.at}/mute`).then(expecting(204))
    await comment(bob, proposal, 'Hm.')
    expect(saidOf(await inbox(cy), node)).to.deep.equal([])
    await comment(bob, proposal, 'See, @Cy.')
    expect(itemOf(await inbox(cy), proposal)).to.include({ reason: 'mentioned', count: 1 })
    const of = { org_id: ann.org, node_id: node.id }
    expect((await cy.api.listMutes({ query: { node_id: node.id } })).mutes).to.deep.equal([{ ...of, node_title: 'A' }])
    for (let again = 0; again < 2; again++) await cy.delete(`${node.at}/mute`).then(expecting(204))
    expect(saidOf(await inbox(cy), node)).to.have.length(2)
    expect((await cy.api.listMutes()).mutes).to.deep.equal([])
  })

  it('are on a page, and on the pages of what is muted', async () => {
    const proposal = await aProposal()
    const { node, number } = proposal
    const signedIn = await sendForm(grove, '/sign-in', { email: cy.user.email, password })
    const cookie = signedIn.headers['set-cookie']?.split(';')[0] ?? ''
    const read = async (path: string) => {
      const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
      return String((await readPage(client(grove), path, headers)).body)
    }
    const send = (fields: Record<string, string>, to = '/me/inbox') => sendForm(grove, to, fields, { cookie })
    const page = pageAt(node.org, node.id)
    expect(await read(page)).to.include('Mute this page')
    const back = `${page}/proposals/${number}`
    const of = { org: node.org, node: node.id, back }
    expect((await send({ ...of, act: 'mute' })).status).to.equal(303)
    expect((await send({ ...of, act: 'mute-proposal', number: `${number}` })).headers.location).to.equal(back)
    expect(await read(page)).to.include('Unmute this page')
    expect(await read(back)).to.include('aria-label="Unmute: ')
    const shown = await read('/me/notifications')
    expect(shown).to.include('This service sends no mail').and.include(`proposal #${number} for`)
    const fields = { act: 'unmute-page', org_id: node.org, node_id: node.id }
    expect((await send(fields, '/me/notifications')).status).to.equal(303)
    const proposals = { ...fields, act: 'unmute-proposal', number: `${number}` }
    expect((await send(proposals, '/me/notifications')).status).to.equal(303)
    expect(await read('/me/notifications')).to.include('You have muted nothing')
    const chosen = { act: 'choose', following_tree: 'inbox', mentioned: 'none' }
    const saved = await send(chosen, '/me/notifications')
    expect(saved.headers.location).to.equal('/me/notifications?saved=choose')
    const { notifications } = (await cy.get('/auth/me')).body
    expect(notifications).to.deep.equal({ following_tree: 'inbox', mentioned: 'none' })
    expect(await read('/me/inbox')).to.include('href="/me/notifications"')
    await choose({ following_tree: 'mail', mentioned: 'mail' })
  })
})
