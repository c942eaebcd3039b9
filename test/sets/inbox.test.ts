/** Change sets in inboxes: one item for a set and all of its pages, also by mail and on the pages. */

import { expect } from 'chai'
import { inbox, said } from '../inbox/scene.ts'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt as htmlOf } from '../support/pages.ts'
import type { Answer } from '../support/people.ts'
import { ann, aPage, bob, cy, di, grove, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('change sets in an inbox', () => {
  useScene({ sweeps: false })

  const itemsOf = async (by: typeof bob) => (await inbox(by)).filter(({ org_id }) => org_id === ann.org)
  const openFor = async (more: object = {}) =>
    (await open(cy, { nodes: [{ title: 'Krill' }, { title: 'Seals' }], ...more })).change_set

  it('are one item for whoever is asked, with what happens to the pages', async () => {
    const { number, items, conversation } = await openFor({ reviewers: [bob.user.id] })
    const [item, ...others] = await itemsOf(bob)
    expect(others).to.deep.equal([])
    expect(item).to.deep.include({ node_id: ann.org, node_title: '', number, title: 'Whales', status: 'open' })
    expect(item).to.deep.include({ reason: 'review_requested', reason_actor: { user_id: cy.user.id, name: 'Cy' } })
    const [{ node_id, number: pull }] = items
    await di.post(`${pageAt(node_id)}/pull-requests/${pull}/comments`, { text: 'Why, @Bob?' }).then(expecting(201))
    const { entry } = (await di.post(`${conversation}/comments`, { text: 'And all of it?' }).then(expecting(201))).body
    const all = await itemsOf(bob)
    expect(all).to.have.length(1)
    expect(said(all[0])).to.match(/^review_requested comment.created \d+ new$/)
    expect(await itemsOf(cy), 'the author').to.have.length(1)
    await di.post(`${sets}/${number}/merge`).then(expecting(200))
    expect((await itemsOf(cy))[0]).to.deep.include({ status: 'merged', number })
    expect(entry).to.equal(1)
    await di.delete(pageAt(node_id)).then(expecting(204))
    const folded = (await itemsOf(cy)).filter((one) => one.number !== undefined)
    expect(
      folded.map(({ title }) => title),
      'after a page is deleted',
    ).to.deep.equal(['Whales'])
  })

  it('are muted as a whole, but for what asks for or mentions the user', async () => {
    const id = await aPage('There')
    const { items, conversation } = await openFor({
      nodes: [{ id, text_content: 'More.\n' }],
      reviewers: [bob.user.id],
    })
    await bob.put(`${conversation}/read-mark`, { entry: 0, muted: true }).then(expecting(204))
    const [{ node_id, number: pull }] = items
    const page = `${pageAt(node_id)}/pull-requests/${pull}/comments`
    await di.post(page, { text: 'Why?' }).then(expecting(201))
    const [before] = await itemsOf(bob)
    expect(said(before)).to.equal('review_requested review.requested 1 new')
    await di.post(page, { text: 'Why, @Bob?' }).then(expecting(201))
    expect((await itemsOf(bob))[0].count).to.equal(2)
    const { mutes } = (await bob.get('/mutes').then(expecting(200))).body
    expect(mutes).to.have.length(1)
    expect(mutes[0]).to.include({ node_id: ann.org, node_title: '', title: 'Whales' })
  })

  it('come to those who follow a page or the organisation', async () => {
    const page = await aPage('Followed')
    await di.put(`${pageAt(page)}/follow`, { scope: 'node' }).then(expecting(204))
    const nodes = [{ id: page, text_content: 'More.\n' }, { title: 'Other' }]
    const { change_set: set } = await open(cy, { nodes })
    const ofSet = (all: Answer['body'][]) => all.find((one) => one.node_id === ann.org && one.number === set.number)
    expect(said(ofSet(await itemsOf(di)))).to.equal('following_node pull_request.opened 1 new')
    await ann.put(`/orgs/${ann.org}/follow`).then(expecting(204))
    await cy.patch(`${sets}/${set.number}`, { title: 'Two pages' }).then(expecting(200))
    expect(ofSet(await itemsOf(ann))).to.deep.include({ title: 'Two pages', reason: 'following_org' })
    expect((await setOf(set.number)).title).to.equal('Two pages')
  })

  it('lead to the page of the proposal, which marks the item as read', async () => {
    const { number } = await openFor({ title: 'Read me', reviewers: [bob.user.id] })
    const visit = await visitOf(grove, bob)
    const unread = async () =>
      (await bob.get('/inbox-unread').then(expecting(200))).body.items.filter(
        (one: Answer['body']) => one.node_id === ann.org && one.number === number,
      )
    expect(await unread()).to.have.length(1)
    const { body } = await visit.open('/me/inbox')
    expect(body).to.match(new RegExp(`href="[^"]*/proposals/${number}"[^>]*><strong>Read me`))
    expect((await visit.open(`${htmlOf(ann.org)}/proposals/${number}`)).status).to.equal(200)
    expect(await unread()).to.deep.equal([])
  })
})
