/** The ledger of a node as git reads it. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, aProposal, bob, grove, nodes, now, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('the ledger', () => {
    it('tells each event as a commit that git reads', async () => {
      const { node, pr, path, source, target } = await aProposal()
      await bob.patch(path, { title: 'Better' }).then(expecting(200))
      await ann.patch(path, { status: 'closed' }).then(expecting(200))
      await ann.patch(path, { status: 'open' }).then(expecting(200))
      pass(10)
      await bob.post(`${path}/merge`).then(expecting(200))
      expect(node.git.lines('log', '--format=%an <%ae> %s', 'refs/grove/ledger')).to.deep.equal([
        'Bob <bob@example.org> merge 1',
        'Ann <ann@example.org> reopen 1',
        'Ann <ann@example.org> close 1',
        'Bob <bob@example.org> edit 1',
        'Ann <ann@example.org> open 1',
        'Ann <ann@example.org> create',
      ])
      const show = (path: string) => JSON.parse(node.git.say('show', `refs/grove/ledger:${path}`))
      expect(show('node.json')).to.deep.include({ id: node.id, org_id: node.org, title: 'Whales' })
      expect(show('last')).to.equal(1)
      const merged = { by: { name: 'Bob', email: 'bob@example.org' }, at: now() }
      expect(show('pulls/0/0/1.json')).to.deep.equal({
        id: pr.id,
        number: 1,
        title: 'Better',
        description: '',
        source_branch: 'draft',
        target_branch: 'main',
        status: 'merged',
        is_draft: false,
        author: { name: 'Ann', email: 'ann@example.org' },
        author_id: ann.user.id,
        created_at: pr.created_at,
        ...merged,
        ended: merged,
        source_commit: source,
        target_before: target,
        commits_ahead: 1,
        commits_behind: 0,
      })
    })

    it('is not for those who may only read what is published', async () => {
      const { node } = await aProposal()
      expect((await client(grove).get(`${node.at}/pull-requests/1`)).status).to.equal(401)
    })

    it('and all else that these tests have done is clean in the eyes of git fsck', () => {
      expect(nodes).to.not.have.length(0)
      for (const node of nodes) node.git.fsck()
    })
  })
})
