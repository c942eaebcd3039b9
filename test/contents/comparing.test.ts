/** The differences of two branches, tags or commits. The oracles are git merge-base and git diff-tree. */

import { expect } from 'chai'
import type { TestNode } from '../support/node.ts'
import { aNode, ann, changesByGit, leavesCleanRepositories, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

  describe('comparing', () => {
    const compare = async ({ at }: TestNode, base: string, head: string) =>
      ann.get(`${at}/compare?base=${encodeURIComponent(base)}&head=${encodeURIComponent(head)}`)
    /** The comparison of two names by Git. */
    const byGit = ({ git }: TestNode, base: string, head: string) => {
      const only = (from: string, to: string) => git.lines('rev-list', `${from}..${to}`).length
      return {
        base_commit: git.say('rev-parse', `${base}^{commit}`),
        head_commit: git.say('rev-parse', `${head}^{commit}`),
        merge_base: git.say('merge-base', base, head),
        commits_ahead: only(base, head),
        commits_behind: only(head, base),
      }
    }

    it('returns the merge base, the number of commits on each side, and the changes of the head since', async () => {
      const node = await aNode()
      await node.branch('feature/x')
      const head = await node.commit('feature/x', { 'x.txt': 'x', 'node.json': '{"title": "X"}' })
      await node.commit('main', { 'main.txt': 'main' })
      const fork = node.git.say('merge-base', 'main', 'feature/x')
      expect(await compare(node, 'main', 'feature/x')).to.deep.equal({
        status: 200,
        body: {
          node_id: node.id,
          base: 'main',
          head: 'feature/x',
          ...byGit(node, 'main', 'feature/x'),
          changes: changesByGit(node, head, fork),
        },
      })
    })

    it.deep('agrees with git in either direction, by branch, tag and id, through merges', async () => {
      const node = await aNode()
      const { git } = node
      const root = git.head()
      const hand = (name: string, parents: string[], at = 1_800_000_000) =>
        git.commit({ files: { [name]: name }, parents, at })
      const [a, b] = [hand('a', [root]), hand('b', [root], 1_700_000_000)]
      git.point('main', hand('m', [a, b]))
      git.point('side', hand('s', [hand('c', [b]), root], 1_900_000_000))
      git.say('tag', 'light', a)
      git.say('tag', '-a', '-m', 'Annotated', 'annotated', 'side')
      const names = ['main', 'side', 'light', 'annotated', root, b]
      for (const base of names)
        for (const head of names)
          expect((await compare(node, base, head)).body, `${base}...${head}`).to.deep.include(byGit(node, base, head))
    })

    it('takes the first of several merge bases, as git does', async () => {
      const node = await aNode()
      const { git } = node
      const root = git.head()
      const [a, b] = [
        git.commit({ files: { a: 'a' }, parents: [root] }),
        git.commit({ files: { b: 'b' }, parents: [root] }),
      ]
      git.point('one', git.commit({ files: { b: 'b', one: 'one' }, parents: [a, b] }))
      git.point('two', git.commit({ files: { a: 'a', two: 'two' }, parents: [b, a] }))
      const { body } = await compare(node, 'one', 'two')
      expect(body.merge_base).to.equal(git.say('merge-base', 'one', 'two'))
      expect(body.changes).to.deep.equal(changesByGit(node, git.head('two'), body.merge_base))
    })

    it('returns everything as added if there is nothing in common', async () => {
      const node = await aNode()
      const alien = node.git.commit({ files: { alien: 'alien' } })
      node.git.point('alien', alien)
      const { body } = await compare(node, 'main', 'alien')
      expect(body).to.deep.include({ merge_base: null, commits_ahead: 1, commits_behind: 1 })
      expect(body.changes).to.deep.equal(changesByGit(node, alien, null))
    })

    it.deep('leads from the base itself if asked, in either direction and without a common ancestor', async () => {
      const node = await aNode()
      await node.branch('feature/x')
      await node.commit('feature/x', { 'x.txt': 'x', 'node.json': '{"title": "X"}' })
      await node.commit('main', { 'main.txt': 'main' })
      node.git.point('alien', node.git.commit({ files: { alien: 'alien' } }))
      const names = ['main', 'feature/x', 'alien', node.git.say('rev-parse', 'main~1')]
      for (const base of names)
        for (const head of names) {
          const of = `base=${encodeURIComponent(base)}&head=${encodeURIComponent(head)}`
          const [from, to] = [base, head].map((name) => node.git.say('rev-parse', `${name}^{commit}`))
          const { body } = await ann.get(`${node.at}/compare?${of}&direct=true`)
          expect(body.changes, `${base}..${head}`).to.deep.equal(changesByGit(node, to ?? '', from))
          const { changes: _, ...indirect } = (await ann.get(`${node.at}/compare?${of}&direct=false`)).body
          expect(body).to.deep.include(indirect)
        }
      const { status, body } = await ann.get(`${node.at}/compare?base=main&head=main&direct=yes`)
      expect([status, body.detail[0].loc]).to.deep.equal([422, ['query', 'direct']])
    })

    it('of a branch with itself is nothing', async () => {
      const node = await aNode()
      const { body } = await compare(node, 'main', 'main')
      expect(body).to.deep.include({ merge_base: node.git.head(), commits_ahead: 0, commits_behind: 0 })
      expect(body.changes).to.deep.include({ added: [], removed: [], modified: [] })
    })

    it('is 404 for what names nothing here, 422 for what is left out', async () => {
      const node = await aNode()
      const other = await aNode()
      const unreachable = node.git.commit({ files: { a: 'a' } })
      const foreign = await other.commit('main', { 'other.txt': 'other' })
      for (const name of ['nope', 'f'.repeat(40), unreachable, foreign, 'main~0', '-x', 'refs/heads/main', '..', 'a\0'])
        for (const [base, head] of [
          [name, 'main'],
          ['main', name],
        ] as const)
          expect((await compare(node, base, head)).body, name).to.deep.equal({
            code: 'branch_not_found',
            detail: `There is no branch, tag or commit ${name}`,
          })
      const refused = async (query: string) => {
        const { status, body } = await ann.get(`${node.at}/compare${query}`)
        return [status, ...body.detail.map((one: { loc: string[]; type: string }) => [one.loc[1], one.type])]
      }
      expect(await refused('?base=main')).to.deep.equal([422, ['head', 'missing']])
      expect(await refused('?base=&head=main')).to.deep.equal([422, ['base', 'string_too_short']])
      expect(await refused(`?base=main&head=${'x'.repeat(201)}`)).to.deep.equal([422, ['head', 'string_too_long']])
    })
  })

  describe('all of this', leavesCleanRepositories)
})
