/** Organisations where main moves by pull requests only. */

import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { bob, grove, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('with require_pull_requests', () => {
    let strict: PersonClient
    before(async () => {
      strict = await signUp(grove, 'Strict')
      await strict.patch(`/orgs/${strict.org}`, { require_pull_requests: true }).then(expecting(200))
      await strict.put(`/orgs/${strict.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
    })
    const required = {
      status: 409,
      body: {
        code: 'pull_request_required',
        detail: 'In this organisation `main` can only be changed by merging a pull request',
      },
    }

    it('main takes no commit but by the merge of a maintainer', async () => {
      const node = await newNode(grove, strict)
      const commit = { message: 'Direct', changes: [{ action: 'put', path: 'a', content: 'a' }] }
      expect(await strict.post(`${node.at}/tree/main/commits`, commit)).to.deep.equal(required)
      expect(await strict.patch(node.at, { title: 'Direct' })).to.deep.equal(required)
      const source = await node.proposal('draft')
      expect(await node.open('draft'), 'whatever the rights').to.include({ can_merge: true })
      const merge = `${node.at}/pull-requests/1/merge`
      const byEditor = await bob.post(merge)
      expect([byEditor.status, byEditor.body.code]).to.deep.equal([403, 'forbidden'])
      expect(node.git.head()).not.to.equal(source)
      await strict.post(merge).then(expecting(200))
      expect(node.git.head()).to.equal(source)
    })

    it('other branches take commits and merges of editors', async () => {
      const node = await newNode(grove, strict)
      await node.branch('shelf')
      await node.proposal('draft')
      await node.open('draft', { target_branch: 'shelf' })
      await bob.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    })

    it('main is not moved by updating it as a source', async () => {
      const node = await newNode(grove, strict)
      await node.proposal('draft')
      await node.open('main', { target_branch: 'draft' })
      expect(await strict.post(`${node.at}/pull-requests/1/update-branch`)).to.deep.equal(required)
    })
  })
})
