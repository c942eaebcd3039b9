/** The versions of the pages of a change set that each reviewer has read. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, open, pageAt, sets, useScene } from './scene.ts'

describe('the pages of a change set that were read', () => {
  useScene({ sweeps: false })

  const aSet = async () => {
    const id = await aPage('Whales')
    const nodes = [
      { title: 'Krill', text_content: 'Small.\n' },
      { id, text_content: 'More.\n' },
    ]
    const { change_set: set } = await open(cy, { nodes, deletions: [{ node_id: await aPage('Old') }] })
    return { set, id, items: byPage(set) }
  }
  const readBy = async (by: PersonClient, number: number) =>
    (await by.get(`${sets}/${number}`).then(expecting(200))).body.change_set.items.map(
      ({ read }: { read?: string }) => read,
    )
  const mark = (by: PersonClient, { node_id, number }: { node_id: string; number: number }, body: object) =>
    by.put(`${pageAt(node_id)}/pull-requests/${number}/read-mark`, { entry: 0, ...body })

  it('follow from the marks of each user, also of new pages and deletions', async () => {
    const { set } = await aSet()
    expect(await readBy(bob, set.number)).to.deep.equal(['unread', 'unread', 'unread'])
    for (const item of set.items) await mark(bob, item, { head: item.source_commit }).then(expecting(204))
    expect(await readBy(bob, set.number)).to.deep.equal(['read', 'read', 'read'])
    expect(await readBy(di, set.number), 'of another user').to.deep.equal(['unread', 'unread', 'unread'])
  })

  it('have changed with the next commit, until that was read', async () => {
    const { set, id, items } = await aSet()
    const { number, source_commit: head, source_branch: branch } = items[id]
    await mark(bob, items[id], { head }).then(expecting(204))
    await mark(bob, items[id], { muted: true }).then(expecting(204))
    expect(await readBy(bob, set.number), 'a mark without a commit').to.include('read')
    const change = { message: 'More', changes: [{ action: 'put', path: 'content.md', content: 'Even more.\n' }] }
    await cy.post(`${pageAt(id)}/tree/${branch}/commits`, change).then(expecting(201))
    expect(await readBy(bob, set.number)).to.deep.equal(['unread', 'unread', 'changed'])
    const { pr } = (await bob.get(`${pageAt(id)}/pull-requests/${number}`).then(expecting(200))).body
    await mark(bob, items[id], { head: pr.source_commit }).then(expecting(204))
    expect(await readBy(bob, set.number)).to.deep.equal(['unread', 'unread', 'read'])
  })

  it('are read by a verdict on this version', async () => {
    const { set, items, id } = await aSet()
    const review = { verdict: 'approve', expected_version: set.version, items: [id] }
    await di.post(`${sets}/${set.number}/reviews`, review).then(expecting(201))
    expect(await readBy(di, set.number)).to.deep.equal(['unread', 'unread', 'read'])
    const { change_sets } = (await di.get(sets).then(expecting(200))).body
    expect(JSON.stringify(change_sets), 'a list').to.not.include('"read"')
    await ann.post(`${sets}/${set.number}/merge`).then(expecting(200))
    expect(await readBy(di, set.number), 'after the merge').to.deep.equal([undefined, undefined, undefined])
    expect((await mark(di, items[id], { head: 'main' })).status).to.equal(422)
  })
})
