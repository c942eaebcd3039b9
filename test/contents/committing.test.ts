/** The commits that REST writes, as native Git reads them. */

import { expect } from 'chai'
import fc from 'fast-check'
import { expecting, type TestNode } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { aNode, ann, changesByGit, leavesCleanRepositories, pass, post, put, time, useScene } from './scene.ts'

const mebi = 1_048_576

describe('contents', () => {
  useScene()

  describe('committing', () => {
    /** The answer and whether nothing moved, no object that is reachable included. */
    const refused = async (node: TestNode, changes: object[], more: object = {}, branch = 'main') => {
      const state = () => [node.git.say('for-each-ref'), node.git.say('rev-list', '--objects', '--all')]
      const before = state()
      const { status, body } = await post(node, changes, more, branch)
      expect(state()).to.deep.equal(before)
      return status === 422
        ? [status, ...body.detail.map((one: { loc: unknown[]; type: string }) => [one.loc.slice(1), one.type])]
        : [status, body.code]
    }
    const at = (index: number, field?: string) => ['changes', index, ...(field ? [field] : [])]

    it('applies all changes as one commit and answers its details', async () => {
      const node = await aNode({ text_content: 'one' })
      await node.commit('main', { 'old/gone.txt': 'gone', 'old/kept.txt': 'kept' })
      const before = node.git.head()
      pass(5)
      const answer = await post(
        node,
        [
          put('content.md', 'two'),
          { action: 'put', path: 'images/whale.png', content: 'iVBORw0KGgo=', encoding: 'base64' },
          { action: 'put', path: 'empty', content: '', encoding: null },
          { action: 'delete', path: 'old/gone.txt' },
        ],
        { message: 'Say what whales breathe', expected_head: before },
      )
      const head = node.git.head()
      expect(answer.status).to.equal(201)
      expect(answer.headers.location).to.equal(`${node.at}/tree/main/commits/${head}`)
      expect(answer.body).to.deep.include({
        id: head,
        message: 'Say what whales breathe',
        author: 'Ann',
        author_email: 'ann@example.org',
        created_at: new Date(time).toISOString(),
        parent_commits: [before],
      })
      expect(answer.body.changes).to.deep.equal(changesByGit(node, head))
      expect(await ann.get(answer.headers.location ?? '')).to.deep.equal({ status: 200, body: answer.body })
      expect(node.git.lines('ls-tree', '-r', '--name-only', 'main')).to.deep.equal([
        'content.md',
        'empty',
        'images/whale.png',
        'node.json',
        'old/kept.txt',
      ])
      expect(node.git.run(['show', 'main:images/whale.png']).toString('base64')).to.equal('iVBORw0KGgo=')
      expect((await ann.get(node.at)).body).to.deep.include({ text_content: 'two', head })
    })

    it('keeps the mode of an executable, and makes a plain file of a symlink', async () => {
      const node = await aNode()
      const files = { tool: { mode: '100755', content: 'tool' }, link: { mode: '120000', content: 'tool' } }
      node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
      await post(node, [put('tool', 'better'), put('link', 'text')]).then(expecting(201))
      expect(node.git.lines('ls-tree', '--format=%(objectmode) %(path)', 'main')).to.deep.equal([
        '100644 link',
        '100644 node.json',
        '100755 tool',
      ])
    })

    it('may leave nothing of a repository that came from elsewhere', async () => {
      const node = await aNode()
      const files = { 'node.json': null, 'a.txt': 'a' }
      node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
      await post(node, [{ action: 'delete', path: 'a.txt' }]).then(expecting(201))
      expect(node.git.say('ls-tree', 'main')).to.equal('')
      expect((await ann.get(node.at)).body.title).to.equal('Whales')
    })

    it('takes paths that merely look odd', async () => {
      const node = await aNode()
      const odd = [
        '.gitignore',
        '.github/x',
        'a..b',
        '...',
        '-rf',
        'HEAD',
        'refs/heads/main',
        ' a ',
        'con',
        'ä'.repeat(127),
        '🐋',
      ]
      odd.push('git', 'x.git', `${'y'.repeat(250)}/`.repeat(4) + 'z'.repeat(20), '"', "'", '$(x)', '*', '?')
      await post(
        node,
        odd.map((path) => put(path, path)),
      ).then(expecting(201))
      const listed = node.git.say('ls-tree', '-r', '-z', '--name-only', 'main').split('\0').filter(Boolean)
      expect(listed).to.have.members([...odd, 'node.json'])
    })

    it('takes 1,000 changes and no more', async () => {
      const node = await aNode()
      const changes = Array.from({ length: 1000 }, (_, index) => put(`many/${index}`))
      expect(await refused(node, [...changes, put('last')])).to.deep.equal([422, [['changes'], 'too_long']])
      const { body } = await post(node, changes).then(expecting(201))
      expect(body.changes.added).to.have.length(1000)
    })

    it.deep('takes a file of 10 MiB and no more', async () => {
      const node = await aNode()
      const bytes = Buffer.alloc(10 * mebi + 1, 'x')
      const tooLong = [422, [at(0, 'content'), 'string_too_long']]
      expect(await refused(node, [put('big', bytes.toString())])).to.deep.equal(tooLong)
      const coded = { action: 'put', path: 'big', content: bytes.toString('base64'), encoding: 'base64' }
      expect(await refused(node, [coded])).to.deep.equal(tooLong)
      expect(await refused(node, [put('big', bytes.toString()), put('b', bytes.toString())])).to.deep.equal([
        413,
        'too_large',
      ])
      await post(node, [put('big', bytes.toString('latin1', 1))]).then(expecting(201))
      expect(node.git.say('cat-file', '-s', 'main:big')).to.equal(String(10 * mebi))
    })

    it('compares expected_head with the head', async () => {
      const node = await aNode()
      const first = node.git.head()
      const head = await node.commit('main', { 'a.txt': 'a' })
      const moved = {
        status: 409,
        body: {
          code: 'head_moved',
          detail: `The branch has moved since you read it (now at ${head}); nothing was changed`,
          current_head: head,
        },
      }
      expect(await post(node, [put('b')], { expected_head: first })).to.deep.equal(moved)
      expect(await post(node, [put('b')], { expected_head: null })).to.deep.equal(moved)
      expect(node.git.head()).to.equal(head)
      await post(node, [put('b')], { expected_head: head }).then(expecting(201))
    })

    it('lets one of ten win that expect the same head', async () => {
      const node = await aNode()
      const expected_head = node.git.head()
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => post(node, [put('a', String(index))], { expected_head })),
      )
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([201, ...Array(9).fill(409)])
      const head = node.git.head()
      for (const { status, body } of answers) expect(status === 201 ? body.id : body.current_head).to.equal(head)
    })

    it('creates the first commit of a node if expected_head is null', async () => {
      const node = await aNode({ initialize: false })
      const { status, body } = await post(node, [put('content.md', 'first')])
      expect([status, body.code]).to.deep.equal([404, 'branch_not_found'])
      expect((await post(node, [put('a')], { expected_head: 'f'.repeat(40) })).body.code).to.equal('head_moved')
      const [gone] = (await post(node, [{ action: 'delete', path: 'a' }], { expected_head: null })).body.detail
      expect(gone.loc).to.deep.equal(['body', ...at(0, 'path')])
      const root = await post(node, [put('content.md', 'first')], { expected_head: null }).then(expecting(201))
      expect(root.body).to.deep.include({ id: node.git.head(), parent_commits: [] })
      expect(root.body.changes).to.deep.equal(changesByGit(node, node.git.head()))
      expect((await ann.get(node.at)).body).to.deep.include({ title: 'Whales', text_content: 'first' })
    })

    it('makes no branch that is not there', async () => {
      const node = await aNode()
      for (const more of [{}, { expected_head: null }]) {
        const { status, body } = await post(node, [put('a')], more, 'new')
        expect([status, body.code]).to.deep.equal([404, 'branch_not_found'])
      }
    })

    it('commits on top of what git committed on the server', async () => {
      const node = await aNode()
      const hand = node.git.commit({ files: { 'hand.txt': 'hand' }, parents: [node.git.head()] })
      node.git.point('main', hand)
      const { body } = await post(node, [put('rest.txt')], { expected_head: hand }).then(expecting(201))
      expect(body.parent_commits).to.deep.equal([hand])
      expect(node.git.lines('ls-tree', '--name-only', 'main')).to.deep.equal(['hand.txt', 'node.json', 'rest.txt'])
    })

    it('stores a message as git would: no carriage returns, one line break at its end', async () => {
      const node = await aNode()
      const { body } = await post(node, [put('a')], { message: '\r\nSubject\r\n\r\nBody 🐋\r\n\n\n' }).then(
        expecting(201),
      )
      expect(body.message).to.equal('Subject\n\nBody 🐋')
      expect(node.git.run(['log', '-1', '--format=%B', 'main']).toString()).to.equal('Subject\n\nBody 🐋\n\n')
    })
  })

  describe('any sequence of commits', () => {
    const path = fc.constantFrom('a', 'a/b', 'a/c', 'd', 'd/e/f', 'node.json', 'content.md')
    const content = fc.constantFrom('{}', '{"title": "T"}', '{"tags": ["x"]}')
    const change = fc.record({ path, content: fc.option(content, { freq: 2 }) })
    const commits = fc.array(fc.uniqueArray(change, { selector: (one) => one.path, minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 8,
    })

    it('is in git what was asked for, and its details are what git diff-tree says', async () => {
      await fc.assert(
        fc.asyncProperty(commits, async (sequence) => {
          const node = await aNode()
          let files = new Map([['node.json', node.git.run(['show', 'main:node.json']).toString()]])
          const made = [node.git.head()]
          for (const changes of sequence) {
            const { status, after } = foretell(files, changes)
            const answer = await post(
              node,
              changes.map(({ path, content }) => (content === null ? { action: 'delete', path } : put(path, content))),
            )
            expect(answer.status, JSON.stringify({ files: [...files], changes })).to.equal(status)
            if (status !== 201) continue
            files = after
            made.unshift(answer.body.id)
            expect(answer.body.changes).to.deep.equal(changesByGit(node, answer.body.id))
          }
          expect(node.git.log()).to.deep.equal(made)
          const listed = node.git.lines('ls-tree', '-r', '--name-only', 'main')
          expect(listed).to.deep.equal([...files.keys()].sort())
          for (const [path, text] of files) expect(node.git.run(['show', `main:${path}`]).toString()).to.equal(text)
        }),
        { numRuns: runs(15) },
      )
    })
  })

  describe('all of this', leavesCleanRepositories)
})

/** The expected answer to these changes of `files`, by the rules of the contract. */
function foretell(
  files: ReadonlyMap<string, string>,
  changes: readonly { path: string; content: string | null }[],
): { status: number; after: Map<string, string> } {
  const after = new Map(files)
  if (changes.some(({ path, content }) => content === null && !files.has(path))) return { status: 422, after }
  for (const { path, content } of changes) {
    if (content === null) after.delete(path)
    else after.set(path, content)
  }
  if (files.has('node.json') && !after.has('node.json')) return { status: 422, after }
  const paths = [...after.keys()]
  if (paths.some((path) => paths.some((other) => other.startsWith(`${path}/`)))) return { status: 422, after }
  const same = after.size === files.size && paths.every((path) => after.get(path) === files.get(path))
  return { status: same ? 409 : 201, after }
}
