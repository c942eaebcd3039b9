/** One commit of a branch through HTTP, with git diff-tree as the oracle. */

import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { TestNode } from '../support/node.ts'
import { aNode, ann, changesByGit, leavesCleanRepositories, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

  describe('a commit', () => {
    const read = async ({ at }: TestNode, id: string, branch = 'main') => ann.get(`${at}/tree/${branch}/commits/${id}`)

    it('has the fields of the history and the changes against its first parent', async () => {
      const node = await aNode({ text_content: 'one' })
      const head = await node.commit('main', { 'content.md': 'two', 'a.txt': 'a' })
      const { status, body } = await read(node, head)
      const { changes, ...commit } = body
      expect(status).to.equal(200)
      expect(commit).to.deep.equal((await ann.get(`${node.at}/tree/main/commits?limit=1`)).body.history[0])
      const blob = (name: string) => node.git.say('rev-parse', name)
      expect(changes).to.deep.equal({
        node_id: node.id,
        base_commit_id: commit.parent_commits[0],
        target_commit_id: head,
        added: [
          {
            entity_type: 'file',
            entity_id: 'a.txt',
            entity_key: 'a.txt',
            object_id: blob('main:a.txt'),
            old_object_id: null,
            new_object_id: null,
          },
        ],
        removed: [],
        modified: [
          {
            entity_type: 'content',
            entity_id: 'content.md',
            entity_key: 'content.md',
            object_id: blob('main:content.md'),
            old_object_id: blob('main^:content.md'),
            new_object_id: blob('main:content.md'),
          },
        ],
      })
    })

    it('that is a root has no base, and everything is added', async () => {
      const parent = await aNode()
      const node = await aNode({ text_content: 'text', parents: [parent.id] })
      const { body } = await read(node, node.git.head())
      expect(body).to.deep.include({ parent_commits: [], message: 'Create node' })
      expect(body.changes).to.deep.equal(changesByGit(node, node.git.head()))
      expect(body.changes).to.deep.include({ base_commit_id: null, removed: [], modified: [] })
      expect(body.changes.added.map((one: { entity_id: string }) => one.entity_id)).to.deep.equal([
        'content.md',
        node.id,
        parent.id,
      ])
    })

    it('tells of modes, types, folders and gitlinks what git diff-tree tells', async () => {
      const node = await aNode({ text_content: 'text' })
      const { git } = node
      const seed = [
        'plain',
        'tool',
        'link',
        'sub',
        'folder/a',
        'folder/b',
        'gone',
        'becomes-folder',
        'ü ber/"quoted"\t',
      ]
      const files = Object.fromEntries(seed.map((path) => [path, path]))
      const first = git.commit({
        files: { ...files, sub: { mode: '160000', oid: 'a'.repeat(40) } },
        parents: [git.head()],
      })
      const second = git.commit({
        files: {
          tool: { mode: '100755', content: 'tool' },
          link: { mode: '120000', content: 'plain' },
          sub: { mode: '160000', oid: 'b'.repeat(40) },
          plain: { mode: '160000', oid: 'c'.repeat(40) },
          gone: null,
          'becomes-folder': null,
          'becomes-folder/inside': 'inside',
          'folder/a': null,
          'folder/b': null,
          folder: 'now a file',
          'ü ber/"quoted"\t': 'changed',
        },
        parents: [first],
      })
      git.point('main', second)
      const { changes } = (await read(node, second)).body
      expect(changes).to.deep.equal(changesByGit(node, second))
      expect((await read(node, first)).body.changes).to.deep.equal(changesByGit(node, first))
      const keys = (kind: string) => changes[kind].map((one: { entity_key: string }) => one.entity_key)
      expect(keys('modified')).to.deep.equal(['link', 'plain', 'sub', 'tool', 'ü ber/"quoted"\t'])
      expect(keys('removed')).to.deep.equal(['becomes-folder', 'folder/a', 'folder/b', 'gone'])
      expect(keys('added')).to.deep.equal(['becomes-folder/inside', 'folder'])
      const tool = changes.modified.find((one: { entity_key: string }) => one.entity_key === 'tool')
      expect(tool.old_object_id, 'the mode alone').to.equal(tool.new_object_id)
    })

    it('that is a merge is compared with its first parent', async () => {
      const node = await aNode()
      const { git } = node
      const ours = git.commit({ files: { 'ours.txt': 'ours' }, parents: [git.head()] })
      const theirs = git.commit({ files: { 'theirs.txt': 'theirs' }, parents: [git.head()] })
      const merge = git.commit({ files: { 'theirs.txt': 'theirs' }, parents: [ours, theirs] })
      git.point('main', merge)
      const { body } = await read(node, merge)
      expect(body.parent_commits).to.deep.equal([ours, theirs])
      expect(body.changes).to.deep.equal(changesByGit(node, merge))
      expect(body.changes.added.map((one: { entity_key: string }) => one.entity_key)).to.deep.equal(['theirs.txt'])
      expect((await read(node, theirs)).status, 'the second parent is of the branch, too').to.equal(200)
    })

    it('that changes nothing has no changes', async () => {
      const node = await aNode()
      node.git.point('main', node.git.commit({ parents: [node.git.head()] }))
      expect((await read(node, node.git.head())).body.changes).to.deep.include({ added: [], removed: [], modified: [] })
    })

    it('may be named by 7 characters or more', async () => {
      const node = await aNode()
      const head = node.git.head()
      for (const length of [7, 8, 39, 40])
        expect((await read(node, head.slice(0, length))).body.id, String(length)).to.equal(head)
    })

    it('is not guessed if an abbreviation names several commits of the branch', async () => {
      const node = await aNode()
      const { git } = node
      const [one, two] = twoAlike(git.say('rev-parse', 'main^{tree}'))
      const store = (input: string) =>
        git.run(['hash-object', '-w', '-t', 'commit', '--stdin'], { input }).toString().trim()
      const [a, b] = [store(one), store(two)]
      const main = git.head()
      git.point('main', git.commit({ parents: [main, a] }))
      expect((await read(node, a.slice(0, 7))).body.id, 'one of this branch').to.equal(a)
      git.point('main', git.commit({ parents: [main, a, b] }))
      expect(await read(node, a.slice(0, 7))).to.deep.equal({
        status: 422,
        body: {
          detail: [
            {
              loc: ['path', 'commit_id'],
              msg: `"${a.slice(0, 7)}" matches several commits; use more characters`,
              type: 'value_error',
              input: a.slice(0, 7),
            },
          ],
        },
      })
      expect((await read(node, b)).body.id).to.equal(b)
    })

    it('is 404 if the branch does not contain it, or if it does not exist', async () => {
      const node = await aNode()
      const other = await aNode()
      const { git } = node
      await node.branch('side')
      const side = await node.commit('side', { 'a.txt': 'a' })
      const missing = { status: 404, body: { code: 'commit_not_found', detail: 'Commit not found on this branch' } }
      const head = git.head()
      const names = [
        side,
        side.slice(0, 10),
        'f'.repeat(40),
        'f'.repeat(7),
        head.slice(0, 6),
        `${head}0`,
        'HEAD',
        'main',
      ]
      names.push(head.toUpperCase(), `${head}^`, `-${head}`, `%2E%2E%2F${head}`, '%00', 'zzzzzzz')
      names.push(git.say('rev-parse', 'main^{tree}'), git.say('rev-parse', 'main:node.json'))
      names.push(await other.commit('main', { 'other.txt': 'other' }))
      for (const name of names) expect(await read(node, name), name).to.deep.equal(missing)
      expect((await read(node, side, 'side')).status).to.equal(200)
      expect((await read(node, head, 'nope')).body.code).to.equal('branch_not_found')
      const empty = await aNode({ initialize: false })
      expect(await read(empty, head)).to.deep.equal(missing)
    })
  })

  describe('all of this', leavesCleanRepositories)
})

/** Two root commits of `tree` whose ids begin with the same 7 characters: the birthday of some 20,000 messages. */
function twoAlike(tree: string): [string, string] {
  const seen = new Map<string, string>()
  for (let number = 0; ; number++) {
    const who = 'Operator <operator@example.org> 1700000000 +0000'
    const commit = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\n${number}\n`
    const start = createHash('sha1').update(`commit ${commit.length}\0${commit}`).digest('hex').slice(0, 7)
    const other = seen.get(start)
    if (other !== undefined) return [other, commit]
    seen.set(start, commit)
  }
}
