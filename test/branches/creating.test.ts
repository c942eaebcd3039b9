/** Creating a branch. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { aNode, ann, leavesCleanRepositories, namesOf, useScene } from './scene.ts'

describe('branches', () => {
  useScene()

  describe('creating', () => {
    it('answers the branch and its address, and git has it', async () => {
      const { at, git } = await aNode()
      const { status, body, headers } = await ann.post(`${at}/branches`, { name: 'feature/dolphins' })
      expect({ status, body }).to.deep.equal({
        status: 201,
        body: {
          name: 'feature/dolphins',
          head: git.head(),
          message: 'Create node',
          updated_at: new Date(Number(git.say('log', '-1', '--format=%ct', 'main')) * 1000).toISOString(),
        },
      })
      expect(headers.location).to.equal(`${at}/branches/feature%2Fdolphins`)
      expect(await ann.get(headers.location ?? '')).to.deep.equal({ status: 200, body })
      expect(git.head('feature/dolphins')).to.equal(git.head())
    })

    it('begins at main, at a branch, at a tag or at any commit that a branch has', async () => {
      const { git, commit, branch } = await aNode()
      const first = git.head()
      const second = await commit('main', { 'a.txt': '2' })
      git.say('tag', 'v1', first)
      expect(await branch('one')).to.equal(second)
      expect(await branch('two', first)).to.equal(first)
      expect(await branch('three', 'v1')).to.equal(first)
      const third = await commit('two', { 'a.txt': '3' })
      expect(await branch('four', 'two')).to.equal(third)
      expect(await branch('five', third)).to.equal(third)
    })

    it('refuses a beginning that names nothing', async () => {
      const { at, git } = await aNode()
      const other = await aNode()
      const head = git.head()
      const unreachable = git.commit({ files: { a: 'a' } })
      const names = ['nope', 'f'.repeat(40), head.slice(0, 10), `${head}^`, 'refs/heads/main', '-x', unreachable]
      for (const from of [
        ...names,
        git.say('rev-parse', `${head}:node.json`),
        other.git.commit({ files: { b: 'b' } }),
      ]) {
        const { status, body } = await ann.post(`${at}/branches`, { name: 'new', from })
        expect([status, body.detail], from).to.deep.equal([
          422,
          [
            {
              loc: ['body', 'from'],
              msg: `No branch, tag or commit of this node is called "${from}"`,
              type: 'value_error',
              input: from,
            },
          ],
        ])
      }
      const empty = await aNode({ initialize: false })
      expect((await ann.post(`${empty.at}/branches`, { name: 'new' })).status).to.equal(422)
      expect(git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/main'])
    })

    const refused: Readonly<Record<string, string>> = {
      '': 'an empty one',
      ' ': 'a space',
      'a b': 'a space inside',
      'a\tb': 'a tab',
      'a\0b': 'NUL',
      'a\x7f': 'DEL',
      'a\u0085b': 'a control character of Unicode',
      'a..b': 'two dots',
      '.a': 'a leading dot',
      'a/.b': 'a leading dot in a part',
      'a.': 'a trailing dot',
      'a.lock': '.lock',
      'a.lock/b': '.lock in a part',
      '/a': 'a leading slash',
      'a/': 'a trailing slash',
      'a//b': 'two slashes',
      'a~1': 'a tilde',
      'a^': 'a caret',
      'a:b': 'a colon',
      'a?': 'a question mark',
      'a*': 'an asterisk',
      'a[b': 'a bracket',
      'a\\b': 'a backslash',
      'a@{1}': '@{',
      '@': '@ alone',
      HEAD: 'HEAD',
      '-a': 'a leading hyphen',
      'refs/heads/a': 'refs/',
      [`${'0123456789'.repeat(4)}`]: 'an object id',
      [`${'ABCDEF0123'.repeat(4)}`]: 'an object id in upper case',
      [`${'0'.repeat(64)}`]: 'an object id of SHA-256',
      [`${'ä'.repeat(101)}`]: 'over 200 bytes',
      [`${'a'.repeat(201)}`]: 'over 200 characters',
      'a\ud800': 'half a surrogate pair',
    }

    it('refuses names that git or a file system would not take, or that pass for something else', async () => {
      const { at } = await aNode()
      for (const [name, why] of Object.entries(refused)) {
        const { status, body } = await ann.post(`${at}/branches`, { name })
        expect([status, body.detail?.[0]?.loc], why).to.deep.equal([422, ['body', 'name']])
      }
      expect((await ann.get(`${at}/branches`)).body.total).to.equal(1)
    })

    it('finds no branch by such a name', async () => {
      const { at } = await aNode()
      for (const [name, why] of Object.entries(refused)) {
        if (name === '' || name.includes('\ud800')) continue
        for (const path of ['branches/%', 'tree/%', 'tree/%/commits', 'tree/%/files/node.json'])
          expect((await ann.get(`${at}/${path.replace('%', encodeURIComponent(name))}`)).status, why).to.equal(404)
        expect((await ann.delete(`${at}/branches/${encodeURIComponent(name)}`)).status, why).to.equal(404)
      }
    })

    it('takes names that git takes, in any script', async () => {
      const { at, git } = await aNode()
      const names = [
        'a',
        'feature/x/y.z',
        'größe/🐋',
        'x/commits',
        'files/y',
        'heads/main',
        'a-b_c+d=e@f,g;h!',
        "it's",
        'a#b%c&d',
      ]
      names.push('0'.repeat(39), 'ä'.repeat(100), '100%25', 'lock', 'tree/main', 'Main')
      for (const name of names) {
        await ann.post(`${at}/branches`, { name }).then(expecting(201))
        expect(git.head(name)).to.equal(git.head())
        const address = `${at}/branches/${encodeURIComponent(name)}`
        expect((await ann.get(address)).body.name).to.equal(name)
        await ann.delete(address).then(expecting(204))
      }
      expect(git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/main'])
    })

    it('takes a name once, also of ten who ask at once', async () => {
      const { at, branch } = await aNode()
      await branch('a')
      const exists = { status: 409, body: { code: 'branch_exists', detail: 'A branch with this name already exists' } }
      expect(await ann.post(`${at}/branches`, { name: 'a' })).to.deep.equal(exists)
      expect(await ann.post(`${at}/branches`, { name: 'main' })).to.deep.equal(exists)
      const ask = () => ann.post(`${at}/branches`, { name: 'race' })
      const statuses = (await Promise.all(Array.from({ length: 10 }, ask))).map((answer) => answer.status)
      expect(statuses.sort()).to.deep.equal([201, ...Array(9).fill(409)])
    })

    it('takes a or a/b, loose or packed', async () => {
      const node = await aNode()
      const { at, git, branch } = node
      const create = async (name: string) => {
        const { status, body } = await ann.post(`${at}/branches`, { name })
        return body.code ?? status
      }
      await branch('a')
      expect(await create('a/b')).to.equal('branch_name_taken')
      expect(await create('a/b/c')).to.equal('branch_name_taken')
      expect(await create('main/b')).to.equal('branch_name_taken')
      git.say('pack-refs', '--all', '--prune')
      expect(await create('a/b')).to.equal('branch_name_taken')
      await ann.delete(`${at}/branches/a`).then(expecting(204))
      expect(await create('a/b/c')).to.equal(201)
      expect(await create('a')).to.equal('branch_name_taken')
      expect(await create('a/b')).to.equal('branch_name_taken')
      git.say('pack-refs', '--all', '--prune')
      expect(await create('a')).to.equal('branch_name_taken')
      await ann.delete(`${at}/branches/a/b/c`).then(expecting(204))
      expect(await create('a')).to.equal(201)
      expect(await namesOf(node)).to.deep.equal(['a', 'main'])
      const race = await Promise.all(['r', 'r/s', 'r', 'r/s/t'].map(create))
      expect(race.filter((outcome) => outcome === 201)).to.have.length(1)
    })

    it('refuses a beginning whose files cannot be read', async () => {
      const { at, git } = await aNode()
      git.point('torn', git.commit({ files: { 'node.json': '{' }, parents: [git.head()] }))
      const { status, body } = await ann.post(`${at}/branches`, { name: 'new', from: 'torn' })
      expect([status, body.detail[0].loc, body.detail[0].ctx.path]).to.deep.equal([422, ['body', 'from'], 'node.json'])
    })
  })

  describe('all of this', leavesCleanRepositories)
})
