/** The token of one node shows no other titles, and only ids in its own files. */

import { expect } from 'chai'
import { connectHttp } from '../mcp/scene.ts'
import { made } from '../support/cast.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('the token of one node', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let own: TestNode
  let token: string
  let bound: Client
  /** The nodes around it. */
  const others: Record<'parent' | 'child' | 'target' | 'holder' | 'named' | 'above', string> = {
    ...{ parent: '', child: '', target: '', holder: '', named: '', above: '' },
  }
  const secret = (name: string) => `Secret ${name}`

  before(async () => {
    const node = async (name: string, fields: object = {}) =>
      (await newNode(grove, ann, { title: secret(name), properties: { source_path: `${secret(name)}.md` }, ...fields }))
        .id
    others.above = await node('above')
    others.parent = await node('parent', { parents: [others.above] })
    others.target = await node('target')
    others.named = await node('named')
    own = await newNode(grove, ann, {
      title: 'Own',
      parents: [others.parent],
      properties: { source_path: 'Own.md' },
      text_content: `[[Own]], [[${secret('named')}]], [[${secret('target')}]], [[Nothing]], [site](https://example.org)\n`,
    })
    others.child = await node('child', { parents: [own.id] })
    others.holder = await node('holder')
    await made(ann.post(`${own.at}/connections`, { target: others.target, type: 'cites', id: 'mine' }))
    await made(
      ann.post(`/orgs/${ann.org}/nodes/${others.holder}/connections`, { target: own.id, label: 'Secret label' }),
    )
    const scope = { name: 'One node', access: 'write', org_id: ann.org, node_id: own.id }
    token = (await made(ann.post('/auth/tokens', scope))).token
    bound = client(grove, token)
  })

  /** Ids that the node's own files do not have, and any title. */
  const expectNothingOf = (answer: unknown, known: readonly (keyof typeof others)[] = ['parent', 'target']) => {
    const text = JSON.stringify(answer)
    expect(text).to.not.match(/Secret (?:parent|child|holder|above|label)/)
    for (const [name, id] of Object.entries(others))
      if (!known.some((one) => one === name)) expect(text, name).to.not.contain(id)
  }
  const get = async (path: string) => (await bound.get(`${own.at}${path}`).then(expecting(200))).body

  it('reads the edges in its files, without the titles of their other ends', async () => {
    const node = await get('')
    expectNothingOf(node)
    expect([node.parents, node.children]).to.deep.equal([[{ id: others.parent, title: '', label: '' }], []])
    const connection = { id: 'mine', node_id: own.id, source: own.id, target: others.target, type: 'cites', label: '' }
    const listed = { ...connection, source_title: 'Own', target_title: '' }
    expect(node.connections).to.deep.equal([listed])
    const page = await get('/connections')
    expect([page.connections, page.total]).to.deep.equal([[listed], 1])
    expect((await ann.get(own.at)).body.connections).to.have.length(2)
  })

  it('gets no other node from links, for any texts and files', async () => {
    // A file of the name of a node is found as if there were no such node.
    await own.commit('main', { [`attachments/${secret('named')}.md`]: 'Mine\n' })
    const { links } = await get('/links')
    const told = links.map(({ kind, node, file, reason }: Record<string, unknown>) => [kind, node ?? file ?? reason])
    const path = `attachments/${secret('named')}.md`
    const facts = { size: 5, media_type: 'text/markdown; charset=utf-8' }
    expect(told).to.deep.equal([
      ['node', { id: own.id, title: 'Own' }],
      ['file', { path, exists: true, object_id: own.git.say('rev-parse', `main:${path}`), ...facts }],
      ['missing', 'not_found'],
      ['missing', 'not_found'],
      ['outside', undefined],
    ])
    const whole = (await ann.get(`${own.at}/links`).then(expecting(200))).body.links
    expect(whole[1].node, 'the same revision for the person').to.include({ id: others.named })
  })

  it('learns no title by what it writes', async () => {
    const added = await made(bound.post(`${own.at}/connections`, { target: others.above, id: 'new' }))
    const changed = await made(bound.patch(`${own.at}/connections/new`, { label: 'See' }))
    for (const one of [added, changed]) expect([one.source_title, one.target_title]).to.deep.equal(['Own', ''])
    const node = await made(bound.put(`${own.at}/parents/${others.above}`, {}))
    expectNothingOf(node, ['parent', 'target', 'above'])
    await made(bound.delete(`${own.at}/connections/new`))
    await made(bound.delete(`${own.at}/parents/${others.above}`))
  })

  it('sees the edges of a proposal, not what comes to lie above', async () => {
    await own.branch('more')
    await own.commit('more', { [`parents/${others.parent}.json`]: null, 'connections/more.json': edgeTo('holder') })
    const { number } = await own.open('more')
    const impact = await get(`/pull-requests/${number}/impact`)
    expectNothingOf(impact, ['parent', 'target', 'holder'])
    expect([impact.edges_added.length, impact.edges_removed.length]).to.deep.equal([1, 1])
    expect(impact.ancestors).to.deep.equal({ gained: [], lost: [] })
    expect((await ann.get(`${own.at}/pull-requests/${number}/impact`)).body.ancestors.lost).to.have.length(2)
  })
  const edgeTo = (name: keyof typeof others) => JSON.stringify({ target: others[name] })

  it.deep('shows a model no more', async () => {
    const model = await connectHttp(token, '2026-07-28', grove)
    try {
      for (const tool of ['read_node', 'neighbours'])
        expectNothingOf(await model.ask(tool, { org_id: ann.org, node_id: own.id }))
      const told = await model.ask('neighbours', { org_id: ann.org, node_id: own.id })
      expect(told)
        .to.contain(others.target)
        .and.contain('The token is limited to this node')
        .and.not.contain('Left out')
    } finally {
      await model.client.close()
    }
  })
})
