/** Commits over REST that are refused: nothing moves, and every field at fault is named. */

import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { aNode, ann, grove, leavesCleanRepositories, nodes, post, put, useScene } from './scene.ts'

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

    it('to an identical tree is refused', async () => {
      const node = await aNode({ text_content: 'one' })
      expect(await refused(node, [put('content.md', 'one')])).to.deep.equal([409, 'no_changes'])
      const same = node.git.say('show', 'main:node.json')
      expect(await refused(node, [put('content.md', 'one'), put('node.json', `${same}\n`)])).to.deep.equal([
        409,
        'no_changes',
      ])
    })

    it('refuses to delete what is not there, and to name a path twice', async () => {
      const node = await aNode()
      await node.commit('main', { 'docs/a.txt': 'a' })
      const remove = (path: string) => ({ action: 'delete', path })
      for (const path of ['nope', 'docs', 'docs/a.txt/b', 'docs/b', 'Docs/a.txt', 'NODE.JSON'])
        expect(await refused(node, [put('new'), remove(path)]), path).to.deep.equal([
          422,
          [at(1, 'path'), 'value_error'],
        ])
      const twice = [422, [at(2, 'path'), 'value_error']]
      expect(await refused(node, [put('a'), put('b'), put('a', 'again')])).to.deep.equal(twice)
      expect(await refused(node, [put('a'), put('b'), remove('a')])).to.deep.equal(twice)
    })

    it.deep('refuses a body of the wrong shape', async () => {
      const node = await aNode()
      const good = put('a')
      const shape = async (changes: object[], more: object = {}) => (await refused(node, changes, more)).slice(1)
      expect(await shape([])).to.deep.equal([[['changes'], 'too_short']])
      expect(await shape([{ action: 'put', path: 'a' }])).to.deep.equal([[at(0, 'content'), 'missing']])
      expect(await shape([{ ...good, action: 'move' }])).to.deep.equal([[at(0, 'action'), 'enum']])
      expect(await shape([{ ...good, encoding: 'latin1' }])).to.deep.equal([[at(0, 'encoding'), 'enum']])
      expect(await shape([{ ...good, mode: '100755' }])).to.deep.equal([[at(0, 'mode'), 'extra_forbidden']])
      for (const content of ['a', 'a===', 'aa=a', 'aa aa', 'aaa-', 'aaa_', '====', 'ä'])
        expect(await shape([{ ...good, encoding: 'base64', content }]), content).to.deep.equal([
          [at(0, 'content'), 'value_error'],
        ])
      expect(await shape([{ ...good, content: 'a\ud800' }])).to.deep.equal([[at(0, 'content'), 'value_error']])
      expect(await shape([good], { message: ' \n' })).to.deep.equal([[['message'], 'string_pattern_mismatch']])
      expect(await shape([good], { message: 'x'.repeat(65_537) })).to.deep.equal([[['message'], 'string_too_long']])
      expect(await shape([good], { message: 'ä'.repeat(32_769) }), 'bytes').to.deep.equal([
        [['message'], 'string_too_long'],
      ])
      expect(await shape([good], { expected_head: 'main' })).to.deep.equal([
        [['expected_head'], 'string_pattern_mismatch'],
      ])
      await post(node, [good], { message: 'ä'.repeat(32_768) }).then(expecting(201))
    })

    it.deep('refuses paths that git, a file system or a reader of the tree would not take', async () => {
      const node = await aNode()
      const deep = Array.from({ length: 65 }, () => 'd').join('/')
      const bad = [
        '.git',
        '.GIT',
        'a/.git/config',
        '.git ',
        '.git.',
        'git~1',
        'GIT~2',
        '.git:x',
        '.g\u200cit',
        '..',
        '.',
        'a/..',
      ]
      bad.push('../a', './a', '/a', 'a/', 'a//b', '/', 'a\\b', 'a\0b', 'a\nb', 'a\x7f', 'a\u0085', 'a\ud800', deep)
      bad.push('.gitmodules', 'a/.GITMODULES', 'gitmod~1', '.gitattributes', 'x'.repeat(256), 'ä'.repeat(128))
      bad.push(`${'y'.repeat(250)}/`.repeat(4) + 'z'.repeat(21), '')
      for (const path of bad) {
        const [status, problem] = await refused(node, [put('good'), put(path, 'bad')])
        expect([status, problem?.[0]], JSON.stringify(path)).to.deep.equal([422, at(1, 'path')])
      }
      const [status, ...problems] = await refused(node, [put('..'), put('good'), put('.git')])
      expect([status, problems.map(([loc]: unknown[]) => loc)]).to.deep.equal([422, [at(0, 'path'), at(2, 'path')]])
    })

    it('refuses names that differ in case or in normal form only', async () => {
      const node = await aNode()
      await node.commit('main', { 'docs/Read.md': 'a', 'größe.txt': 'a' })
      const collision = (index: number) => [422, [at(index, 'path'), 'value_error']]
      expect(await refused(node, [put('x'), put('docs/read.md')])).to.deep.equal(collision(1))
      expect(await refused(node, [put('x'), put('DOCS/other.md')])).to.deep.equal(collision(1))
      expect(await refused(node, [put('GRÖSSE.TXT')])).to.deep.equal(collision(0))
      expect(await refused(node, [put('gro\u0308ße.txt')])).to.deep.equal(collision(0))
      expect(await refused(node, [put('Content.MD'), put('content.md')])).to.deep.equal(collision(0))
      expect(await refused(node, [put('NODE.json')])).to.deep.equal(collision(0))
      await post(node, [{ action: 'delete', path: 'docs/Read.md' }, put('docs/read.md')]).then(expecting(201))
    })

    it('refuses a file if a folder is, and the reverse', async () => {
      const node = await aNode()
      await node.commit('main', { 'docs/a.txt': 'a', plain: 'plain' })
      const conflict = [422, [at(1, 'path'), 'value_error']]
      expect(await refused(node, [put('x'), put('docs')])).to.deep.equal(conflict)
      expect(await refused(node, [put('x'), put('plain/a')])).to.deep.equal(conflict)
      expect(await refused(node, [put('x'), put('docs/a.txt/b/c')])).to.deep.equal(conflict)
      const [status] = await refused(node, [put('new'), put('new/a')])
      expect(status).to.equal(422)
      const swap = [
        { action: 'delete', path: 'docs/a.txt' },
        put('docs'),
        { action: 'delete', path: 'plain' },
        put('plain/a'),
      ]
      await post(node, swap).then(expecting(201))
      expect(node.git.lines('ls-tree', '-r', '--name-only', 'main')).to.deep.equal(['docs', 'node.json', 'plain/a'])
    })

    it('refuses to remove node.json from main, and NUL in content.md on any branch', async () => {
      const node = await aNode()
      await node.branch('draft')
      const gone = [put('x'), { action: 'delete', path: 'node.json' }]
      expect(await refused(node, gone)).to.deep.equal([422, [at(1), 'value_error']])
      for (const branch of ['main', 'draft'])
        expect(await refused(node, [put('x'), put('content.md', 'a\0b')], {}, branch)).to.deep.equal([
          422,
          [at(1), 'value_error'],
        ])
      await node.commit('draft', { 'node.json': null })
      const { merge_reasons, merge_problems } = await node.open('draft')
      const reason = "This file cannot be deleted, because it holds the node's title, tags and properties"
      expect([merge_reasons, merge_problems]).to.deep.equal([['invalid_content'], [{ path: 'node.json', reason }]])
      const merged = await ann.post(`${node.at}/pull-requests/1/merge`)
      expect([merged.status, merged.body.code]).to.deep.equal([409, 'invalid_content'])
      await node.commit('draft', { 'node.json': '{}' })
      expect((await node.pull(1)).can_merge).to.equal(true)
    })

    it('takes changes of a text that has held NUL since before it was refused', async () => {
      const node = await aNode()
      const files = { 'content.md': 'a\0b' }
      node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
      await node.commit('main', { x: 'x', 'content.md': 'a\0c' })
      await node.commit('main', { 'content.md': 'ac' })
    })

    it.deep('refuses node files that cannot be read, on any branch', async () => {
      const node = await aNode()
      const target = await aNode()
      await node.branch('draft')
      const uuid = target.id
      const unreadable: readonly (readonly [string, string])[] = [
        ['node.json', '{'],
        ['node.json', ''],
        ['node.json', '[]'],
        ['node.json', 'null'],
        ['node.json', '{"title": ""}'],
        ['node.json', '{"title": " "}'],
        ['node.json', `{"title": "${'x'.repeat(501)}"}`],
        ['node.json', '{"title": 1}'],
        ['node.json', '{"title": "a\\u0000"}'],
        ['node.json', '{"tags": "sea"}'],
        ['node.json', '{"tags": [1]}'],
        ['node.json', '{"tags": [""]}'],
        ['node.json', `{"tags": ["${'x'.repeat(101)}"]}`],
        ['node.json', '{"properties": []}'],
        [`parents/${uuid}.json`, ''],
        [`parents/${uuid}.json`, '"label"'],
        [`parents/${uuid}.json`, '{"label": 1}'],
        [`parents/${uuid}.json`, `{"label": "${'x'.repeat(501)}"}`],
        ['connections/a.json', '{}'],
        ['connections/a.json', '{"target": 1}'],
        ['connections/a.json', `{"target": "${uuid}", "type": "Bad Type"}`],
        ['connections/a.json', `{"target": "${uuid}", "type": "${'x'.repeat(65)}"}`],
        ['connections/a.json', `{"target": "${uuid}", "label": []}`],
      ]
      for (const branch of ['main', 'draft'])
        for (const [path, content] of unreadable)
          expect(await refused(node, [put('x'), put(path, content)], {}, branch), `${path} ${content}`).to.deep.equal([
            422,
            [at(1), 'value_error'],
          ])
      const content = { action: 'put', path: 'content.md', content: '/w==', encoding: 'base64' }
      expect(await refused(node, [put('x'), content])).to.deep.equal([422, [at(1), 'value_error']])
      const { body } = await post(node, [put('x'), put('node.json', '{"title": 1}')])
      expect(body.detail).to.deep.equal([
        {
          loc: ['body', 'changes', 1],
          msg: 'node.json: `title` must be a non-blank string of 1 to 500 characters, without control characters',
          type: 'value_error',
          ctx: {
            path: 'node.json',
            reason: '`title` must be a non-blank string of 1 to 500 characters, without control characters',
          },
        },
      ])
    })

    it('refuses on main what breaks the rules of the graph, and takes it on other branches', async () => {
      const node = await aNode()
      const child = await aNode({ parents: [node.id] })
      const stranger = await newNode(grove, await signUp(grove, `Stranger ${nodes.length}`))
      await node.branch('draft')
      const connection = (target: string) => put('connections/a.json', JSON.stringify({ target }))
      const parent = (id: string) => put(`parents/${id}.json`, '{}')
      const breaking = [parent(child.id), parent(node.id), parent(stranger.id), parent(stranger.id.replace(/^./, 'f'))]
      breaking.push(connection(node.id), connection(stranger.id), connection('none'))
      for (const change of breaking)
        expect(await refused(node, [put('x'), change]), JSON.stringify(change)).to.deep.equal([
          422,
          [at(1), 'value_error'],
        ])
      for (const [index, change] of breaking.entries())
        await post(node, [put('x', String(index)), change], {}, 'draft').then(expecting(201))
      await post(node, [connection(child.id)]).then(expecting(201))
      expect((await ann.get(node.at)).body.connections).to.have.length(1)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
