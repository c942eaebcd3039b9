/** Lists of pull requests, their commits and their changes. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { aNode, ann, aProposal, leavesCleanRepositories, pass, useScene } from './scene.ts'

describe('pull requests', () => {
  useScene()

  describe('lists', () => {
    it('filter by status, newest first, page by page', async () => {
      const node = await aNode()
      const { git } = node
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        git.point(name, git.commit({ files: { [name]: name }, parents: [git.head()] }))
        await node.open(name)
      }
      await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
      await ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
      const list = async (query = '') => {
        const { status, body, headers } = await ann.get(`${node.at}/pull-requests${query}`)
        const { pull_requests, ...page } = body
        return {
          status,
          numbers: pull_requests?.map((pr: { number: number }) => pr.number),
          ...page,
          link: headers.link,
        }
      }
      const page = { status: 200, limit: 50, offset: 0, link: undefined }
      expect(await list()).to.deep.equal({ ...page, numbers: [5, 4, 3], total: 3 })
      expect(await list('?status=open')).to.deep.equal({ ...page, numbers: [5, 4, 3], total: 3 })
      expect(await list('?status=merged')).to.deep.equal({ ...page, numbers: [1], total: 1 })
      expect(await list('?status=closed')).to.deep.equal({ ...page, numbers: [2], total: 1 })
      expect(await list('?status=all&limit=2&offset=1')).to.deep.equal({
        ...{ status: 200, limit: 2, offset: 1, numbers: [4, 3], total: 5 },
        link: `<${node.at}/pull-requests?status=all&limit=2&offset=3>; rel="next"`,
      })
      expect(await list('?status=all&limit=2&offset=3')).to.deep.equal({
        ...page,
        limit: 2,
        offset: 3,
        numbers: [2, 1],
        total: 5,
      })
      expect(await list('?offset=99')).to.deep.equal({ ...page, offset: 99, numbers: [], total: 3 })
      for (const query of ['?status=draft', '?limit=0', '?limit=201', '?offset=-1', '?sort=asc'])
        expect((await list(query)).status, query).to.equal(422)
    })

    it('the commits of a request as git log lists them', async () => {
      const { node, path } = await aProposal()
      for (const text of ['2', '3']) {
        pass(1)
        await node.commit('draft', { 'draft.txt': text })
      }
      const side = node.git.commit({ files: { 'side.txt': 'side' }, parents: [node.git.head()] })
      const merge = node.git.commit({ files: { 'side.txt': 'side' }, parents: [node.git.head('draft'), side] })
      node.git.point('draft', merge)
      await node.commit('main', { 'main.txt': 'main' })
      const ids = node.git.lines('log', '--format=%H', 'main..draft')
      const { body, headers } = await ann.get(`${path}/commits?limit=2`)
      expect(body).to.deep.include({ total: 5, limit: 2, offset: 0 })
      expect(headers.link).to.equal(`<${path}/commits?limit=2&offset=2>; rel="next"`)
      const rest = (await ann.get(`${path}/commits?offset=2`)).body.commits
      expect([...body.commits, ...rest].map((commit: { id: string }) => commit.id)).to.deep.equal(ids)
      expect(body.commits[0]).to.deep.equal({
        id: merge,
        node_id: node.id,
        message: 'By hand',
        author: 'Operator',
        author_email: 'operator@example.org',
        created_at: '2023-11-14T22:13:20.000Z',
        parent_commits: node.git.say('log', '-1', '--format=%P', merge).split(' '),
      })
    })

    it('the changes since the branches parted, not those of the target', async () => {
      const { node, path, source, target } = await aProposal()
      await node.commit('main', { 'main.txt': 'main' })
      const blob = node.git.say('rev-parse', 'draft:draft.txt')
      expect(await ann.get(`${path}/changes`)).to.deep.equal({
        status: 200,
        body: {
          node_id: node.id,
          base_commit_id: target,
          target_commit_id: source,
          added: [
            {
              entity_type: 'file',
              entity_id: 'draft.txt',
              entity_key: 'draft.txt',
              object_id: blob,
              old_object_id: null,
              new_object_id: null,
            },
          ],
          removed: [],
          modified: [],
        },
      })
    })

    it('everything as added if source and target have nothing in common', async () => {
      const { node } = await aProposal()
      node.git.point('alien', node.git.commit({ files: { 'alien.txt': 'alien' } }))
      expect(await node.open('alien')).to.include({ merge_reason: 'diverged', commits_ahead: 1, commits_behind: 1 })
      const { body } = await ann.get(`${node.at}/pull-requests/2/changes`)
      expect(body.base_commit_id).to.equal(null)
      expect(body.added.map((one: { entity_key: string }) => one.entity_key)).to.deep.equal(['alien.txt'])
    })
  })

  describe('all of this', leavesCleanRepositories)
})
