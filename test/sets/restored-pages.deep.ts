/** Pages with open pull requests of change sets that come back from the trash. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { readSets } from '../support/sets-reader.ts'
import { ann, aPage, di, grove, open, pageAt, sets, useScene } from './scene.ts'

describe('pages that come back from the trash', () => {
  useScene()

  it('have left a set that has taken them out or closed before', async () => {
    const [kept, removed, gone, ended] = [await aPage('A'), await aPage('B'), await aPage('C'), await aPage('D')]
    const { change_set: set } = await open(di, {
      nodes: [kept, removed].map((id) => ({ id, text_content: 'More.\n' })),
      deletions: [{ node_id: gone }],
    })
    const { change_set: other } = await open(di, { nodes: [{ id: ended, text_content: 'More.\n' }] })
    for (const id of [kept, removed, gone, ended]) await ann.delete(pageAt(id)).then(expecting(204))
    await di.patch(`${sets}/${set.number}`, { remove: [removed, gone] }).then(expecting(200))
    await di.patch(`${sets}/${other.number}`, { status: 'closed' }).then(expecting(200))
    const pulls: Record<string, { status: string; change_set?: number }> = {}
    for (const id of [kept, removed, gone, ended]) {
      await ann.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
      const { pr } = (await ann.get(`${pageAt(id)}/pull-requests/1`).then(expecting(200))).body
      pulls[id] = { status: pr.status, ...(pr.change_set && { change_set: pr.change_set }) }
    }
    expect(pulls).to.deep.equal({
      [kept]: { status: 'open', change_set: set.number },
      [removed]: { status: 'open' },
      [gone]: { status: 'closed' },
      [ended]: { status: 'closed', change_set: other.number },
    })
    expect(readSets(grove, ann.org).broken).to.deep.equal([])
    await di.post(`${sets}/${set.number}/merge`).then(expecting(200))
    await di.post(`${pageAt(removed)}/pull-requests/1/merge`).then(expecting(200))
  })

  it('go back there if the set that restores them cannot be reopened', async () => {
    const [gone, busy] = [await aPage('E'), await aPage('F')]
    await ann.delete(pageAt(gone)).then(expecting(204))
    const trashed = async () =>
      (await ann.get(`/orgs/${ann.org}/trash`).then(expecting(200))).body.nodes.map(({ id }: { id: string }) => id)
    const { change_set: set } = await open(di, {
      nodes: [{ id: busy, text_content: 'More.\n' }],
      restorations: [{ node_id: gone }],
    })
    await di.patch(`${sets}/${set.number}`, { status: 'closed' }).then(expecting(200))
    expect(await trashed()).to.include(gone)
    await open(di, { nodes: [{ id: busy, text_content: 'Less.\n' }] })
    const refused = await di.patch(`${sets}/${set.number}`, { status: 'open' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'item_exists'])
    expect(await trashed()).to.include(gone)
    expect(readSets(grove, ann.org, { mayEndOutside: true }).broken).to.deep.equal([])
  })
})
