/** Proposals of several nodes through /mcp: lists, their review, and answers to it. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, connectHttp, factsIn, grove, type Model, parted, tokenOf, useScene } from './scene.ts'

describe('proposals of several nodes for models', () => {
  useScene()

  let bob: PersonClient
  let model: Model
  let org_id: string
  before(async () => {
    org_id = (await made(ann.post('/orgs', { name: 'Whales' }))).id
    bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${org_id}/members/bob@example.org`, { role: 'editor' }))
    model = await connectHttp(await tokenOf('propose'))
  })

  /** Opens a set of three new nodes, for Bob to review. */
  const propose = async (title: string) => {
    const items = ['Squids', 'Octopuses', 'Cuttlefish'].map((one) => ({ title: one, text: `${one} swim.\n` }))
    const answer = await model.ask('propose_changes', { org_id, title, description: 'By a source.', items })
    const [, number, page] = /^Proposal (\d+) of 3 nodes: (\S+)/.exec(answer) ?? []
    const at = `/orgs/${org_id}/change-sets/${number}`
    const { change_set } = await made(ann.patch(at, { reviewers: [bob.user.id] }))
    return { at, page, change_set: Number(number), set: change_set }
  }

  it('are one item of lists, and wait as one', async () => {
    const { change_set, page, set } = await propose('Cephalopods')
    const facts = { change_set, num_items: 3, title: 'Cephalopods', page }
    const listed = factsIn(await model.ask('list_proposals', { org_id }), 'proposals')
    expect(listed.filter(({ title }) => title === 'Cephalopods')).to.have.length(1)
    expect(listed[0]).to.include(facts).and.not.have.any.keys('node_id', 'number', 'branch')
    const bobs = await connectHttp(await tokenOf('read', {}, bob))
    const waiting = factsIn(await bobs.ask('waiting', { org_id }), 'proposals')
    expect(waiting).to.have.length(1)
    expect(waiting[0]).to.include(facts).and.not.have.property('node_id')
    const ofNode = await model.ask('list_proposals', { org_id, node_id: set.items[0].node_id })
    expect(factsIn(ofNode, 'proposals')).to.have.length(1)
    expect(factsIn(ofNode, 'proposals')[0]).to.include({ number: 1, change_set })
  })

  it('have one discussion with the state of each node, and what was said about it', async () => {
    const { at, page, change_set, set } = await propose('Molluscs')
    const [squids, octopuses] = ['Squids', 'Octopuses'].map((one) => set.items.find(({ title }: Item) => title === one))
    const review = { expected_version: set.version, verdict: 'approve', text: 'Good.', items: [octopuses.node_id] }
    await made(bob.post(`${at}/reviews`, review))
    const pull = `/orgs/${org_id}/nodes/${squids.node_id}/pull-requests/${squids.number}`
    const wrong = { verdict: 'request_changes', text: 'Squids jet.', expected_source_commit: squids.source_commit }
    await made(bob.post(`${pull}/reviews`, wrong))
    await made(bob.post(`${set.conversation}/comments`, { text: 'Which source?' }))
    const answer = await model.ask('read_discussion', { org_id, change_set })
    expect(parted(answer).outside).to.equal(
      [
        `Proposal ${change_set} of 3 nodes is open: ${page}`,
        'Comments on the whole: 1; open threads: 1. can_merge: true.',
        'To read the comments on one node, call again with its node_id and number.',
        'Threads: 1 with the state open.',
      ].join('\n'),
    )
    expect(factsIn(answer, 'proposal')).to.deep.equal([{ title: 'Molluscs', description: 'By a source.' }])
    const nodes = factsIn(answer, 'nodes')
    expect(nodes.map(({ title }) => title)).to.have.members(['Squids', 'Octopuses', 'Cuttlefish'])
    expect(nodes.find(({ title }) => title === 'Squids')).to.deep.include({
      ...{ node_id: squids.node_id, number: 1, act: 'create', ready: true, reasons: [] },
      ...{ verdicts: ['Bob: request_changes'], branch: squids.source_branch, commit: squids.source_commit },
    })
    expect(nodes.find(({ title }) => title === 'Octopuses')).to.deep.include({
      ...{ ready: true, reasons: [], verdicts: ['Bob: approve'] },
    })
    expect(factsIn(answer, `review 1 of node ${squids.node_id}`)[0]).to.include({
      ...{ author: 'Bob', verdict: 'request_changes', state: 'current', text: 'Squids jet.' },
    })
    expect(factsIn(answer, 'review 2')[0]).to.include({ author: 'Bob', verdict: 'approve', text: 'Good.' })
    expect(factsIn(answer, 'reviewers')[0]).to.include({ name: 'Bob' })
    expect(factsIn(answer, 'comment 3')[0]).to.include({ author: 'Bob', text: 'Which source?' })
    const entry = await model.ask('read_discussion', { org_id, change_set, entry: 3 })
    expect(parted(entry).outside).to.equal(`Entry 3 of proposal ${change_set}: ${page}`)
    expect(await model.refused('read_discussion', { org_id, change_set: 99 })).to.match(
      /^404 change_set_not_found: .*list_proposals/,
    )
    expect(await model.refused('read_discussion', { org_id, change_set, number: 1 })).to.match(/^422 invalid: Pass/)
  })

  it('take an answer to their review as a commit on their branch, once, from their author only', async () => {
    const { at, page, change_set, set } = await propose('Answers')
    const [{ node_id, title, number }] = set.items
    const change = (more: string) => ({
      ...{ org_id, node_id, title: 'Say how', description: 'As Bob asks.' },
      changes: [{ path: 'content.md', edits: [{ old: 'swim', new: `swim ${more}` }] }],
    })
    for (const _ of ['first', 'repeated']) {
      const answer = await model.ask('propose_change', change('fast'))
      expect(answer).to.match(new RegExp(`^Your proposal ${change_set} has the change of node ${node_id}: ${page}\n`))
    }
    const read = async () => {
      const { source_branch } = (await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests/${number}`))).pr
      const branch = encodeURIComponent(source_branch)
      return (await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/tree/${branch}/files/content.md`))).content
    }
    expect(await read()).to.equal(`${title} swim fast.\n`)
    const bobs = await connectHttp(await tokenOf('propose', {}, bob))
    const refused = await bobs.refused('propose_change', change('far'))
    expect(refused)
      .to.match(/^409 item_exists: Proposal/)
      .and.include(page)
    expect(await read()).to.equal(`${title} swim fast.\n`)
    const { items } = (await made(ann.get(at))).change_set
    expect(items).to.have.length(3)
    const listed = await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests`))
    expect(listed.total).to.equal(1)
  })
})

interface Item {
  readonly title: string
}
