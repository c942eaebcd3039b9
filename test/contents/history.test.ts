/** The history of a branch through HTTP, with git log as the oracle. */

import { expect } from 'chai'
import type { TestNode } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { aNode, ann, leavesCleanRepositories, pass, time, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

  describe('history', () => {
    const idsOf = ({ body }: Answer): string[] => body.history.map((commit: { id: string }) => commit.id)
    /** The whole history, read in pages of three. */
    const paged = async ({ at }: TestNode, branch = 'main') => {
      const ids: string[] = []
      let next: string | undefined = `${at}/tree/${branch}/commits?limit=3`
      while (next !== undefined) {
        const answer: Answer = await ann.get(next)
        ids.push(...idsOf(answer))
        next = /^<(.*)>; rel="next"$/.exec(answer.headers.link ?? '')?.[1]
      }
      return ids
    }

    it('lists each commit with its fields, newest first', async () => {
      const node = await aNode()
      const root = node.git.head()
      pass(5)
      const head = await node.commit('main', { 'a.txt': 'a' }, '  Second\n\nWith a body  \n\n')
      const { status, body } = await ann.get(`${node.at}/tree/main/commits`)
      const ann_ = { node_id: node.id, author: 'Ann', author_email: 'ann@example.org' }
      expect({ status, body }).to.deep.equal({
        status: 200,
        body: {
          node_id: node.id,
          history: [
            {
              ...{ ...ann_, id: head, message: '  Second\n\nWith a body  ', parent_commits: [root] },
              created_at: new Date(time).toISOString(),
            },
            {
              ...{ ...ann_, id: root, message: 'Create node', parent_commits: [] },
              created_at: new Date(time - 5000).toISOString(),
            },
          ],
          total: 2,
          limit: 50,
          offset: 0,
        },
      })
    })

    it('is what git log shows, page by page', async () => {
      const node = await aNode()
      for (const text of ['1', '2', '3', '4', '5', '6', '7']) await node.commit('main', { 'a.txt': text })
      expect(await paged(node)).to.deep.equal(node.git.log())
      const page = await ann.get(`${node.at}/tree/main/commits?limit=3&offset=6`)
      expect(page.body).to.deep.include({ total: 8, limit: 3, offset: 6 })
      expect(idsOf(page)).to.deep.equal(node.git.log().slice(6))
      expect(page.headers.link).to.equal(undefined)
      const past = await ann.get(`${node.at}/tree/main/commits?offset=8`)
      expect(past).to.deep.equal({
        status: 200,
        body: { node_id: node.id, history: [], total: 8, limit: 50, offset: 8 },
      })
      for (const query of ['limit=0', 'limit=201', 'offset=-1', 'limit=1.5', 'limit=1&limit=2', 'page=2'])
        expect((await ann.get(`${node.at}/tree/main/commits?${query}`)).status, query).to.equal(422)
    })

    it('is in the order of git log through merges made by git, whatever the clocks', async () => {
      const node = await aNode()
      const { git } = node
      const base = 1_800_000_000
      const at = (offset: number, parents: string[], name: string) =>
        git.commit({ files: { [name]: name }, parents, at: base + offset, message: name })
      const root = git.head()
      const [a1, b1] = [at(10, [root], 'a1'), at(5, [root], 'b1')]
      const [a2, b2] = [at(1, [a1], 'a2'), at(30, [b1], 'b2')]
      const merge = at(30, [a2, b2], 'merge')
      const c1 = at(-500, [b1], 'c1')
      const octopus = at(20, [merge, c1, at(30, [root], 'd1')], 'octopus')
      git.point('main', at(21, [octopus, at(21, [merge], 'e1')], 'top'))
      expect(await paged(node)).to.deep.equal(git.log())
      await node.commit('main', { 'after.txt': 'after' })
      expect(await paged(node)).to.deep.equal(git.log())
      expect((await ann.get(`${node.at}/tree/main/commits`)).body.total).to.equal(
        Number(git.say('rev-list', '--count', 'main')),
      )
    })

    it('says who wrote, when it was committed, and nothing of an empty e-mail address', async () => {
      const node = await aNode()
      const { git } = node
      const lines = [`tree ${git.say('rev-parse', 'main^{tree}')}`, `parent ${git.head()}`]
      lines.push('author Änn Writer <> 1600000000 +0200', 'committer Committer <c@example.org> 1700000000 -0500')
      const commit = `${lines.join('\n')}\n\nSubject\n\nTwo lines at the end\n\n`
      const head = git.run(['hash-object', '-w', '-t', 'commit', '--stdin'], { input: commit }).toString().trim()
      git.point('main', head)
      expect((await ann.get(`${node.at}/tree/main/commits?limit=1`)).body.history).to.deep.equal([
        {
          id: head,
          node_id: node.id,
          message: 'Subject\n\nTwo lines at the end\n',
          author: 'Änn Writer',
          author_email: null,
          created_at: '2023-11-14T22:13:20.000Z',
          parent_commits: git.say('log', '-1', '--format=%P', head).split(' '),
        },
      ])
    })

    it('of main is empty for a node without a commit; other branches are 404', async () => {
      const { id, at } = await aNode({ initialize: false })
      expect(await ann.get(`${at}/tree/main/commits`)).to.deep.equal({
        status: 200,
        body: { node_id: id, history: [], total: 0, limit: 50, offset: 0 },
      })
      expect((await ann.get(`${at}/tree/other/commits`)).body.code).to.equal('branch_not_found')
    })
  })

  describe('all of this', leavesCleanRepositories)
})
