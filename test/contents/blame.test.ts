/** Who wrote which lines, as git blame tells it, and which request brought them. */

import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { expecting, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { runs } from '../support/seed.ts'
import { anyHistory, importHistory } from './random-history.ts'
import { aNode, ann, grove, leavesCleanRepositories, pass, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

  const blameOf = async ({ at }: TestNode, path: string, revision = 'main') =>
    (await ann.get(`${at}/tree/${revision}/blame/${encodeURIComponent(path)}`).then(expecting(200))).body

  /** `<commit> <original line> <line> <path>` of each line. */
  const byGit = ({ git }: TestNode, revision: string, path: string): string[] => {
    const told: string[] = []
    let head = ''
    // The path of a line stands in quotes as in C.
    for (const line of git.run(['blame', '--line-porcelain', revision, '--', path]).toString('latin1').split('\n')) {
      if (/^[0-9a-f]{40} /.test(line)) head = line.split(' ').slice(0, 3).join(' ')
      if (line.startsWith('filename ')) told.push(`${head} ${line.slice('filename '.length)}`)
    }
    return told
  }
  const quoted = (path: string) => {
    const bytes = [...Buffer.from(path)].map((byte) => {
      const named = { 9: '\\t', 10: '\\n', 34: '\\"', 92: '\\\\' }[byte]
      return named ?? (byte < 0x80 ? String.fromCharCode(byte) : `\\${byte.toString(8)}`)
    })
    const text = bytes.join('')
    return text === path ? path : `"${text}"`
  }
  interface Range {
    first_line: number
    num_lines: number
    commit_id: string
    original_line: number
    original_path: string
  }
  const linesOf = ({ ranges }: { ranges: Range[] }) =>
    ranges.flatMap((range) =>
      Array.from(
        { length: range.num_lines },
        (_, n) =>
          `${range.commit_id} ${range.original_line + n} ${range.first_line + n} ${quoted(range.original_path)}`,
      ),
    )

  describe('blame', () => {
    it.deep('is that of git for every text of random histories', async () => {
      await fc.assert(
        fc.asyncProperty(anyHistory(14, 500), async (steps) => {
          const node = await aNode()
          importHistory(node, steps, 'dev')
          const files = node.git.run(['ls-tree', '-r', '-z', 'dev']).toString().split('\0').filter(Boolean)
          for (const entry of files) {
            const [mode = '', , oid = ''] = entry.slice(0, entry.indexOf('\t')).split(' ')
            const path = entry.slice(entry.indexOf('\t') + 1)
            const address = `${node.at}/tree/dev/blame/${encodeURIComponent(path)}`
            const { status, body } = await ann.get(address)
            const isText = mode !== '160000' && !node.git.run(['cat-file', 'blob', oid]).includes(0)
            expect(status, entry).to.equal(mode === '160000' ? 404 : isText ? 200 : 422)
            if (isText) expect(linesOf(body), entry).to.deep.equal(byGit(node, 'dev', path))
          }
        }),
        { numRuns: runs(10), endOnFailure: true },
      )
    })

    it('names commits, paragraphs and the request that brought each commit into main', async () => {
      const node = await aNode({ text_content: 'One.\nTwo.\n\nThree.\n' })
      const first = node.git.head()
      const merged = async (branch: string, text: string) => {
        pass(60)
        await node.branch(branch)
        const head = await node.commit(branch, { 'content.md': text }, `Write ${branch}\n\nAt length.`)
        const { number } = await node.open(branch)
        await ann.post(`${node.at}/pull-requests/${number}/merge`, {}).then(expecting(200))
        return head
      }
      const a = await merged('a', 'One.\nTwo!\n\nThree.\n')
      const direct = await node.commit('main', { 'content.md': 'One.\nTwo!\n\nThree.\n\n  \nFour.\n' }, 'By hand')
      const b = await merged('b', 'One.\nTwo!\n\nThree?\n\n  \nFour.\n')
      await node.branch('c')
      const open = await node.commit('c', { 'content.md': 'One.\nTwo!\n\nThree?\n\n  \nFour,\nfive.' }, 'Not yet')
      await node.open('c')
      const blame = await blameOf(node, 'content.md', 'c')
      const { commits, paragraphs, ...rest } = blame
      expect(rest).to.deep.include({
        ...{ node_id: node.id, commit_id: open, path: 'content.md', num_lines: 8 },
        object_id: node.git.say('rev-parse', 'c:content.md'),
      })
      expect(linesOf(blame)).to.deep.equal(byGit(node, 'c', 'content.md'))
      const told = commits.map((one: { id: string; summary: string; pull_request?: number }) => [
        one.id,
        one.summary,
        one.pull_request,
      ])
      expect(told).to.deep.equal([
        [first, 'Create node', undefined],
        [a, 'Write a', 1],
        [b, 'Write b', 2],
        [direct, 'By hand', undefined],
        [open, 'Not yet', undefined],
      ])
      expect(commits[1]).to.include({ author: 'Ann', author_email: 'ann@example.org' })
      expect(paragraphs).to.deep.equal([
        { first_line: 1, num_lines: 2, commit_id: a, commit_ids: [first, a], text: 'One.\nTwo!' },
        { first_line: 4, num_lines: 1, commit_id: b, commit_ids: [b], text: 'Three?' },
        { first_line: 7, num_lines: 2, commit_id: open, commit_ids: [open], text: 'Four,\nfive.' },
      ])
      // The request is merged without a new commit.
      await ann.post(`${node.at}/pull-requests/3/merge`, {}).then(expecting(200))
      expect((await blameOf(node, 'content.md')).commits.at(-1)).to.include({ id: open, pull_request: 3 })
    })

    it('tells the public no request', async () => {
      const node = await aNode({ text_content: 'One.\n' })
      const head = await node.proposal('draft')
      await node.open('draft')
      await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
      expect((await blameOf(node, 'draft.txt')).commits[0]).to.include({ id: head, pull_request: 1 })
      await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
      const { body } = await client(grove).get(`${node.at}/tree/main/blame/draft.txt`).then(expecting(200))
      expect(body.commits[0]).to.include({ id: head }).and.not.have.property('pull_request')
      await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
    })

    it('follows a renamed file, and is empty for an empty one', async () => {
      const node = await aNode({ text_content: 'One.\nTwo.\n' })
      const { git } = node
      const first = git.head()
      git.point(
        'dev',
        git.commit({
          files: { 'content.md': null, 'a "b"\n€.md': 'One.\nTwo.\nThree.\n', empty: '' },
          parents: [first],
        }),
      )
      const { ranges } = await blameOf(node, 'a "b"\n€.md', 'dev')
      expect(ranges).to.deep.equal([
        { first_line: 1, num_lines: 2, commit_id: first, original_line: 1, original_path: 'content.md' },
        { first_line: 3, num_lines: 1, commit_id: git.head('dev'), original_line: 3, original_path: 'a "b"\n€.md' },
      ])
      expect(await blameOf(node, 'empty', 'dev')).to.deep.include({
        num_lines: 0,
        ranges: [],
        paragraphs: [],
        commits: [],
      })
    })

    it.deep('has bounds, and is 404 for what is no file', async () => {
      const node = await aNode()
      const { git, at } = node
      const files = {
        long: 'x\n'.repeat(20_001),
        large: Buffer.alloc(1_048_577, 'x'),
        most: 'x\n'.repeat(20_000),
        'd/f': 'f',
        binary: Buffer.from('\0binary'),
        'binary and large': Buffer.alloc(9 * 1_048_576),
      }
      git.point('dev', git.commit({ files, parents: [git.head()] }))
      for (const path of ['long', 'large'])
        expect((await ann.get(`${at}/tree/dev/blame/${path}`)).body.code, path).to.equal('too_large')
      expect((await blameOf(node, 'most', 'dev')).ranges).to.have.length(1)
      for (const path of ['binary', 'binary and large']) {
        const { status, body } = await ann.get(`${at}/tree/dev/blame/${encodeURIComponent(path)}`)
        expect([status, body.detail[0].msg], path).to.deep.equal([422, 'The file is not text'])
      }
      for (const path of ['d', 'nope', 'd/f/', 'd/../long', '-h', '--contents=/etc/passwd'])
        expect((await ann.get(`${at}/tree/dev/blame/${encodeURIComponent(path)}`)).body.code, path).to.equal(
          'file_not_found',
        )
    })

    it('runs no program that the repository names', async () => {
      const node = await aNode({ text_content: 'One.\n' })
      const [mark, program] = [join(node.git.dir, 'ran'), join(node.git.dir, 'program')]
      await writeFile(program, `#!/bin/sh\ntouch '${mark}'\ncat "$1"\n`, { mode: 0o755 })
      await mkdir(join(node.git.dir, 'info'), { recursive: true })
      await writeFile(join(node.git.dir, 'info', 'attributes'), '* diff=x\n')
      for (const name of ['diff.x.textconv', 'diff.x.command', 'core.pager']) node.git.say('config', name, program)
      expect((await blameOf(node, 'content.md')).num_lines).to.equal(1)
      expect(existsSync(mark)).to.equal(false)
      node.git.say('blame', 'main', '--', 'content.md')
      expect(existsSync(mark)).to.equal(true)
    })

    it('ignores no commits that the repository lists', async () => {
      const node = await aNode({ text_content: 'One.\n' })
      const head = await node.commit('main', { 'content.md': 'One!\n' })
      const list = join(node.git.dir, 'ignored')
      await writeFile(list, `${head}\n`)
      node.git.say('config', 'blame.ignoreRevsFile', list)
      expect(byGit(node, 'main', 'content.md')[0]).to.not.include(head)
      node.git.say('config', 'blame.coloring', 'repeatedLines')
      expect((await blameOf(node, 'content.md')).ranges[0].commit_id).to.equal(head)
      node.git.say('config', '--unset', 'blame.ignoreRevsFile')
    })
  })

  describe('all of this', leavesCleanRepositories)
})
