/** The items of an inbox, and their reasons. */
import { expect } from 'chai'
import { ann, aProposal, bob, comment, cy, di, eve, grove, pass, review, useScene } from '../review/scene.ts'
import { expecting, type TestNode } from '../support/node.ts'
import { client, type PersonClient, password } from '../support/people.ts'
import { edit, follow, followOrg, inbox, itemOf, page, said, saidOf } from './scene.ts'

describe('an inbox', () => {
  useScene({ sweeps: false })

  beforeEach(() => pass(10))
  afterEach(async () => {
    for (const person of [ann, bob, cy, di]) {
      const { follows } = await person.api.listFollows({ query: { limit: 200 } })
      for (const { org_id, node_id } of follows)
        await (node_id
          ? person.api.unfollowNode({ path: { org_id, node_id } })
          : person.api.unfollowOrg({ path: { org_id } }))
    }
  })

  it('has what happens to a node that the user follows, and nothing else', async () => {
    const [one, other] = [await ann.node(), await ann.node()]
    await follow(cy, one)
    pass(1)
    await edit(ann, one, 'Blue whales')
    await edit(ann, other, 'Krill')
    const [item, ...more] = await inbox(cy)
    expect(more).to.deep.equal([])
    expect(item).to.deep.include({
      org_id: ann.org,
      node_id: one.id,
      node_title: 'Blue whales',
      reason: 'following_node',
      unread: true,
      count: 2,
      actors: [{ user_id: ann.user.id, name: 'Ann' }],
      types: ['node.updated', 'node.created'],
    })
    expect(item).to.not.have.property('number')
    await edit(ann, one, 'Whales of the sea')
    expect((await inbox(cy))[0].node_title).to.equal('Whales of the sea')
    await cy.delete(`${one.at}/follow`).then(expecting(204))
    expect(await inbox(cy)).to.deep.equal([])
  })

  it('counts what happened before the follow as read', async () => {
    const node = await ann.node()
    pass(1)
    await follow(cy, node)
    expect(saidOf(await inbox(cy), node)).to.deep.equal(['following_node node.created 1'])
    expect(await inbox(cy, '&unread=true')).to.deep.equal([])
    pass(1)
    await edit(ann, node, 'Blue whales')
    expect(saidOf(await inbox(cy), node)).to.deep.equal(['following_node node.updated 2 new'])
    expect(saidOf(await inbox(cy, '&unread=true'), node)).to.deep.equal(['following_node node.updated 1 new'])
  })

  it('has what happens to the descendants of a tree, as it is now', async () => {
    const [top, child, grandchild] = [await ann.node(), await ann.node(), await ann.node()]
    await ann.put(`${child.at}/parents/${top.id}`, {}).then(expecting(200))
    await ann.put(`${grandchild.at}/parents/${child.id}`, {}).then(expecting(200))
    pass(1)
    await follow(cy, top, 'tree')
    pass(1)
    await edit(ann, grandchild, 'Krill')
    expect(saidOf(await inbox(cy, '&unread=true'), grandchild)).to.deep.equal(['following_tree node.updated 1 new'])
    await ann.delete(`${child.at}/parents/${top.id}`).then(expecting(204))
    expect(saidOf(await inbox(cy), grandchild)).to.deep.equal([])
    await edit(ann, grandchild, 'Krill and more')
    expect(saidOf(await inbox(cy), grandchild)).to.deep.equal([])
    await ann.put(`${grandchild.at}/parents/${top.id}`, {}).then(expecting(200))
    expect(saidOf(await inbox(cy, '&unread=true'), grandchild)).to.deep.equal(['following_tree node.updated 3 new'])
    await follow(cy, top, 'node')
    expect(saidOf(await inbox(cy), grandchild)).to.deep.equal([])
  })

  it('has everything of an organisation that the user follows', async () => {
    await followOrg(cy, ann.org)
    pass(1)
    const node = await ann.node()
    await ann.patch(`/orgs/${ann.org}`, { description: 'The sea.' }).then(expecting(200))
    const items = await inbox(cy, '&unread=true')
    expect(items.map(said)).to.deep.equal(['following_org org.updated 1 new', 'following_org node.created 1 new'])
    expect(items[0]).to.not.have.property('node_id')
    expect(saidOf(items, node)).to.have.length(1)
  })

  it('has what happens in a conversation in which the user takes part', async () => {
    const proposal = await aProposal()
    expect(itemOf(await inbox(bob), proposal)).to.equal(undefined)
    await comment(bob, proposal, 'A question.')
    expect(itemOf(await inbox(bob), proposal)).to.include({ reason: 'involved', count: 1 })
    await comment(cy, proposal, 'Another one.')
    const item = itemOf(await inbox(bob), proposal)
    expect(item).to.deep.include({ reason: 'involved', count: 2, status: 'open', title: 'Merge draft', unread: true })
    expect(item.actors.map(({ name }: { name: string }) => name)).to.deep.equal(['Cy', 'Ann'])
    expect(itemOf(await inbox(ann), proposal)).to.deep.include({ reason: 'involved', count: 2 })
    await ann.patch(proposal.path, { title: 'Songs' }).then(expecting(200))
    expect(itemOf(await inbox(bob), proposal)).to.deep.include({ title: 'Songs', count: 2 })
  })

  it('says that a review is asked, and that the user is mentioned', async () => {
    const asked = await aProposal(undefined, { reviewers: [bob.user.id] })
    expect(itemOf(await inbox(bob), asked)).to.deep.include({ reason: 'review_requested', unread: true })
    const mentioned = await aProposal()
    await comment(cy, mentioned, 'See this, @Di.')
    expect(itemOf(await inbox(di), mentioned)).to.deep.include({ reason: 'mentioned', unread: true })
    await review(di, mentioned, 'approve')
    expect(itemOf(await inbox(ann), mentioned)).to.deep.include({ reason: 'involved', count: 2 })
  })

  it('leaves out own acts', async () => {
    await followOrg(ann, ann.org)
    const proposal = await aProposal()
    await comment(ann, proposal, 'My own.')
    expect(itemOf(await inbox(ann), proposal)).to.equal(undefined)
    expect(saidOf(await inbox(ann), proposal.node)).to.deep.equal([])
    await comment(bob, proposal, 'Not mine.')
    expect(itemOf(await inbox(ann), proposal)).to.deep.include({ count: 1 })
  })

  it('leaves out a muted conversation, except what mentions the user', async () => {
    const proposal = await aProposal()
    await followOrg(bob, ann.org)
    await comment(bob, proposal, 'A question.')
    await bob.put(`${proposal.path}/read-mark`, { entry: 1, muted: true }).then(expecting(204))
    await comment(cy, proposal, 'An answer.', { thread: 1 })
    expect(itemOf(await inbox(bob), proposal)).to.equal(undefined)
    await comment(cy, proposal, 'And you, @Bob?')
    expect(itemOf(await inbox(bob), proposal)).to.deep.include({ reason: 'mentioned', count: 1 })
    await bob.put(`${proposal.path}/read-mark`, { entry: 1, muted: false }).then(expecting(204))
    expect(itemOf(await inbox(bob), proposal)).to.deep.include({ reason: 'mentioned', count: 3 })
  })

  it('groups the edits of a node by their author and by time', async () => {
    const node = await ann.node()
    await follow(cy, node)
    for (const title of ['A', 'B', 'C']) await edit(bob, node, title)
    pass(60)
    await edit(di, node, 'D')
    expect(saidOf(await inbox(cy), node)).to.deep.equal([
      'following_node node.updated 1 new',
      'following_node node.updated 3 new',
      'following_node node.created 1 new',
    ])
  })

  it('has the deletion of a node, which then has no title', async () => {
    const node = await ann.node({ title: 'Secret' })
    await follow(cy, node)
    pass(1)
    await ann.delete(node.at).then(expecting(204))
    const [item] = (await inbox(cy)).filter(({ node_id }) => node_id === node.id)
    expect(item).to.deep.include({
      node_title: null,
      reason: 'following_node',
      types: ['node.deleted', 'node.created'],
    })
    expect(JSON.stringify(item)).to.not.include('Secret')
    await cy.delete(`${node.at}/follow`).then(expecting(204))
  })

  it('has only organisations in which the user is still a member', async () => {
    const node = await ann.node()
    await ann.put(`/orgs/${ann.org}/members/eve@example.org`, { role: 'contributor' }).then(expecting(200))
    await follow(eve, node)
    await followOrg(eve, ann.org)
    pass(1)
    await edit(ann, node, 'Blue whales')
    expect(saidOf(await inbox(eve), node)).to.have.length(1)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    await ann.delete(`/orgs/${ann.org}/members/eve@example.org`).then(expecting(204))
    await edit(ann, node, 'Blue whales again')
    expect(await inbox(eve)).to.deep.equal([])
    expect((await eve.get(`/orgs/${ann.org}/inbox`)).body.code).to.equal('forbidden')
    expect((await eve.put(`/orgs/${ann.org}/follow`)).body.code).to.equal('forbidden')
    expect((await eve.put(`${node.at}/follow`, { scope: 'node' })).body.code).to.equal('forbidden')
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
    expect((await eve.get(`/orgs/${ann.org}/inbox`)).body.code).to.equal('org_not_found')
  })

  it('is one of all organisations, or of one', async () => {
    const mine = await bob.node()
    await bob.put(`/orgs/${bob.org}/members/cy@example.org`, { role: 'reader' }).then(expecting(200))
    const theirs: TestNode = await ann.node()
    await follow(cy, mine)
    await follow(cy, theirs)
    pass(1)
    await edit(ann, theirs, 'Theirs')
    pass(1)
    await edit(bob, mine, 'Mine')
    const titles = (items: readonly { node_title: string }[]) => items.map(({ node_title }) => node_title)
    const all = await page(cy, '&unread=true')
    expect(titles(all.items).slice(0, 2)).to.deep.equal(['Mine', 'Theirs'])
    expect(all.elsewhere).to.deep.equal({})
    expect(titles((await page(cy, '', bob.org)).items)).to.deep.equal(['Mine'])
  })
})

describe('an inbox of several hours', () => {
  useScene({ sweeps: false })

  it('makes another item of edits after more than six hours', async () => {
    const node = await ann.node()
    await follow(cy, node)
    await edit(bob, node, 'A')
    pass(7 * 60 * 60)
    const again = async ({ user }: PersonClient) => {
      const session = await client(grove).post('/auth/login', { email: user.email, password }).then(expecting(200))
      return client(grove, session.body.accessToken)
    }
    const [editor, reader] = [await again(bob), await again(cy)]
    await edit(editor, node, 'B')
    await edit(editor, node, 'C')
    expect(saidOf(await inbox(reader), node)).to.deep.equal([
      'following_node node.updated 2 new',
      'following_node node.updated 1 new',
      'following_node node.created 1 new',
    ])
  })
})
