/** A page is in one open set, once, and its item follows its set. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { readSets } from '../support/sets-reader.ts'
import { ann, aPage, cy, di, gitOf, grove, open, pageAt, sets, useScene } from './scene.ts'

describe('items of change sets', () => {
  useScene()

  afterEach(() => expect(readSets(grove, ann.org).broken).to.deep.equal([]))

  const aSet = async (page: string) => {
    const { change_set: set } = await open(cy, { nodes: [{ id: page, text_content: `Set ${page}.\n` }] })
    return { path: `${sets}/${set.number}`, pull: `${pageAt(page)}/pull-requests/${set.items[0].number}` }
  }
  const refusal = async (answer: ReturnType<typeof cy.patch>) => {
    const { status, body } = await answer
    return [status, body.code]
  }

  it('are reopened by their set only, and stay proposals into main', async () => {
    const page = await aPage('Whales')
    await ann.post(`${pageAt(page)}/branches`, { name: 'other' }).then(expecting(201))
    const { path, pull } = await aSet(page)
    expect(await refusal(cy.patch(pull, { target_branch: 'other' }))).to.deep.equal([409, 'in_change_set'])
    await cy.patch(pull, { status: 'closed' }).then(expecting(200))
    expect(await refusal(cy.patch(pull, { status: 'open' }))).to.deep.equal([409, 'in_change_set'])
    await cy.patch(path, { status: 'open' }).then(expecting(200))
    expect((await cy.get(pull)).body.pr.status).to.equal('open')
    await cy.patch(path, { status: 'closed' }).then(expecting(200))
    expect(await refusal(cy.patch(pull, { status: 'open' }))).to.deep.equal([409, 'in_change_set'])
  })

  it('are not reopened while their page is in another open set', async () => {
    const page = await aPage('Krill')
    const first = await aSet(page)
    await cy.patch(first.path, { status: 'closed' }).then(expecting(200))
    const second = await aSet(page)
    expect(await refusal(cy.patch(first.path, { status: 'open' }))).to.deep.equal([409, 'item_exists'])
    await di.post(`${second.path}/merge`).then(expecting(200))
    expect(gitOf(page).say('show', 'main:content.md')).to.equal(`Set ${page}.`)
  })

  it('are of different pages, also after one was closed, and in one request', async () => {
    const page = await aPage('Seals')
    const { path, pull } = await aSet(page)
    const add = { nodes: [{ id: page, text_content: 'Again.\n' }] }
    await cy.patch(pull, { status: 'closed' }).then(expecting(200))
    expect(await refusal(cy.patch(path, { add }))).to.deep.equal([409, 'item_exists'])
    expect(await refusal(cy.patch(path, { add, remove: [page] }))).to.deep.equal([409, 'item_exists'])
    await cy.patch(path, { remove: [page] }).then(expecting(200))
    await cy.patch(path, { add }).then(expecting(200))
    await di.post(`${path}/merge`).then(expecting(200))
    expect(gitOf(page).say('show', 'main:content.md')).to.equal('Again.')
  })
})
