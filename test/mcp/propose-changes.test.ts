/** Many nodes in one proposal, through /mcp: one source, one call, one link. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { ann, connectHttp, factsIn, type Model, parted, tokenOf, useScene } from './scene.ts'

describe('propose_changes of /mcp', () => {
  useScene()

  let model: Model
  let org_id: string
  before(async () => {
    org_id = (await made(ann.post('/orgs', { name: 'Whales' }))).id
    model = await connectHttp(await tokenOf('propose'))
  })

  const page = async (title: string, text_content = `About ${title}.\n`): Promise<string> =>
    (await made(ann.post(`/orgs/${org_id}/nodes`, { title, text_content }))).id
  const sets = async () => (await made(ann.get(`/orgs/${org_id}/change-sets?status=all`))).total

  it('opens one proposal of new, changed and deleted nodes, once for the same call', async () => {
    const [whales, old] = [await page('Whales', 'Whales eat fish.\n'), await page('Old whales')]
    const input = {
      org_id,
      title: 'Whales eat krill',
      description: 'By a source.',
      items: [
        { ref: 'krill', title: 'Krill', text: 'Krill are small.\n', parents: [whales] },
        { title: 'Plankton', connections: [{ target: 'krill', type: 'eaten_by' }] },
        { node_id: whales, changes: [{ path: 'content.md', edits: [{ old: 'fish', new: 'krill' }] }] },
        { node_id: old, delete: true },
      ],
    }
    const answer = await model.ask('propose_changes', input)
    const { outside } = parted(answer)
    expect(outside).to.match(
      /^Proposal 1 of 4 nodes: http.*\/proposals\/1\nNew: 2; changed: 1; deleted: 1\. can_merge: true\./,
    )
    expect(factsIn(answer, 'nodes').map(({ act, title }) => [act, title])).to.deep.equal([
      ['delete', 'Old whales'],
      ['create', 'Krill'],
      ['create', 'Plankton'],
      ['change', 'Whales'],
    ])
    expect(parted(await model.ask('propose_changes', input)).outside).to.equal(outside)
    expect(await sets()).to.equal(1)
    const { change_set: set } = await made(ann.get(`/orgs/${org_id}/change-sets/1`))
    expect(set).to.deep.include({ title: 'Whales eat krill', description: 'By a source.', status: 'open' })
    expect(set.opened_via).to.include({ door: 'mcp' })
    await made(ann.post(`/orgs/${org_id}/change-sets/1/merge`))
    const { content } = await made(ann.get(`/orgs/${org_id}/nodes/${whales}/tree/main/files/content.md`))
    expect(content).to.equal('Whales eat krill.\n')
  })

  it('proposes nothing that could not merge, and names the item', async () => {
    const seals = await page('Seals')
    const items = [
      { node_id: seals, changes: [{ path: `parents/${seals}.json`, content: '{}' }] },
      { ref: 'lions', title: 'Sea lions' },
    ]
    const before = await sets()
    const answer = await model.refused('propose_changes', { org_id, title: 'Seals', items })
    expect(answer).to.match(/items\.0[\s\S]*cannot be its own parent/)
    expect(await sets()).to.equal(before)
  })

  it('refuses an item that is no new node, no change and no deletion, and leaves nothing', async () => {
    const before = await sets()
    for (const item of [{ text: 'No title' }, { node_id: await page('Cods') }, { title: 'New', delete: true }]) {
      const answer = await model.refused('propose_changes', {
        org_id,
        title: 'Wrong',
        items: [{ title: 'Right' }, item],
      })
      expect(answer).to.match(/items\.1|Nothing was proposed/)
    }
    expect(await sets()).to.equal(before)
  })

  it('names the item of a refusal by its position in the call, also after deletions', async () => {
    const [old, otters, gone] = [await page('Old otters'), await page('Otters', 'Otters swim.\n'), randomUUID()]
    const refused = (item: object) =>
      model.refused('propose_changes', {
        ...{ org_id, title: 'Otters' },
        items: [{ node_id: old, delete: true }, { title: 'Sea otters' }, item],
      })
    const edits = [{ old: 'swim', new: 'dive' }]
    const wrong = { path: 'content.md', edits: [...edits, { old: 'fly', new: 'dive' }] }
    expect(await refused({ node_id: otters, changes: [wrong] })).to.match(/\nitems\.2\.changes\.0\.edits\.1\.old: /)
    expect(await refused({ node_id: otters, changes: [{ path: 'gone.md', edits }] })).to.match(
      /^404 file_not_found: items\.2 was refused[\s\S]*\nitems\.2: /,
    )
    expect(await refused({ node_id: gone, changes: [wrong] })).to.match(/^404 node_not_found: items\.2 was refused/)
    expect(await refused({ node_id: gone, delete: true })).to.match(/^404 node_not_found/)
    expect(await refused({ node_id: old, delete: true })).to.match(/\nitems\.2\.node_id: Another item/)
    expect(await refused({ node_id: otters, changes: [wrong], expected_head: '1'.repeat(40) })).to.match(
      /^409 head_moved: main is now at [\s\S]*\nitems\.2: main has moved/,
    )
    expect(await refused({ title: 'Pups', parents: ['nobody'] })).to.match(/\nitems\.2\.parents\.0/)
  })
})
