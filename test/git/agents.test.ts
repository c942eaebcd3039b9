/** Pushes with a token that proposes: branches for agents move, and every other ref is refused. */

import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { made, prefixOf } from '../support/cast.ts'
import { filesBelow } from '../support/data-folder.ts'
import { remoteUrl } from '../support/desk.ts'
import { askGit } from '../support/git-requests.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { ann, desk, grove, useScene } from './scene.ts'

describe('git: a token that proposes', () => {
  useScene()

  let bob: PersonClient
  let secret: string
  let node: TestNode
  let clone = 0

  before(async () => {
    bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }))
    secret = await tokenOf(bob)
  })
  beforeEach(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    clone++
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, secret)} ${clone}`)
  })
  afterEach(() => node.git.fsck())

  const tokenOf = async (person: PersonClient, access = 'propose') =>
    (await made(person.post('/auth/tokens', { name: 'Agent', access }))).token as string
  const work = (script: string) =>
    desk.sh(`cd ${clone}; change() { echo $RANDOM >> x; git add x; git commit -q -m X; }; ${script}`)
  const refs = () => node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags')
  const propose = async (branch: string, by = bob) =>
    (await made(by.post(`${node.at}/pull-requests`, { source_branch: branch, title: 'Songs' }))).pr.number as number
  const elsewhere = (prefix = 'agent/') =>
    `(This token can change only branches below ${prefix}; make the change there and open a pull request)`

  it.deep('pushes, forces and deletes branches for agents', async () => {
    const { code, text } = await work('change; git push origin HEAD:refs/heads/agent/songs HEAD:refs/heads/agent/a/b')
    expect(code, text).to.equal(0)
    const number = await propose('agent/songs')
    const other = `git commit -q --amend -m Other; git push -f origin HEAD:agent/songs`
    expect((await work(other)).code).to.equal(0)
    expect((await node.pull(number)).source_commit).to.equal(node.git.head('agent/songs'))
    expect((await work('git push origin :agent/a/b')).code).to.equal(0)
    expect(refs()).to.deep.equal(['refs/heads/agent/songs', 'refs/heads/main'])
  })

  it.deep('is refused each other ref of a push, which says where to push instead', async () => {
    for (const name of ['feature', 'old', 'Agent/x', 'agentx/y']) await node.branch(name)
    const before = refs()
    const heads = [
      'HEAD:main',
      'HEAD:feature',
      ':old',
      'HEAD:Agent/x',
      'HEAD:agentx/y',
      `HEAD:refs/heads/${prefixOf(bob)}x`,
    ]
    const { code, text } = await work(
      `change; git tag v1; git tag agent/v1; git push -f origin ${heads.join(' ')} HEAD:refs/heads/agent/songs v1 refs/tags/agent/v1`,
    )
    expect(code).to.equal(1)
    const rejected = text.split('\n').filter((line) => line.includes('[remote rejected]'))
    expect(rejected).to.have.length(8)
    for (const line of rejected) expect(line.endsWith(elsewhere()), line).to.equal(true)
    expect(refs()).to.deep.equal(['refs/heads/agent/songs', ...before].sort())
    expect(
      (await work('git push --atomic origin HEAD:agent/songs HEAD:refs/heads/agent/more HEAD:main')).code,
    ).to.equal(1)
    expect(refs()).to.not.include('refs/heads/agent/more')
  })

  it('sends no objects if each ref is refused', async () => {
    const before = await filesBelow(`${node.git.dir}/objects`)
    expect((await work('change; git push origin HEAD:main HEAD:refs/heads/agent')).code).to.equal(1)
    expect(await filesBelow(`${node.git.dir}/objects`)).to.deep.equal(before)
  })

  it.deep('does not move a branch from which another user proposes, nor delete one of an open proposal', async () => {
    for (const name of ['agent/anns', 'agent/own', 'agent/into']) await node.proposal(name)
    await propose('agent/anns', ann)
    await propose('agent/own')
    await node.proposal('offered')
    const into = await node.open('offered', { target_branch: 'agent/into' })
    await desk.done(`cd ${clone}; git fetch -q`)
    const before = refs().map((ref) => node.git.say('rev-parse', ref))
    const { code, text } = await work(
      'change; git push -f origin HEAD:agent/anns :agent/own :agent/into HEAD:refs/heads/agent/free',
    )
    expect(code).to.equal(1)
    for (const line of [
      'agent/anns (Pull request 1 of another user is open; this token cannot change its branch)',
      'agent/own (Pull request 2 is open; this token cannot delete its branch)',
      'agent/into (Pull request 3 of another user is open; this token cannot delete its branch)',
    ])
      expect(text).to.include(line)
    expect(
      refs()
        .filter((ref) => !ref.endsWith('free'))
        .map((ref) => node.git.say('rev-parse', ref)),
    ).to.deep.equal(before)
    // Its own proposal moves.
    expect((await work('git push -f origin HEAD:agent/own')).code).to.equal(0)
    expect(await node.pull(into.number)).to.include({ status: 'open', target_branch: 'agent/into' })
    await made(bob.patch(`${node.at}/pull-requests/2`, { status: 'closed' }))
    expect((await work('git push origin :agent/own')).code).to.equal(0)
  })

  it.deep('merges nothing, also into a branch for agents', async () => {
    await work('git push -q origin HEAD:refs/heads/agent/into')
    await node.proposal('offered')
    const { number } = await node.open('offered', { target_branch: 'agent/into' })
    const head = node.git.head('agent/into')
    const { code, text } = await work(
      'git fetch -q; git push origin origin/offered:agent/into origin/offered:refs/heads/agent/other',
    )
    expect(code).to.equal(1)
    expect(text).to.include(`agent/into (This would merge pull request ${number}; this token cannot merge)`)
    expect(node.git.head('agent/into')).to.equal(head)
    expect(refs()).to.include('refs/heads/agent/other')
    expect(await node.pull(number)).to.include({ status: 'open', can_merge: true })
    expect((await work('change; git push origin HEAD:agent/into')).code).to.equal(0)
  })

  it.deep('of a contributor pushes below their own prefix', async () => {
    const cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'contributor' }))
    const own = `${prefixOf(cy)}agent/`
    const cys = await tokenOf(cy)
    const url = remoteUrl(grove, node.org, node.id, cys)
    expect((await work(`change; git push ${url} HEAD:refs/heads/${own}songs`)).code).to.equal(0)
    const { code, text } = await work(
      `git push ${url} HEAD:refs/heads/${prefixOf(cy)}songs HEAD:refs/heads/agent/songs`,
    )
    expect(code).to.equal(1)
    expect(text.split(`below ${own}; make the change there`)).to.have.length(3)
    expect(await made(client(grove, cys).get(`/orgs/${ann.org}`))).to.include({
      role: 'contributor',
      branch_prefix: own,
    })
    expect(refs()).to.deep.equal(['refs/heads/main', `refs/heads/${own}songs`])
  })

  it.deep('is judged again when the pack has arrived, by the proposals of then', async () => {
    await node.proposal('agent/songs')
    const head = node.git.head('agent/songs')
    const empty = node.git.run(['pack-objects', '--stdout', '-q'])
    let rest: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        rest = controller
      },
    })
    const line = `${head} ${node.git.head()} refs/heads/agent/songs\0 report-status`
    rest?.enqueue(Buffer.concat([pktLine(line), flush]))
    const answer = fetch(`${grove.url}/git/${node.org}/${node.id}.git/git-receive-pack`, {
      ...{ method: 'POST', body, duplex: 'half' },
      headers: { 'content-type': 'application/x-git-receive-pack-request', authorization: `Bearer ${secret}` },
    } as RequestInit)
    await propose('agent/songs', ann)
    rest?.enqueue(empty)
    rest?.close()
    expect(await (await answer).text()).to.include('Pull request 1 of another user is open')
    expect(node.git.head('agent/songs')).to.equal(head)
    // The token itself may do more for its own branches.
    const own = [`${'0'.repeat(40)} ${head} refs/heads/agent/own\0 report-status`, flush, empty]
    const service = 'git-receive-pack'
    expect((await askGit(grove, node, own, { service, token: secret })).body.toString()).to.include(
      'ok refs/heads/agent/own',
    )
  })
})
