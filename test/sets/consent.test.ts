/** Consent of change sets: each page has its rules, and one review gives a verdict on each page. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { Client } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, gitOf, open, pageAt, setOf, sets, useScene } from './scene.ts'

const rule = {
  ...{ branches: ['main'], approvals: 1, by: { role: 'editor' }, keep: 'same_change', checks: [] },
  ...{ resolved: false, merge: 'editor', override: 'owner' },
}

describe('consent of change sets', () => {
  useScene()

  let policies = ''
  let legal = ''
  let old = ''
  before(async () => {
    policies = await aPage('Policies')
    legal = await aPage('Legal')
    old = await aPage('Old', { parents: [legal] })
    const rules = [
      { ...rule, under: policies },
      { ...rule, under: legal, by: { role: 'maintainer' } },
    ]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
  })

  const review = async (who: Client, number: number, more: object = {}) =>
    who.post(`${sets}/${number}/reviews`, {
      verdict: 'approve',
      expected_version: (await setOf(number)).version,
      ...more,
    })

  it('is asked for new pages, for each by the rules of its place', async () => {
    const { change_set: set, nodes } = await open(cy, {
      nodes: [
        { ref: 'travel', title: 'Travel', parents: [policies] },
        { title: 'Trains', parents: ['travel'] },
        { title: 'Contracts', parents: [legal] },
        { title: 'Lunch' },
      ],
    })
    const [travel, trains, contracts, lunch] = nodes.map(({ id }: { id: string }) => id)
    const reasonsOf = async () => {
      const items = byPage(await setOf(set.number))
      return [travel, trains, contracts, lunch].map((id) => items[id].reasons.join())
    }
    const missing = 'approvals_missing'
    expect(await reasonsOf()).to.deep.equal([missing, missing, missing, ''])
    const refused = await di.post(`${sets}/${set.number}/merge`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, missing])
    expect(refused.body.items.map((item: { title: string }) => item.title).sort()).to.deep.equal([
      'Contracts',
      'Trains',
      'Travel',
    ])
    const own = await review(cy, set.number)
    expect([own.status, own.body.code]).to.deep.equal([409, 'own_pull_request'])
    await review(bob, set.number, { text: 'Fine.' }).then(expecting(201))
    expect(await reasonsOf(), 'Bob is no maintainer').to.deep.equal(['', '', missing, ''])
    await review(di, set.number, { items: [contracts] }).then(expecting(201))
    expect(await reasonsOf()).to.deep.equal(['', '', '', ''])
    // One page changes, and only it asks again.
    const { source_branch: branch } = byPage(await setOf(set.number))[trains]
    const changes = [{ action: 'put', path: 'content.md', content: 'Take the train.\n' }]
    await cy
      .post(`${pageAt(trains)}/tree/${encodeURIComponent(branch)}/commits`, { message: 'Say more', changes })
      .then(expecting(201))
    expect(await reasonsOf()).to.deep.equal(['', missing, '', ''])
    const late = await bob.post(`${sets}/${set.number}/reviews`, { verdict: 'approve', expected_version: set.version })
    expect([late.status, late.body.code]).to.deep.equal([409, 'head_moved'])
    await review(bob, set.number).then(expecting(201))
    expect((await bob.post(`${sets}/${set.number}/merge`).then(expecting(200))).body.change_set.status).to.equal(
      'merged',
    )
    expect(gitOf(trains).say('show', 'main:content.md')).to.equal('Take the train.')
  })

  it('is not given by the author of a commit of a new page, whoever opened the set', async () => {
    const { change_set: set } = await open(cy, { nodes: [{ title: 'Visas', parents: [policies] }] })
    const [{ node_id: id, source_branch: branch }] = set.items
    const changes = [{ action: 'put', path: 'content.md', content: 'Visas.\n' }]
    await bob
      .post(`${pageAt(id)}/tree/${encodeURIComponent(branch)}/commits`, { message: 'Say more', changes })
      .then(expecting(201))
    await review(bob, set.number).then(expecting(201))
    expect((await setOf(set.number)).merge_reasons).to.deep.equal(['approvals_missing'])
    await review(di, set.number, { verdict: 'request_changes', text: 'No.' }).then(expecting(201))
    expect((await setOf(set.number)).merge_reasons).to.deep.equal(['changes_requested', 'approvals_missing'])
    await review(di, set.number).then(expecting(201))
    expect(await setOf(set.number)).to.include({ can_merge: true })
  })

  it('is overridden by an owner with a reason, which the ledgers record', async () => {
    const { change_set: set } = await open(cy, { deletions: [{ node_id: old }] })
    expect(set.merge_reasons).to.deep.equal(['approvals_missing'])
    const refused = await di.post(`${sets}/${set.number}/merge`, { override: { reason: 'Now' } })
    expect(refused.status).to.equal(403)
    const body = { override: { reason: 'The law has changed' } }
    const merged = (await ann.post(`${sets}/${set.number}/merge`, body).then(expecting(200))).body.change_set
    expect(merged.overridden).to.deep.include({ reason: 'The law has changed', reasons: ['approvals_missing'] })
  })
})
