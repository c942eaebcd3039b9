/** A change set whose pages are behind `main`: all their branches are rebased at once, or none. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, aPage, bob, byPage, cy, di, gitOf, open, pageAt, setOf, sets, useScene } from './scene.ts'

const write = (id: string, content: string, path = 'content.md') =>
  ann
    .post(`${pageAt(id)}/tree/main/commits`, { message: 'Edit', changes: [{ action: 'put', path, content }] })
    .then(expecting(201))

const treeOf = (id: string, commit: string) => gitOf(id).lines('ls-tree', '-r', '--name-only', commit)

describe('updates of change sets', () => {
  useScene()

  it('update the branch of a deletion alone', async () => {
    const old = await aPage('Old seals')
    const { change_set: set } = await open(di, { deletions: [{ node_id: old }] })
    await write(old, 'Older.\n')
    await di.post(`${pageAt(old)}/pull-requests/1/update-branch`, {}).then(expecting(200))
    expect((await setOf(set.number)).can_merge).to.equal(true)
  })

  it('rebase every page that is behind, and keep the approvals of pages whose change is the same', async () => {
    const [whales, old, seals] = [await aPage('Whales'), await aPage('Old whales'), await aPage('Seals')]
    const body = { nodes: [{ id: whales, tags: ['sea'] }, { id: seals, tags: ['sea'] }, { title: 'Krill' }] }
    const { change_set: set } = await open(cy, { ...body, deletions: [{ node_id: old }] })
    const review = { verdict: 'approve', text: '', expected_version: set.version }
    await bob.post(`${sets}/${set.number}/reviews`, review).then(expecting(201))
    await write(whales, 'Whales sing.\n', 'notes.md')
    await write(old, 'Older.\n', 'notes.md')
    expect((await setOf(set.number)).merge_reasons).to.include('diverged')
    const { change_set: after } = (await cy.post(`${sets}/${set.number}/update-branch`).then(expecting(200))).body
    expect(after.merge_reasons).to.deep.equal(['mergeable'])
    const [was, is] = [byPage(set), byPage(after)]
    const behind = Object.keys(is).filter((id) => is[id].source_commit !== was[id].source_commit)
    expect(behind).to.have.members([whales, old])
    expect(gitOf(whales).say('rev-parse', `${is[whales].source_commit}^`)).to.equal(gitOf(whales).head())
    expect(treeOf(whales, is[whales].source_commit)).to.include('notes.md')
    expect(treeOf(old, is[old].source_commit)).to.deep.equal([])
    expect(gitOf(old).say('log', '-1', '--format=%an %cn', is[old].source_commit)).to.equal('Cy Cy')
    expect(is[whales].approvals, 'the same change').to.equal(1)
    expect(is[old].approvals, 'one file more is deleted').to.equal(0)
    const same = (await cy.post(`${sets}/${set.number}/update-branch`).then(expecting(200))).body.change_set
    expect(same.version).to.equal(after.version)
    await di.post(`${sets}/${set.number}/merge`).then(expecting(200))
    expect((await ann.get(pageAt(old))).status).to.equal(404)
  })

  it('move nothing if one page conflicts, and name its paths', async () => {
    const [whales, seals] = [await aPage('Whales'), await aPage('Seals')]
    const text = (id: string, text_content: string) => ({ id, text_content })
    const { change_set: set } = await open(bob, {
      nodes: [text(whales, 'Whales hum.\n'), text(seals, 'Seals bark.\n')],
    })
    await write(whales, 'Whales sing.\n')
    await write(seals, 'On ice.\n', 'notes.md')
    const refused = await bob.post(`${sets}/${set.number}/update-branch`).then(expecting(409))
    expect(refused.body).to.deep.include({
      code: 'merge_conflict',
      items: [{ node_id: whales, number: 1, title: 'Whales', paths: ['content.md'] }],
    })
    expect((await setOf(set.number)).version).to.equal(set.version)
    expect((await cy.post(`${sets}/${set.number}/update-branch`)).status, 'the set of another').to.equal(403)
    await bob.patch(`${sets}/${set.number}`, { status: 'closed' }).then(expecting(200))
    expect((await bob.post(`${sets}/${set.number}/update-branch`).then(expecting(409))).body.code).to.equal('closed')
  })
})
