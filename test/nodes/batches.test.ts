/** Many nodes in one request: created together, or brought to a state. */

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { ann, emptyOrg, grove, nodes, problem, useScene } from './scene.ts'

const batch = () => `${nodes}/batch`

/** The nodes of the organisation, by title. */
async function titles(at = nodes): Promise<string[]> {
  const { body } = await ann.get(`${at}?limit=200`).then(expecting(200))
  return body.nodes.map(({ title }: { title: string }) => title)
}

describe('a batch of nodes', () => {
  useScene()

  it('is created whole: refs in any order, edges, files, and as git clones it', async () => {
    const sent = [
      {
        ref: 'whales',
        title: 'Whales',
        text_content: '# Whales\n',
        tags: ['sea'],
        properties: { species: 90 },
        parents: ['oceans'],
        connections: [{ target: 'krill', type: 'feeds_on', label: 'by the tonne', id: 'food' }],
        files: [
          { path: 'songs/one.txt', content: 'A song\n' },
          { path: 'bones.bin', content: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' },
        ],
      },
      { ref: 'oceans', title: 'Oceans' },
      { ref: 'krill', title: 'Krill', parents: ['oceans'] },
    ]
    const { status, body } = await ann.post(batch(), { nodes: sent })
    expect([status, body.nodes.map(({ ref }: { ref: string }) => ref)]).to.deep.equal([
      201,
      ['whales', 'oceans', 'krill'],
    ])
    const [whales, oceans, krill] = body.nodes
    const node = (await ann.get(`${nodes}/${whales.id}`).then(expecting(200))).body
    expect(node).to.deep.include({
      title: 'Whales',
      text_content: '# Whales\n',
      tags: ['sea'],
      properties: { species: 90 },
      head: whales.head,
      parents: [{ id: oceans.id, title: 'Oceans', label: '' }],
    })
    expect(node.connections[0]).to.deep.include({
      id: 'food',
      target: krill.id,
      type: 'feeds_on',
      label: 'by the tonne',
    })
    const git = gitIn(grove, ann.org, whales.id)
    git.fsck()
    expect(git.lines('ls-tree', '-r', '--name-only', 'main')).to.deep.equal([
      ...[
        'bones.bin',
        'connections/food.json',
        'content.md',
        'node.json',
        `parents/${oceans.id}.json`,
        'songs/one.txt',
      ],
    ])
    expect(git.run(['show', 'main:bones.bin'])).to.deep.equal(Buffer.from([0, 255, 1]))
    expect(git.lines('log', '--format=%s %an', '--all').sort()).to.deep.equal(['Create node Ann', 'create Ann'])
  })

  it('takes 12 files and folders, or fewer, for each node', async () => {
    const { body } = await ann.post(batch(), { nodes: [{ title: 'Note', text_content: 'x'.repeat(1_024) }] })
    const dir = gitIn(grove, ann.org, body.nodes[0].id).dir
    const entries = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    expect(entries.length + 1).to.be.at.most(12)
    expect(entries.filter((name) => statSync(join(dir, name)).isDirectory()).sort()).to.deep.equal([
      ...['objects', 'objects/pack', 'refs'],
    ])
    const [pack = ''] = entries.filter((name) => name.endsWith('.pack'))
    gitIn(grove, ann.org, body.nodes[0].id).say('verify-pack', join(dir, pack))
    gitIn(grove, ann.org, body.nodes[0].id).say('index-pack', '--verify', join(dir, pack))
  })

  it.deep('of 1,000 nodes with a circle at the last is refused, and nothing of it is there', async () => {
    const org = await emptyOrg()
    const chain = Array.from({ length: 1_000 }, (_, at) => ({
      ref: `n${at}`,
      title: `Note ${at}`,
      parents: at === 0 ? ['n999'] : [`n${at - 1}`],
    }))
    const answer = await ann.post(`/orgs/${org.org}/nodes/batch`, { nodes: chain })
    const { loc } = problem(answer) as { loc: unknown }
    expect(loc).to.deep.equal(['body', 'nodes', 999, 'parents', 0])
    expect(await titles(`/orgs/${org.org}/nodes`)).to.deep.equal([])
    chain.shift()
    const { status, body } = await ann.post(`/orgs/${org.org}/nodes/batch`, {
      nodes: [{ ref: 'n0', title: 'Note 0' }, ...chain],
    })
    expect([status, body.nodes.length]).to.deep.equal([201, 1_000])
    const last = await ann.get(`/orgs/${org.org}/nodes/${body.nodes[999].id}`)
    expect(last.body).to.deep.include({ title: 'Note 999', num_ancestors: 999 })
  })
})
