/** A change set that undoes a merged one, and pages that come back from the trash by a change set. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aPage, bob, byPage, cy, di, gitOf, open, pageAt, setOf, sets, useScene } from './scene.ts'

const merge = (number: number) => di.post(`${sets}/${number}/merge`).then(expecting(200))

const trashed = async (id: string) =>
  (await ann.get(`/orgs/${ann.org}/trash`).then(expecting(200))).body.nodes.filter(
    (one: { id: string }) => one.id === id,
  )

const ledgerOf = (id: string) => JSON.parse(gitOf(id).say('show', 'refs/grove/ledger:node.json'))

describe('undoing change sets', () => {
  useScene()

  it('restores a deleted page by a change set, hidden until the merge', async () => {
    const id = await aPage('Whales')
    await di.delete(pageAt(id)).then(expecting(204))
    expect((await bob.post(sets, { title: 'Back', restorations: [{ node_id: id }] })).status).to.equal(403)
    const { change_set: set } = await open(di, { restorations: [{ node_id: id }] })
    expect(byPage(set)[id]).to.include({ act: 'restore', title: 'Whales', ready: true })
    expect(set).to.include({ can_merge: true, merge_role: 'maintainer' })
    expect((await ann.get(pageAt(id))).status, 'only proposed').to.equal(404)
    expect(await trashed(id)).to.deep.equal([])
    const changes = (await ann.get(`${pageAt(id)}/pull-requests/${byPage(set)[id].number}/changes`)).body
    expect(JSON.stringify(changes)).to.include('content.md')
    await merge(set.number)
    expect((await ann.get(pageAt(id)).then(expecting(200))).body.title).to.equal('Whales')
    expect(gitOf(id).lines('log', '--format=%s', 'main')).to.deep.equal([
      'Restore Whales',
      'Delete Whales',
      'Create node',
    ])
    expect(ledgerOf(id)).to.not.have.any.keys('state', 'proposed_in')
    const { events } = (await ann.get(`/orgs/${ann.org}/events?limit=200`).then(expecting(200))).body
    const own = events.filter((event: { subject: string }) => event.subject?.includes(id))
    expect(own.map(({ type }: { type: string }) => type.replace(/^.*(node\.)/, '$1'))).to.include('node.restored')
    gitOf(id).fsck()
  })

  it('sends a page back to the trash when its set closes, and brings it back when that reopens', async () => {
    const id = await aPage('Seals')
    await di.delete(pageAt(id)).then(expecting(204))
    const { change_set: set } = await open(di, { restorations: [{ node_id: id }] })
    await di.patch(`${sets}/${set.number}`, { status: 'closed' }).then(expecting(200))
    expect(await trashed(id)).to.have.length(1)
    await di.patch(`${sets}/${set.number}`, { status: 'open' }).then(expecting(200))
    expect(await trashed(id)).to.deep.equal([])
    expect(byPage(await setOf(set.number))[id]).to.include({ act: 'restore', status: 'open', title: 'Seals' })
    await di.patch(`${sets}/${set.number}`, { remove: [id] }).then(expecting(200))
    expect(await trashed(id)).to.have.length(1)
    await di.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
    expect(gitOf(id).say('show', 'main:content.md')).to.equal('About Seals.')
  })

  it('leaves a page in the trash if its set cannot be opened', async () => {
    const id = await aPage('Cods')
    await di.delete(pageAt(id)).then(expecting(204))
    const other = await aPage('Herrings')
    await open(cy, { nodes: [{ id: other, tags: ['fish'] }] })
    const body = { title: 'Back', restorations: [{ node_id: id }], nodes: [{ id: other, tags: ['sea'] }] }
    expect((await di.post(sets, body).then(expecting(409))).body.code).to.equal('item_exists')
    expect(await trashed(id)).to.have.length(1)
    await di.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
  })

  it('reverts changes, deletes new pages and restores deleted ones, and names the others', async () => {
    const [whales, old, seals] = [await aPage('Whales'), await aPage('Old whales'), await aPage('Seals')]
    const { change_set: set, nodes } = await open(di, {
      title: 'Whales eat krill',
      nodes: [
        { title: 'Krill', text_content: 'Krill are small.\n' },
        { id: whales, text_content: 'Whales eat krill.\n' },
        { id: seals, text_content: 'Seals eat krill.\n' },
      ],
      deletions: [{ node_id: old }],
    })
    expect((await di.post(`${sets}/${set.number}/undo`).then(expecting(409))).body.code).to.equal('not_merged')
    await merge(set.number)
    await di.delete(pageAt(seals)).then(expecting(204))
    expect((await bob.post(`${sets}/${set.number}/undo`)).status, 'it deleted a page').to.equal(403)
    const { body } = await di.post(`${sets}/${set.number}/undo`).then(expecting(201))
    expect(body.left_out).to.deep.equal([{ node_id: seals, reason: 'The page was deleted' }])
    const undo = body.change_set
    expect(undo).to.include({ title: 'Undo: Whales eat krill', status: 'open', can_merge: true })
    expect(undo.description).to.include(`[proposal ${set.number}]`)
    const acts = Object.fromEntries(
      undo.items.map((item: { node_id: string; act: string }) => [item.node_id, item.act]),
    )
    expect(acts).to.deep.equal({ [nodes[0].id]: 'delete', [whales]: 'change', [old]: 'restore' })
    expect((await di.post(`${sets}/${set.number}/undo`).then(expecting(409))).body.code).to.equal('item_exists')
    await merge(undo.number)
    expect((await ann.get(pageAt(nodes[0].id))).status).to.equal(404)
    expect(gitOf(whales).say('show', 'main:content.md')).to.equal('About Whales.')
    expect((await ann.get(pageAt(old)).then(expecting(200))).body.title).to.equal('Old whales')
    const again = await di.post(`${sets}/${undo.number}/undo`).then(expecting(201))
    expect(again.body.change_set.num_items).to.equal(3)
  })

  it('proposes nothing if later commits changed the same paths', async () => {
    const whales = await aPage('Whales')
    const { change_set: set } = await open(bob, { nodes: [{ id: whales, text_content: 'Whales sing.\n' }] })
    await merge(set.number)
    const commit = { message: 'Edit', changes: [{ action: 'put', path: 'content.md', content: 'Whales hum.\n' }] }
    await bob.post(`${pageAt(whales)}/tree/main/commits`, commit).then(expecting(201))
    const { body } = await bob.post(`${sets}/${set.number}/undo`).then(expecting(409))
    expect(body).to.deep.include({
      code: 'merge_conflict',
      items: [{ node_id: whales, number: 1, title: 'Whales', paths: ['content.md'] }],
    })
  })

  it('opens nothing that could not merge, if that is required', async () => {
    const whales = await aPage('Whales')
    const before = (await ann.get(`${sets}?status=all`)).body.total
    const nodes = [
      { ref: 'krill', title: 'Krill', parents: [whales] },
      { id: whales, parents: ['krill'] },
    ]
    const { body } = await bob.post(sets, { title: 'A cycle', nodes, require_mergeable: true }).then(expecting(422))
    expect(body.detail[0].loc.slice(0, 2)).to.deep.equal(['body', 'nodes'])
    expect(body.detail[0].msg).to.match(/cycle|ancestor/)
    expect((await ann.get(`${sets}?status=all`)).body.total).to.equal(before)
    const fine = { title: 'Krill', nodes: [{ title: 'Krill', parents: [whales] }], require_mergeable: true }
    expect((await open(bob, fine)).change_set.can_merge).to.equal(true)
  })
})
