/** Nodes with as many branches as they may have. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

describe('a node with 10,000 branches', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    desk = await newDesk()
    node = await newNode(grove, ann)
    node.git.loosen()
    const head = node.git.head()
    const names = Array.from({ length: 9_998 }, (_, n) => `refs/heads/b${String(n).padStart(5, '0')}`)
    const lines = [...names, 'refs/heads/main'].map((name) => `${head} ${name}\n`)
    writeFileSync(join(node.git.dir, 'packed-refs'), `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`)
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })

  const count = async () => (await ann.get(`${node.at}/branches?limit=1`)).body.total

  it('has room for the last one, and refuses another with a sentence', async () => {
    await node.branch('last')
    expect(await ann.post(`${node.at}/branches`, { name: 'another' })).to.deep.equal({
      status: 409,
      body: {
        code: 'too_many_branches',
        detail: 'The node has 10000 branches, which is the limit; delete some first',
      },
    })
    expect(await count()).to.equal(10_000)
  })

  it('refuses a push of a new branch alone; what moves continues', async () => {
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    const { code, text } = await desk.sh(
      `git clone -q --single-branch $REMOTE whales; cd whales; echo more > more.txt; git add .; git commit -q -m More
      git push -q origin HEAD:main HEAD:last HEAD:another HEAD:refs/tags/v1`,
      { REMOTE },
    )
    expect(code, text).to.equal(1)
    expect(text).to.include(
      ' ! [remote rejected] HEAD -> another (the node has 10000 branches, which is the limit; delete some first)\n',
    )
    expect(text.match(/rejected/g)).to.have.length(1)
    expect(node.git.head('last')).to.equal(node.git.head())
    expect(node.git.lines('tag')).to.deep.equal(['v1'])
    expect(await count()).to.equal(10_000)
  })

  it('takes a new one for one that is deleted', async () => {
    await ann.delete(`${node.at}/branches/b00000`).then(expecting(204))
    await node.branch('another')
    expect(await count()).to.equal(10_000)
  })
})
