/** Tokens that propose: which names are branches for agents, and proposals that appear while a change is checked. */

import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { parseBranchName } from '../../gitstore/names.ts'
import { flush } from '../../gitstore/transfer/pkt-line.ts'
import { authorizeNode } from '../../server/domain/access.ts'
import type { Person } from '../../server/domain/actor.ts'
import { commitToBranch } from '../../server/domain/branches/branch-commits.ts'
import { applyRefUpdates } from '../../server/domain/branches/ref-updates.ts'
import { branchRef } from '../../server/domain/layout.ts'
import { made } from '../support/cast.ts'
import { askGit } from '../support/git-requests.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Client, client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('a token that proposes', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'editor' })
  let secret: string
  let agent: Client

  before(async () => {
    secret = (await made(bob.post('/auth/tokens', { name: 'Agent', access: 'propose' }))).token
    agent = client(grove, secret)
  })

  const branches = ({ git }: TestNode) => git.lines('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads')

  it.deep('creates the branches that git allows below agent/, and no other, over REST and by a push', async () => {
    const [asked, pushed] = [await newNode(grove, ann), await newNode(grove, ann)]
    const empty = pushed.git.run(['pack-objects', '--stdout', '-q'])
    const push = async (name: string) => {
      const line = `${'0'.repeat(40)} ${pushed.git.head()} refs/heads/${name}\0 report-status`
      const { status, body } = await askGit(grove, pushed, [line, flush, empty], {
        ...{ service: 'git-receive-pack', token: secret },
      })
      return status === 200 && body.toString().includes('ok refs/heads/')
    }
    const root = fc.constantFrom(
      ...['agent/', 'agent/', 'agent/', 'agent', 'agentx/', 'Agent/', 'AGENT/', '/agent/', 'agent//', 'xagent/'],
      ...['refs/heads/agent/', 'heads/agent/', 'x/agent/', 'agent/../', 'agent/./', 'agent\\', 'agent%2F', ''],
      ...['agent\u200b/', '\u0430gent/', 'agent\uff0f', 'users/agent/'],
    )
    const part = fc.oneof(fc.stringMatching(/^[a-z]{2,5}$/), fc.constantFrom('main', '..', 'a.lock', '@{', ' ', 'é'))
    const name = fc.tuple(root, fc.array(part, { maxLength: 2 })).map(([first, parts]) => first + parts.join('/'))
    for (const one of ['agent/first', ...fc.sample(name, 60)].filter((text) => text !== '')) {
      const isInTheWay = branches(asked).some(
        (other) => other === one || other.startsWith(`${one}/`) || one.startsWith(`${other}/`),
      )
      const isValid = spawnSync('git', ['check-ref-format', branchRef(one)]).status === 0
      const expected = one.startsWith('agent/') && isValid && !isInTheWay
      const { status, body } = await agent.post(`${asked.at}/branches`, { name: one })
      expect(status === 201, `REST: ${JSON.stringify(one)}`).to.equal(expected)
      expect(body.code === 'token_scope', one).to.equal(!one.startsWith('agent/'))
      expect(await push(one), `push: ${JSON.stringify(one)}`).to.equal(expected)
      expect(branches(pushed)).to.deep.equal(branches(asked))
    }
    expect(branches(asked)).to.include('agent/first')
  })

  it('is judged under the locks: a proposal that another user opens meanwhile holds its branch', async () => {
    const node = await newNode(grove, ann)
    const head = await node.proposal('agent/songs')
    const at = { org_id: node.org, node_id: node.id }
    const actor: Person = {
      ...{ kind: 'person', id: bob.user.id, email: 'bob@example.org', name: 'Bob', isAdmin: false, access: 'propose' },
    }
    const access = await authorizeNode({ ...grove.deps, actor }, at, { ref: branchRef('agent/songs') })
    await node.open('agent/songs')
    const name = parseBranchName('agent/songs')
    if (name === undefined) throw new Error('Not a name')
    const commit = commitToBranch({ ...grove.deps, actor }, access, {
      ...{ branch: name, message: 'Late', addsParents: false, locate: () => ['body'] },
      build: () => Promise.reject(new Error('The content was built')),
    })
    const refusal = await commit.then(
      () => 'none',
      (error: Error) => error.message,
    )
    expect(refusal).to.equal('Pull request 1 of another user is open; this token cannot change its branch')
    const move = [{ ref: branchRef('agent/songs'), from: head, to: null }]
    const { refused } = await applyRefUpdates({ ...grove.deps, actor }, access, move, 'all or none')
    expect([...refused.keys()]).to.deep.equal([branchRef('agent/songs')])
    expect(node.git.head('agent/songs')).to.equal(head)
  })

  it('changes and deletes nothing that others propose, over REST', async () => {
    const node = await newNode(grove, ann)
    await node.proposal('agent/songs')
    await node.open('agent/songs')
    const tree = `${node.at}/tree/agent%2Fsongs/commits`
    const body = { message: 'X', changes: [{ action: 'put', path: 'x.md', content: 'x' }] }
    const refusals = [
      await agent.post(tree, body),
      await agent.delete(`${node.at}/branches/agent%2Fsongs`),
      await agent.post(`${node.at}/pull-requests`, { source_branch: 'main', target_branch: 'agent/songs', title: 'X' }),
      await agent.patch(`${node.at}/pull-requests/1`, { status: 'closed' }),
      await agent.post(`${node.at}/pull-requests/1/merge`, {}),
    ]
    for (const { status, body } of refusals)
      expect({ status, ...body }).to.include({ status: 403, code: 'token_scope', token_access: 'propose' })
    expect(await node.pull(1)).to.include({ status: 'open' })
    await made(ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' }))
    await made(agent.post(tree, body))
    expect((await agent.delete(`${node.at}/branches/agent%2Fsongs`)).status).to.equal(204)
  })
})
