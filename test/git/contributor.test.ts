/** Pushes of a contributor: branches of their own move, and every other ref is refused. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { prefixOf } from '../support/cast.ts'
import { filesBelow } from '../support/data-folder.ts'
import { openService, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, desk, grove, useScene } from './scene.ts'

describe('git: a contributor', () => {
  useScene()

  let cy: PersonClient
  let node: TestNode
  let own: string
  let clone = 0

  const become = (person: PersonClient, role: string) =>
    ann.put(`/orgs/${ann.org}/members/${person.user.email}`, { role }).then(expecting(200))

  before(async () => {
    cy = await signUp(grove, 'Cy')
    own = prefixOf(cy)
  })
  beforeEach(async () => {
    await become(cy, 'contributor')
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    clone++
    await desk.done(`git clone -q ${url()} ${clone}`)
  })
  afterEach(() => node.git.fsck())

  const url = (token = cy.session.accessToken) => remoteUrl(grove, node.org, node.id, token)
  const work = (script: string) =>
    desk.sh(`cd ${clone}; change() { echo $RANDOM >> x; git add x; git commit -q -m X; }; ${script}`)
  const refs = () => node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags')
  const elsewhere = () =>
    `(Contributors can change only branches below ${own}; make the change there and open a pull request)`

  it.deep('pushes, forces and deletes branches of their own, and proposes them', async () => {
    const { code, text } = await work(`change; git push origin HEAD:${own}songs HEAD:${own}a/b`)
    expect(code, text).to.equal(0)
    const body = { source_branch: `${own}songs`, title: 'Songs' }
    const { number } = (await cy.post(`${node.at}/pull-requests`, body).then(expecting(201))).body.pr
    expect((await work(`git commit -q --amend -m Other; git push -f origin HEAD:${own}songs`)).code).to.equal(0)
    expect((await node.pull(number)).source_commit).to.equal(node.git.head(`${own}songs`))
    expect((await work(`git push origin :${own}songs :${own}a/b`)).text).to.include(`Pull request ${number} is closed`)
    expect(refs()).to.deep.equal(['refs/heads/main'])
  })

  it('is refused each other ref of a push, which says where to push instead', async () => {
    await node.branch('feature')
    await node.branch('old')
    const main = node.git.head()
    const { code, text } = await work(
      `change; git tag v1; git push -f origin HEAD:main HEAD:feature :old HEAD:${own}songs HEAD:users/new/x v1`,
    )
    expect(code).to.equal(1)
    const rejected = text.split('\n').filter((line) => line.includes('[remote rejected]'))
    for (const line of rejected) expect(line.endsWith(elsewhere()), line).to.equal(true)
    const names = rejected.map((line) => /(\S+) \(Contributors/.exec(line)?.[1])
    expect(names.sort()).to.deep.equal(['feature', 'main', 'old', 'users/new/x', 'v1'])
    expect(text).to.include(`-> ${own}songs`)
    expect(refs()).to.deep.equal(['refs/heads/feature', 'refs/heads/main', 'refs/heads/old', `refs/heads/${own}songs`])
    expect([node.git.head(), node.git.head('feature')]).to.deep.equal([main, main])
  })

  it('moves nothing with an atomic push that has another ref', async () => {
    const { code, text } = await work(`change; git push --atomic origin HEAD:${own}songs HEAD:feature`)
    expect(code).to.equal(1)
    expect(text).to.include(elsewhere())
    expect(text).to.match(/songs \(refs\/heads\/feature was refused, and the push is atomic\)/)
    expect(refs()).to.deep.equal(['refs/heads/main'])
  })

  it('whose whole push is refused sends no objects', async () => {
    const before = await filesBelow(`${node.git.dir}/objects`)
    const id = own.slice(0, -1)
    const { code, text } = await work(`change; git push origin HEAD:${id} HEAD:${id}x/y HEAD:refs/tags/v1`)
    expect(code).to.equal(1)
    expect(text.split(elsewhere())).to.have.length(4)
    expect(await filesBelow(`${node.git.dir}/objects`)).to.deep.equal(before)
  })

  it.deep('merges no proposal into a branch of others', async () => {
    await work(`change; git push -q origin HEAD:${own}songs`)
    const { number } = await node.open(`${own}songs`)
    expect((await work('git push origin HEAD:main')).text).to.include(elsewhere())
    expect(await node.pull(number)).to.include({ status: 'open', can_merge: true })
    // Nor by way of a proposal whose target is gone, which leads to main then.
    await work(`git push -q origin HEAD~:refs/heads/${own}into`)
    const second = await node.open(`${own}songs`, { target_branch: `${own}into` })
    await work(`git push -q origin :${own}into`)
    expect(await node.pull(second.number)).to.include({ status: 'closed' })
    expect(await node.pull(number)).to.include({ status: 'open' })
  })

  it.deep('may take a proposal into a branch of their own, as every push may', async () => {
    await work(`git push -q origin HEAD:${own}songs`)
    const offered = await node.proposal('offered')
    const { number } = await node.open('offered', { target_branch: `${own}songs` })
    const { code, text } = await work(`git fetch -q; git push origin origin/offered:refs/heads/${own}songs`)
    expect(code, text).to.equal(0)
    expect(text).to.include(`Pull request ${number} is merged`)
    expect(node.git.head(`${own}songs`)).to.equal(offered)
    expect(await node.pull(number)).to.include({ status: 'merged', merged_by: 'Cy' })
  })

  it.deep('pushes with personal access tokens that may write, also of one node', async () => {
    for (const bounds of [{}, { org_id: node.org, node_id: node.id }]) {
      const body = { name: 'Laptop', access: 'write', ...bounds }
      const { token } = (await cy.post('/auth/tokens', body).then(expecting(201))).body
      expect((await work(`change; git push ${url(token)} HEAD:${own}songs`)).code).to.equal(0)
      expect((await work(`git push ${url(token)} HEAD:feature`)).text).to.include(elsewhere())
    }
  })

  describe('whose role changes while the pack of a push arrives', () => {
    /** Sends a push of two new branches, whose pack ends once the person has another role. Returns git's report. */
    async function pushAs(first: string, then: string): Promise<string> {
      // The git of the push before may still end, and is not the one that is awaited below.
      await until(async () => (await workingIn(grove.dataDir)).length === 0)
      await become(cy, first)
      const oid = node.git.commit({ files: { 'x.txt': 'x' } })
      const pack = node.git.run(['pack-objects', '--stdout', '-q', '--revs'], { input: oid })
      const zero = '0'.repeat(40)
      const sending = openService(grove, node, cy.session.accessToken, 'git-receive-pack')
      const answered = once(sending, 'response') as Promise<[IncomingMessage]>
      const commands = [
        pktLine(`${zero} ${oid} refs/heads/feature\0 report-status`),
        pktLine(`${zero} ${oid} refs/heads/${own}songs`),
      ]
      sending.write(Buffer.concat([...commands, flush, pack.subarray(0, -10)]))
      await until(async () => (await workingIn(grove.dataDir)).length > 0)
      await become(cy, then)
      sending.end(pack.subarray(-10))
      const [response] = await answered
      return text(response)
    }

    it.deep('moves only their own branches if they are no longer an editor', async () => {
      const report = await pushAs('editor', 'contributor')
      expect(report).to.include(`ok refs/heads/${own}songs`)
      expect(report).to.include(`ng refs/heads/feature ${elsewhere().slice(1, -1)}`)
      expect(refs()).to.deep.equal(['refs/heads/main', `refs/heads/${own}songs`])
    })

    it.deep('moves all if they are an editor by then, and nothing if they are a reader', async () => {
      expect(await pushAs('contributor', 'reader')).to.match(/ng refs\/heads\/feature You need.*\n.*ng refs/)
      expect(refs()).to.deep.equal(['refs/heads/main'])
      expect(await pushAs('contributor', 'editor')).to.match(/ok refs\/heads\/feature\n.*ok refs/)
      expect(refs()).to.have.length(3)
    })
  })
})
