/** Manual changes of repositories on the server, seen through HTTP. */

import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { commitOf } from '../support/concurrency-rules.ts'
import { expectSound } from '../support/data-folder.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'
import { closedLedger } from './ledgers.ts'

describe('a hand on the server', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let neighbour: TestNode

  beforeEach(async () => {
    node = await newNode(grove, ann)
    neighbour = await newNode(grove, ann)
    node.git.loosen()
  })
  afterEach(async () => {
    expect((await ann.get(neighbour.at)).status).to.equal(200)
    expect((await ann.post(`${neighbour.at}/tree/main/commits`, commitOf('Beside it'))).status).to.equal(201)
    expect((await ann.get(`/orgs/${ann.org}/nodes`)).status).to.equal(200)
    expect((await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'whales' })).status).to.equal(200)
  })

  it('that holds git’s lock makes a write answer 503 busy, and nothing has changed', async () => {
    const before = await ann.get(node.at)
    await writeFile(join(node.git.dir, 'refs/heads/main.lock'), '')
    const answer = await ann.hasty.post(`${node.at}/tree/main/commits`, commitOf('Waits'))
    expect({ status: answer.status, code: answer.body.code }).to.deep.equal({ status: 503, code: 'busy' })
    expect(Number(answer.headers['retry-after'])).to.be.greaterThan(0)
    expect(await ann.get(node.at)).to.deep.equal(before)
    await rm(join(node.git.dir, 'refs/heads/main.lock'))
    expect((await ann.post(`${node.at}/tree/main/commits`, commitOf('Waits'))).status).to.equal(201)
    await expectSound(grove.dataDir)
  })

  it('that moves a ref is noticed when the node is next read', async () => {
    const head = node.git.commit({ files: { 'content.md': 'By hand' }, parents: [node.git.head()], message: 'By hand' })
    node.git.point('main', head)
    expect((await ann.get(node.at)).body).to.include({ head, text_content: 'By hand' })
    node.git.point('new', head)
    expect(
      (await ann.get(`${node.at}/branches`)).body.branches.map(({ name }: { name: string }) => name),
    ).to.deep.equal(['main', 'new'])
    node.git.say('tag', 'v1', 'new')
    expect((await ann.get(`${node.at}/tags`)).body.tags).to.have.length(1)
  })

  it('that moves the ledger is noticed when the node is next read', async () => {
    await node.proposal('dolphins')
    await node.open('dolphins')
    node.git.say('update-ref', 'refs/grove/ledger', closedLedger(node))
    expect(await node.pull(1)).to.include({ status: 'closed', closed_by: 'Somebody' })
  })

  it('that takes a repository away makes its node 404', async () => {
    await rename(node.git.dir, join(grove.dataDir, 'taken-away'))
    for (const path of ['', '/branches', '/tree/main/commits', '/pull-requests'])
      expect((await ann.get(node.at + path)).body.code).to.equal('node_not_found')
    expect((await ann.post(`${node.at}/tree/main/commits`, commitOf('Nowhere'))).body.code).to.equal('node_not_found')
    const { nodes } = (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body
    expect(nodes.map(({ id }: { id: string }) => id))
      .to.include(neighbour.id)
      .and.not.include(node.id)
  })

  it('that damages a ref makes its node 503 repo_damaged, until the ref is mended', async () => {
    const head = node.git.head()
    // A round of repairs would restore an empty one from the index.
    await writeFile(join(node.git.dir, 'refs/heads/main'), 'not an id\n')
    const refused = await Promise.all([
      ann.get(node.at),
      ann.get(`${node.at}/tree/main/commits`),
      ann.post(`${node.at}/tree/main/commits`, commitOf('On nothing')),
    ])
    expect(refused.map(({ status, body }) => [status, body.code])).to.deep.equal(Array(3).fill([503, 'repo_damaged']))
    expect(Number(refused[0]?.headers['retry-after'])).to.be.greaterThan(0)
    await writeFile(join(node.git.dir, 'refs/heads/main'), `${head}\n`)
    expect((await ann.get(node.at)).body.head).to.equal(head)
  })
})
