/** Pages that a change set has deleted or was about to propose: in the trash, and after a process that died. */

import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { type Client, client, type PersonClient } from '../support/people.ts'
import { proposeNode } from '../support/proposed.ts'
import { ann, di, gitOf, grove, open, pageAt, sets, useScene } from './scene.ts'

let time = Date.parse('2026-01-02T01:04:00Z')

describe('pages left by change sets', () => {
  useScene({ now: () => new Date(time) })

  // Sessions end while the clock moves.
  let owner: Client
  let maintainer: Client
  before(async () => {
    const tokenOf = async (who: PersonClient) =>
      client(grove, (await who.post('/auth/tokens', { name: 'Test', access: 'write' }).then(expecting(201))).body.token)
    owner = await tokenOf(ann)
    maintainer = await tokenOf(di)
  })

  const folderOf = (id: string) => join(grove.dataDir, ann.org, `${id}.git`)
  const trash = async () => (await owner.get(`/orgs/${ann.org}/trash`).then(expecting(200))).body.nodes
  const trashed = () => join(grove.dataDir, 'trash', ann.org)

  const aDeleted = async (title: string) => {
    const { id } = (
      await owner.post(`/orgs/${ann.org}/nodes`, { title, text_content: `About ${title}.\n` }).then(expecting(201))
    ).body
    const { change_set: set } = await open(maintainer, { deletions: [{ node_id: id }] })
    await maintainer.post(`${sets}/${set.number}/merge`).then(expecting(200))
    return id
  }

  it('come back from the trash with their text, and as a new commit', async () => {
    const id = await aDeleted('Whales')
    const [copy] = await trash()
    expect(copy).to.deep.include({ id, title: 'Whales', deleted_by: 'Di' })
    time += 5_000
    const { title, head } = (await owner.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))).body
    expect(title).to.equal('Whales')
    const git = gitOf(id)
    expect(git.say('show', 'main:content.md')).to.equal('About Whales.')
    expect(git.lines('log', '--format=%s %an', 'main')).to.deep.equal([
      'Restore Whales Ann',
      'Delete Whales Di',
      'Create node Ann',
    ])
    expect(git.head()).to.equal(head)
    expect(JSON.parse(git.say('show', 'refs/grove/ledger:node.json'))).to.not.have.any.keys('state', 'proposed_in')
    git.fsck()
  })

  it('go to the trash later if the merging process died before', async () => {
    const id = await aDeleted('Seals')
    const name = readdirSync(trashed()).find((one) => one.startsWith(id)) ?? ''
    renameSync(join(trashed(), name), folderOf(id))
    expect((await owner.get(pageAt(id))).status).to.equal(404)
    time += 2 * 3_600_000
    await grove.settled()
    expect(existsSync(folderOf(id))).to.equal(false)
    expect((await trash()).find((one: { id: string }) => one.id === id)).to.include({
      title: 'Seals',
      deleted_by: 'Di',
    })
  })

  it('are removed after an hour if no set lists them, and stay if one does', async () => {
    const { change_set: set } = await open(maintainer, { nodes: [{ title: 'Krill' }] })
    const lost = proposeNode(grove, ann.org, { by: ann.user, title: 'Lost', at: new Date(time).toISOString() })
    time += 1_800_000
    await grove.settled()
    expect(existsSync(folderOf(lost.id))).to.equal(true)
    time += 2 * 3_600_000
    await grove.settled()
    expect(existsSync(folderOf(lost.id))).to.equal(false)
    expect(existsSync(folderOf(set.items[0].node_id))).to.equal(true)
  })

  it('go to the trash 30 days after their set closed, and come back when it reopens', async () => {
    const { change_set: set } = await open(maintainer, { nodes: [{ title: 'Plankton', text_content: 'It drifts.\n' }] })
    const id = set.items[0].node_id
    const path = `${sets}/${set.number}`
    await maintainer.patch(path, { status: 'closed' }).then(expecting(200))
    time += 29 * 86_400_000
    await grove.settled()
    expect(existsSync(folderOf(id))).to.equal(true)
    time += 2 * 86_400_000
    await grove.settled()
    expect(existsSync(folderOf(id))).to.equal(false)
    const copy = (await trash()).find((one: { id: string }) => one.id === id)
    expect(copy).to.include({ title: 'Plankton', change_set: set.number })
    const refused = await owner.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(409))
    expect(refused.body).to.include({ code: 'in_change_set', change_set: set.number })
    await maintainer.patch(path, { status: 'open' }).then(expecting(200))
    await maintainer.post(`${path}/merge`).then(expecting(200))
    expect((await owner.get(pageAt(id)).then(expecting(200))).body.title).to.equal('Plankton')
  })

  it('go back to the trash after an hour if the process died that was about to restore them', async () => {
    const { id } = (await owner.post(`/orgs/${ann.org}/nodes`, { title: 'Squids' }).then(expecting(201))).body
    await owner.delete(pageAt(id)).then(expecting(204))
    const { change_set: set } = await open(maintainer, { restorations: [{ node_id: id }] })
    // As if the set had never been written: its ledger goes back to the commit before.
    const org = gitIn(grove, ann.org, 'org')
    org.say('update-ref', 'refs/grove/sets', 'refs/grove/sets^')
    time += 1_800_000
    await grove.settled()
    expect(existsSync(folderOf(id)), set.title).to.equal(true)
    time += 2 * 3_600_000
    await grove.settled()
    expect(existsSync(folderOf(id))).to.equal(false)
    await owner.post(`/orgs/${ann.org}/trash/${id}/restore`).then(expecting(200))
  })

  it('are removed later if their first push was cut off by the end of the process', async () => {
    const { id, git } = proposeNode(grove, ann.org, { by: ann.user, title: 'Cut', at: new Date(time).toISOString() })
    const files = { 'node.json': git.say('show', 'refs/grove/ledger:node.json'), last: '0\n' }
    git.say('update-ref', 'refs/grove/ledger', git.commit({ files, message: 'create', at: time / 1_000 }))
    git.say('update-ref', '-d', 'refs/heads/sets/7')
    time += 1.5 * 3_600_000
    await grove.settled()
    expect(existsSync(folderOf(id)), 'the push may still run').to.equal(true)
    time += 3_600_000
    await grove.settled()
    expect(existsSync(folderOf(id))).to.equal(false)
  })

  it('end with their set if nobody works on it for 90 days', async () => {
    const { id } = (await owner.post(`/orgs/${ann.org}/nodes`, { title: 'Corals' }).then(expecting(201))).body
    await owner.delete(pageAt(id)).then(expecting(204))
    const { change_set: left } = await open(maintainer, {
      nodes: [{ title: 'Sponges' }],
      restorations: [{ node_id: id }],
    })
    const { change_set: busy } = await open(maintainer, { nodes: [{ title: 'Urchins' }] })
    const { node_id, source_branch } = busy.items[0]
    time += 60 * 86_400_000
    const commit = { message: 'More', changes: [{ action: 'put', path: 'content.md', content: 'They walk.\n' }] }
    await maintainer.post(`${pageAt(node_id)}/tree/${source_branch}/commits`, commit).then(expecting(201))
    time += 31 * 86_400_000
    await grove.settled()
    const of = async (number: number) => (await owner.get(`${sets}/${number}`).then(expecting(200))).body.change_set
    expect(await of(left.number)).to.include({ status: 'closed', closed_by: 'Grove' })
    expect(await of(busy.number)).to.include({ status: 'open' })
    expect((await trash()).map((one: { id: string }) => one.id)).to.include(id)
    await maintainer.patch(`${sets}/${left.number}`, { status: 'open' }).then(expecting(200))
    await maintainer.post(`${sets}/${left.number}/merge`).then(expecting(200))
    expect((await owner.get(pageAt(id)).then(expecting(200))).body.title).to.equal('Corals')
  })
})
