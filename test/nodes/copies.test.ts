/** Copies of nodes. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { ann, grove, make, noNode, useScene } from './scene.ts'

describe('a copy of a node', () => {
  useScene()

  const copyOf = (at: string, body?: object) => ann.post(`${at}/copy`, body)

  it('has the same tree but for its title, and one commit', async () => {
    const parent = await make({ title: 'Sea' })
    const node = await make({ title: 'Whales', parents: [parent.id], tags: ['sea'], text_content: 'Song.' })
    await node.commit('main', { 'a/b/c.txt': 'deep\n', 'a/d.bin': 'x'.repeat(200_000) })
    await node.proposal('draft')
    await node.open('draft')
    const { status, body, headers } = await copyOf(node.at)
    const at = `/orgs/${node.org}/nodes/${body.id}`
    expect([status, body.title, headers.location]).to.deep.equal([201, 'Copy of Whales', at])
    const git = gitIn(grove, node.org, body.id)
    const listed = (one: typeof git) => one.lines('ls-tree', '-r', 'main').filter((line) => !line.endsWith('node.json'))
    expect(listed(git)).to.deep.equal(listed(node.git))
    expect(JSON.parse(git.say('show', 'main:node.json'))).to.deep.equal({
      ...JSON.parse(node.git.say('show', 'main:node.json')),
      title: 'Copy of Whales',
    })
    expect(git.lines('log', '--format=%an %s', 'main')).to.deep.equal(['Ann Copy Whales'])
    git.fsck()
    expect((await ann.get(`${at}/pull-requests?status=all`)).body.total).to.equal(0)
    expect((await ann.get(`${at}/branches`)).body.total).to.equal(1)
  })

  it('leaves out edges to deleted nodes, and marks of an import', async () => {
    const [parent, target] = [await make({ title: 'Parent' }), await make({ title: 'Target' })]
    const properties = { source_path: 'a.md', source_files: ['x'], source_vault: 'v', depth: 1 }
    const node = await make({ parents: [parent.id], properties })
    await ann.post(`${node.at}/connections`, { target: target.id }).then(expecting(201))
    for (const { at } of [parent, target]) await ann.delete(at).then(expecting(204))
    const { body } = await copyOf(node.at).then(expecting(201))
    expect(body).to.deep.include({ parents: [], connections: [], properties: { depth: 1 } })
  })

  it('has the title and the id that are asked for, once', async () => {
    const node = await make()
    const id = randomUUID()
    expect((await copyOf(node.at, { id, title: 'Other' }).then(expecting(201))).body).to.include({ id, title: 'Other' })
    const again = await copyOf(node.at, { id })
    expect([again.status, again.body.code]).to.deep.equal([409, 'node_exists'])
    expect((await copyOf(node.at, { title: ' ' })).status).to.equal(422)
    expect(await copyOf(`/orgs/${node.org}/nodes/${randomUUID()}`)).to.deep.equal(noNode)
  })

  it('has a title of at most 500 characters, and no commit if the node has none', async () => {
    const long = await make({ title: '鯨'.repeat(500) })
    const { body } = await copyOf(long.at).then(expecting(201))
    expect([...body.title].length).to.equal(500)
    const { body: bare } = await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Bare', initialize: false })
    const copied = await copyOf(`/orgs/${ann.org}/nodes/${bare.id}`).then(expecting(201))
    expect(copied.body).to.include({ title: 'Copy of Bare' }).and.not.have.property('head')
  })

  it.deep('is refused beyond 64 MiB', async () => {
    const node = await make()
    const big = Buffer.alloc(33 * 1_048_576)
    const lines = [0, 1].map((at) => {
      big[0] = at
      const oid = node.git.run(['hash-object', '-w', '--stdin'], { input: big }).toString().trim()
      return `100644 blob ${oid}\tbig-${at}.bin\n`
    })
    const json = node.git.say('rev-parse', 'main:node.json')
    const input = [...lines, `100644 blob ${json}\tnode.json\n`].join('')
    const tree = node.git.run(['mktree'], { input }).toString().trim()
    node.git.point('main', node.git.say('commit-tree', tree, '-p', node.git.head(), '-m', 'Big'))
    const { status, body } = await copyOf(node.at)
    expect([status, body.code]).to.deep.equal([413, 'too_large'])
  })
})
