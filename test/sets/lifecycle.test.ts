/** A change set over REST: opened, read, changed, closed, reopened and merged. Git is the oracle of what moved. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aPage, bob, byPage, cy, di, gitOf, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('change sets', () => {
  useScene()

  it('merge a new page, a change and a deletion together', async () => {
    const [whales, old] = [await aPage('Whales'), await aPage('Old whales')]
    const [from, gone] = [gitOf(whales).head(), gitOf(old).head()]
    const { change_set: set, nodes } = await open(di, {
      title: 'Whales eat krill',
      nodes: [
        { ref: 'krill', title: 'Krill', text_content: 'Krill are small.\n', parents: [whales] },
        { id: whales, text_content: 'Whales eat krill.\n', connections: [{ target: 'krill', type: 'feeds_on' }] },
      ],
      deletions: [{ node_id: old, expected_head: gone }],
    })
    const krill = nodes[0].id
    expect(nodes).to.deep.equal([
      { id: krill, ref: 'krill', status: 'proposed' },
      { id: whales, status: 'proposed' },
    ])
    expect(set).to.deep.include({ title: 'Whales eat krill', status: 'open', can_merge: true, num_items: 3 })
    expect(set.merge_role).to.equal('maintainer')
    expect(set.items.map(({ act, title }: { act: string; title: string }) => [act, title])).to.deep.equal([
      ['delete', 'Old whales'],
      ['create', 'Krill'],
      ['change', 'Whales'],
    ])
    expect((await ann.get(pageAt(krill))).status, 'a proposed page').to.equal(404)
    expect(gitOf(whales).head()).to.equal(from)
    const heads = byPage(set)
    const merged = (
      await di.post(`${sets}/${set.number}/merge`, { expected_version: set.version }).then(expecting(200))
    ).body
    expect(merged.change_set).to.deep.include({ status: 'merged', can_merge: false, merge_reason: 'already_merged' })
    expect(gitOf(krill).head()).to.equal(heads[krill].source_commit)
    expect(gitOf(whales).head()).to.equal(heads[whales].source_commit)
    const page = (await ann.get(pageAt(krill)).then(expecting(200))).body
    expect(page).to.deep.include({ title: 'Krill' })
    expect((await ann.get(pageAt(old))).status).to.equal(404)
    const { nodes: trashed } = (await ann.get(`/orgs/${ann.org}/trash`).then(expecting(200))).body
    expect(trashed.map(({ id }: { id: string }) => id)).to.include(old)
    const neighbours = (await ann.get(`${pageAt(whales)}/connections`).then(expecting(200))).body
    expect(JSON.stringify(neighbours)).to.include(krill)
    await di.post(`${sets}/${set.number}/merge`).then(expecting(200))
  })

  it.deep('merge once, and succeed for everybody who merges at that moment', async () => {
    for (let round = 0; round < 4; round++) {
      const [seals, old] = [await aPage('Seals'), await aPage('Old seals')]
      const nodes = [
        { title: 'Sea lions', parents: [seals] },
        { id: seals, tags: ['seal'] },
      ]
      const { change_set: set } = await open(di, { title: 'Seals', nodes, deletions: [{ node_id: old }] })
      const merge = () => di.post(`${sets}/${set.number}/merge`, { expected_version: set.version })
      const answers = await Promise.all(Array.from({ length: 6 }, merge))
      expect(answers.map(({ status, body }) => body.code ?? status)).to.deep.equal(answers.map(() => 200))
    }
  })

  it('are opened once for an id, and whole or not at all', async () => {
    const page = await aPage('Seals')
    const id = randomUUID()
    const body = { id, title: 'Seals', nodes: [{ id: page, tags: ['seal'] }, { title: 'Sea lions' }] }
    const { change_set: set } = await open(cy, body)
    expect((await open(cy, body)).change_set).to.deep.equal(set)
    const before = (await ann.get(`${sets}?status=all`)).body.total
    const again = await cy.post(sets, { title: 'Seals', nodes: [{ title: 'Walruses' }, { id: page, tags: ['x'] }] })
    expect([again.status, again.body.code]).to.deep.equal([409, 'item_exists'])
    expect((await ann.get(`${sets}?status=all`)).body.total).to.equal(before)
    const moved = await cy.post(sets, {
      title: 'Seals',
      deletions: [{ node_id: page, expected_head: `${'0'.repeat(39)}1` }],
    })
    expect([moved.status, moved.body.code]).to.deep.equal([409, 'head_moved'])
    const same = await bob.post(sets, { title: 'Seals', nodes: [{ id: await aPage('Cods'), title: 'Cods' }] })
    expect([same.status, same.body.code]).to.deep.equal([409, 'no_changes'])
  })

  it('have a bound for edges and tags, which are written at once', async () => {
    const connections = Array.from({ length: 700 }, (_, at) => ({ id: `c${at}`, target: randomUUID(), type: 'about' }))
    const nodes = ['A', 'B', 'C'].map((title) => ({ title, connections }))
    const { status, body } = await bob.post(sets, { title: 'Many', nodes })
    expect([status, body.code]).to.deep.equal([409, 'too_many_items'])
    expect(body.detail).to.include('2100')
  })

  it('say what holds them up, page by page and together', async () => {
    const [a, b] = [await aPage('A'), await aPage('B')]
    const { change_set: set, nodes } = await open(bob, {
      nodes: [
        { id: a, parents: [b] },
        { id: b, parents: [a] },
        { title: 'C', parents: [a], connections: [{ target: randomUUID(), type: 'about' }] },
      ],
      is_draft: true,
    })
    expect(set.merge_reasons).to.deep.equal(['invalid_content', 'draft'])
    const items = byPage(set)
    const reasons = Object.values(items).flatMap(({ problems }) =>
      problems.map(({ reason }: { reason: string }) => reason),
    )
    expect(reasons.join('; '))
      .to.match(/would create a cycle/)
      .and.match(/There is no node/)
    const refused = await bob.post(`${sets}/${set.number}/merge`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'invalid_content'])
    const alone = (await ann.get(`${pageAt(a)}/pull-requests/${items[a].number}`)).body.pr
    expect(alone.merge_reasons).to.include('in_change_set')
    const merged = await bob.post(`${pageAt(a)}/pull-requests/${items[a].number}/merge`)
    expect([merged.status, merged.body.code]).to.deep.equal([409, 'in_change_set'])
    expect(nodes).to.have.length(3)
  })

  it('are edited, closed and reopened with their pull requests', async () => {
    const page = await aPage('Otters')
    const { change_set: set } = await open(cy, { nodes: [{ id: page, text_content: 'Otters.\n' }, { title: 'Minks' }] })
    const [other] = set.items.filter(({ act }: { act: string }) => act === 'create')
    const path = `${sets}/${set.number}`
    const statusOf = async () => (await setOf(set.number)).items.map(({ status }: { status: string }) => status)
    await cy.patch(path, { title: 'Otters and minks', status: 'closed' }).then(expecting(200))
    expect(await statusOf()).to.deep.equal(['closed', 'closed'])
    expect(await setOf(set.number)).to.deep.include({
      title: 'Otters and minks',
      status: 'closed',
      merge_reason: 'closed',
    })
    await cy.patch(path, { status: 'open' }).then(expecting(200))
    expect(await statusOf()).to.deep.equal(['open', 'open'])
    const more = await aPage('Badgers')
    await cy.patch(path, { add: { deletions: [{ node_id: more }] }, remove: [other.node_id] }).then(expecting(200))
    expect((await setOf(set.number)).items.map(({ act }: { act: string }) => act)).to.deep.equal(['delete', 'change'])
    await cy.patch(path, { remove: [page] }).then(expecting(200))
    const pull = (await ann.get(`${pageAt(page)}/pull-requests/1`)).body.pr
    expect(pull).to.include({ status: 'open', can_merge: true })
    expect((await di.post(`${path}/merge`).then(expecting(200))).body.change_set.status).to.equal('merged')
    const late = await cy.patch(path, { title: 'Late' })
    expect([late.status, late.body.code]).to.deep.equal([409, 'merged'])
  })

  it('count their numbers in the organisation, and list them newest first', async () => {
    const { change_sets: listed, total } = (await ann.get(`${sets}?status=all&limit=100`).then(expecting(200))).body
    expect(listed.map(({ number }: { number: number }) => number)).to.deep.equal(
      Array.from({ length: total }, (_, at) => total - at),
    )
    expect((await ann.get(`${sets}/${total + 1}`)).body.code).to.equal('change_set_not_found')
    const editorOnly = await cy.post(`${sets}/${total}/merge`)
    expect([editorOnly.status, editorOnly.body.code]).to.deep.equal([403, 'forbidden'])
  })
})
