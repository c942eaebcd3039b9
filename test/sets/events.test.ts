/** The events of change sets, in the log of their organisation. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { ann, aPage, cy, di, open, sets, useScene } from './scene.ts'

describe('events of change sets', () => {
  useScene()

  const eventsOf = async (): Promise<Answer['body'][]> =>
    (await ann.get(`/orgs/${ann.org}/events?limit=200`).then(expecting(200))).body.events

  it('say each act with its pages, and those of a merge come after those of its pages', async () => {
    const [page, old] = [await aPage('Whales'), await aPage('Old')]
    const before = (await eventsOf()).length
    const { change_set: set } = await open(cy, {
      title: 'Krill',
      nodes: [
        { title: 'Krill', parents: [page] },
        { id: page, text_content: 'Krill.\n' },
      ],
      deletions: [{ node_id: old }],
    })
    const path = `${sets}/${set.number}`
    await cy.patch(path, { is_draft: true }).then(expecting(200))
    await cy.patch(path, { status: 'closed' }).then(expecting(200))
    await cy.patch(path, { status: 'open', is_draft: false }).then(expecting(200))
    await di.post(`${path}/merge`).then(expecting(200))
    const events = (await eventsOf()).slice(before)
    const ofSet = events.filter(({ type }) => type.startsWith('change_set.'))
    expect(ofSet.map(({ type, data }) => [type, data.actor.name, data.is_draft])).to.deep.equal([
      ['change_set.opened', 'Cy', false],
      ['change_set.edited', 'Cy', true],
      ['change_set.closed', 'Cy', true],
      ['change_set.reopened', 'Cy', false],
      ['change_set.merged', 'Di', false],
    ])
    const items = set.items.map(({ node_id, number, act }: Answer['body']) => ({ node_id, number, act }))
    for (const { data, subject } of ofSet) {
      expect(subject).to.equal(`change-sets/${set.number}`)
      expect(data).to.include({ number: set.number, id: set.id, title: 'Krill' })
      expect(data.items).to.have.deep.members(items)
    }
    const merged = events.findIndex(({ type }) => type === 'change_set.merged')
    const opened = events.findIndex(({ type }) => type === 'change_set.reopened')
    const ofMerge = events.slice(opened + 1, merged).filter(({ type }) => type.startsWith('node.'))
    expect(ofMerge.map(({ type, data }) => [type, data.actor.name, data.title]).sort()).to.deep.equal([
      ['node.created', 'Di', 'Krill'],
      ['node.deleted', 'Di', 'Old'],
      ['node.updated', 'Di', undefined],
    ])
    const [created] = ofMerge.filter(({ type }) => type === 'node.created')
    expect(created.time).to.equal(events[merged].time)
    expect(created.data.change_set).to.equal(set.id)
    expect(events.filter(({ data }) => data.actor === undefined)).to.deep.equal([])
  })
})
