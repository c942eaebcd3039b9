/** The changes of a commit, a comparison or a pull request, line by line: shapes, names, bounds. */

import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { aNode, ann, grove, leavesCleanRepositories, useScene } from './scene.ts'

const patchOnly = { accept: 'text/x-diff' }

interface Entity {
  readonly entity_key: string
  readonly hunks: readonly { readonly lines: readonly { readonly kind: string; readonly text: string }[] }[]
}

/** Entities by path. */
const byPath = (entities: readonly Entity[]) => new Map(entities.map((one) => [one.entity_key, one]))

describe('contents', () => {
  useScene()

  const diffOf = async (at: string, commit: string, query = '') =>
    (await ann.get(`${at}/commits/${encodeURIComponent(commit)}/diff${query}`).then(expecting(200))).body

  describe('the diff of a commit', () => {
    it('has hunks with the line numbers of both sides, and only sizes for binary files', async () => {
      const { id, at, git } = await aNode({ text_content: 'One\nTwo\nThree' })
      const first = git.head()
      const old = git.commit({
        files: { moved: 'a\nb\nc\nd\n', tool: 'tool\n', image: Buffer.of(0, 1) },
        parents: [first],
      })
      const files = {
        'content.md': 'One\nTwo!\nThree\nFour\n',
        image: Buffer.of(0, 1, 2),
        moved: null,
        'new/place': 'a\nb\nc\nD\n',
        tool: { mode: '100755', content: 'tool\n' },
        empty: '',
      }
      git.point('dev', git.commit({ files, parents: [old] }))
      const oid = (name: string) => git.say('rev-parse', name)
      const sides = (from: string | null, to: string | null) => ({
        old_object_id: from && oid(`dev~:${from}`),
        new_object_id: to && oid(`dev:${to}`),
        old_mode: from && '100644',
        new_mode: to && (to === 'tool' ? '100755' : '100644'),
      })
      const file = (path: string) => ({ entity_type: 'file', entity_id: path, entity_key: path })
      expect(await diffOf(at, 'dev')).to.deep.equal({
        node_id: id,
        base_commit_id: old,
        target_commit_id: git.head('dev'),
        entities: [
          {
            ...{ entity_type: 'content', entity_id: 'content.md', entity_key: 'content.md', change: 'modified' },
            ...sides('content.md', 'content.md'),
            additions: 3,
            deletions: 2,
            hunks: [
              {
                ...{ old_start: 1, old_lines: 3, new_start: 1, new_lines: 4, section: '' },
                lines: [
                  { kind: 'context', old_line: 1, new_line: 1, text: 'One' },
                  { kind: 'removed', old_line: 2, text: 'Two' },
                  { kind: 'removed', old_line: 3, text: 'Three', no_newline: true },
                  { kind: 'added', new_line: 2, text: 'Two!' },
                  { kind: 'added', new_line: 3, text: 'Three' },
                  { kind: 'added', new_line: 4, text: 'Four' },
                ],
              },
            ],
          },
          { ...file('empty'), change: 'added', ...sides(null, 'empty'), additions: 0, deletions: 0, hunks: [] },
          { ...file('image'), change: 'modified', ...sides('image', 'image'), binary: true, old_size: 2, new_size: 3 },
          {
            ...{ ...file('new/place'), change: 'renamed', old_entity_key: 'moved', similarity: 75 },
            ...sides('moved', 'new/place'),
            additions: 1,
            deletions: 1,
            hunks: [
              {
                ...{ old_start: 1, old_lines: 4, new_start: 1, new_lines: 4, section: '' },
                lines: [
                  { kind: 'context', old_line: 1, new_line: 1, text: 'a' },
                  { kind: 'context', old_line: 2, new_line: 2, text: 'b' },
                  { kind: 'context', old_line: 3, new_line: 3, text: 'c' },
                  { kind: 'removed', old_line: 4, text: 'd' },
                  { kind: 'added', new_line: 4, text: 'D' },
                ],
              },
            ],
          },
          { ...file('tool'), change: 'modified', ...sides('tool', 'tool'), additions: 0, deletions: 0, hunks: [] },
        ],
        total: 5,
        truncated: false,
      })
    })

    it('is that of its first parent for a merge, of nothing for a root', async () => {
      const { at, git } = await aNode()
      const root = git.head()
      const [a, b] = [
        git.commit({ files: { a: 'a\n' }, parents: [root] }),
        git.commit({ files: { b: 'b\n' }, parents: [root] }),
      ]
      git.point('merged', git.commit({ files: { b: 'b\n' }, parents: [a, b] }))
      const merge = await diffOf(at, 'merged')
      expect([merge.base_commit_id, [...byPath(merge.entities).keys()]]).to.deep.equal([a, ['b']])
      const whole = await diffOf(at, root)
      expect(whole.base_commit_id).to.equal(null)
      expect(whole.entities.map(({ change }: { change: string }) => change)).to.deep.equal(['added'])
    })

    it('keeps a CR, tells what is not UTF-8, and takes a changed type for one that goes and one that comes', async () => {
      const { at, git } = await aNode()
      const files = {
        crlf: 'a\r\nb\r\n',
        latin: Buffer.from('Gr\xf6\xdfe\n', 'latin1'),
        link: { mode: '120000', content: 'crlf' },
      }
      const base = git.commit({ files, parents: [git.head()] })
      git.point('dev', git.commit({ files: { crlf: 'a\nb\r\n', latin: 'Größe\n', link: 'a file\n' }, parents: [base] }))
      const entities = byPath((await diffOf(at, 'dev')).entities)
      const texts = (path: string) =>
        entities.get(path)?.hunks.flatMap(({ lines }) => lines.map(({ kind, text }) => `${kind} ${text}`))
      expect(texts('crlf')).to.deep.equal(['removed a\r', 'added a', 'context b\r'])
      expect(texts('latin')).to.deep.equal(['removed Gr\ufffd\ufffde', 'added Größe'])
      expect(texts('link')).to.deep.equal(['removed crlf', 'added a file'])
      expect(entities.get('latin')).to.include({ not_utf8: true })
      expect(entities.get('crlf')).to.not.have.property('not_utf8')
      expect(entities.get('link')).to.include({ change: 'modified', old_mode: '120000', new_mode: '100644' })
    })

    it('is found by a branch, tag or id that the caller sees, and is 304 for a known ETag', async () => {
      const node = await aNode()
      const { at, git } = node
      const gone = await node.proposal('feature/x')
      git.say('tag', '-m', 'Annotated', 'v1', 'feature/x')
      for (const name of ['feature/x', 'v1', gone])
        expect((await diffOf(at, name)).target_commit_id, name).to.equal(gone)
      const first = await ann.get(`${at}/commits/${gone}/diff`)
      const etag = first.headers.etag ?? ''
      for (const _ of [1, 2, 3])
        expect((await ann.get(`${at}/commits/${gone}/diff`, { 'if-none-match': etag })).status).to.equal(304)
      await ann.delete(`${at}/branches/feature%2Fx`)
      git.say('tag', '-d', 'v1')
      for (const name of [gone, gone.slice(0, 10), 'feature/x', 'main~', '--help', 'f'.repeat(40)])
        expect((await ann.get(`${at}/commits/${encodeURIComponent(name)}/diff`)).body.code, name).to.equal(
          'commit_not_found',
        )
    })

    it('is for the public of what main and tags contain', async () => {
      const node = await aNode()
      const draft = await node.proposal('draft')
      await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
      const anybody = client(grove)
      expect((await anybody.get(`${node.at}/commits/main/diff`)).status).to.equal(200)
      expect((await anybody.get(`${node.at}/commits/main/diff`, patchOnly)).status).to.equal(200)
      for (const name of ['draft', draft])
        for (const headers of [{}, patchOnly])
          expect((await anybody.get(`${node.at}/commits/${name}/diff`, headers)).body.code, name).to.equal(
            'commit_not_found',
          )
      expect((await anybody.get(`${node.at}/compare?base=main&head=draft&text=true`)).body.code).to.equal(
        'branch_not_found',
      )
      await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
    })
  })

  describe('the path of a diff', () => {
    it('narrows it to a file or a folder, whatever the name looks like', async () => {
      const { at, git } = await aNode()
      const files = { '*': '1\n', ':(glob)**': '2\n', 'a/b': '3\n', 'a/c/d': '4\n', ab: '5\n' }
      git.point('dev', git.commit({ files, parents: [git.head()] }))
      const paths = async (path: string) => {
        const { entities } = await diffOf(at, 'dev', `?path=${encodeURIComponent(path)}`)
        return [...byPath(entities).keys()]
      }
      expect(await paths('*')).to.deep.equal(['*'])
      expect(await paths(':(glob)**')).to.deep.equal([':(glob)**'])
      expect(await paths('a')).to.deep.equal(['a/b', 'a/c/d'])
      expect(await paths('a/')).to.deep.equal(['a/b', 'a/c/d'])
      expect(await paths('a/b')).to.deep.equal(['a/b'])
      expect(await paths('nothing/here')).to.deep.equal([])
      const { body } = await ann.get(`${at}/compare?base=main&head=dev&path=a`, patchOnly)
      expect(body.match(/^diff --git .*$/gm)).to.deep.equal(['diff --git a/a/b b/a/b', 'diff --git a/a/c/d b/a/c/d'])
    })

    it('is 422 if it is invalid', async () => {
      const { at } = await aNode()
      for (const path of ['/', '/a', 'a//b', '..', 'a/../b', './a', 'a\0b'])
        expect(
          (await ann.get(`${at}/commits/main/diff?path=${encodeURIComponent(path)}`)).body.detail?.[0]?.loc,
          path,
        ).to.deep.equal(['query', 'path'])
    })
  })

  describe('the diff of a pull request', () => {
    it('is what the source changed since the two parted, also after the end', async () => {
      const node = await aNode()
      const head = await node.proposal('draft')
      await node.open('draft')
      await ann.post(`${node.at}/pull-requests/1/merge`, {}).then(expecting(200))
      await node.commit('main', { 'main.txt': 'main' })
      const { body } = await ann.get(`${node.at}/pull-requests/1/diff`)
      expect([...byPath(body.entities).keys()]).to.deep.equal(['draft.txt'])
      expect(body.target_commit_id).to.equal(head)
      const patch = await ann.get(`${node.at}/pull-requests/1/diff?path=draft.txt`, patchOnly)
      expect(patch.body).to.match(/^diff --git a\/draft.txt b\/draft.txt\nnew file mode 100644\n/)
      expect((await ann.get(`${node.at}/pull-requests/2/diff`)).body.code).to.equal('pull_request_not_found')
    })
  })

  describe('a patch', () => {
    it('by its own address is that of the comparison, of the commit, of the request', async () => {
      const node = await aNode()
      await node.proposal('draft')
      const head = await node.commit('draft', { 'more.txt': 'more\n' })
      const { source_commit, target_commit } = await node.open('draft')
      const textOf = async (path: string) => (await ann.get(node.at + path, patchOnly).then(expecting(200))).body
      const whole = await textOf('/patch?base=main&head=draft')
      expect(whole).to.include('draft.txt').and.include('more.txt')
      expect(await textOf('/compare?base=main&head=draft')).to.equal(whole)
      expect(await textOf('/pull-requests/1/diff')).to.equal(whole)
      expect(await textOf(`/patch?base=${target_commit}&head=${source_commit}`)).to.equal(whole)
      const last = await textOf(`/patch?head=${head}`)
      expect(last)
        .to.equal(await textOf('/commits/draft/diff'))
        .and.not.include('draft.txt')
      expect(await textOf('/patch?base=main&head=draft&path=more.txt')).to.equal(last)
      for (const query of ['?head=nope', '?base=nope&head=main'])
        expect((await ann.get(`${node.at}/patch${query}`)).body.code, query).to.equal('branch_not_found')
    })
  })

  describe('a repository', () => {
    it('runs nothing of its own configuration for a diff', async () => {
      const { at, git } = await aNode()
      const [mark, hooks] = [join(git.dir, 'ran'), join(git.dir, 'hooks')]
      const program = join(git.dir, 'program')
      await mkdir(hooks, { recursive: true })
      await writeFile(program, `#!/bin/sh\ntouch '${mark}'\ncat "$1" 2>&1\n`, { mode: 0o755 })
      for (const [name, value] of [
        ...(
          [
            'diff.external',
            'diff.x.command',
            'diff.x.textconv',
            'core.pager',
            'core.fsmonitor',
            'pager.diff-tree',
          ] as const
        ).map((setting) => [setting, program] as const),
        ...([
          ['diff.noprefix', 'true'],
          ['diff.context', '0'],
          ['color.diff', 'always'],
          ['diff.orderFile', 'x'],
        ] as const),
        ...([
          ['core.quotePath', 'false'],
          ['diff.suppressBlankEmpty', 'true'],
          ['diff.renames', 'copies'],
        ] as const),
      ])
        git.say('config', name, value)
      await mkdir(join(git.dir, 'info'), { recursive: true })
      await writeFile(join(git.dir, 'info', 'attributes'), '* diff=x\n')
      const base = git.commit({ files: { 'größe.md': 'a\n\nb\n' }, parents: [git.head()] })
      git.point('dev', git.commit({ files: { 'größe.md': 'A\n\nb\n' }, parents: [base] }))
      const { body } = await ann.get(`${at}/commits/dev/diff`, patchOnly)
      expect(body).to.match(/^diff --git "a\/gr\\303\\266\\303\\237e.md".*@@ -1,3 \+1,3 @@\n-a\n\+A\n \n b\n$/s)
      expect((await diffOf(at, 'dev')).entities[0]).to.include({ additions: 1, deletions: 1 })
      expect(existsSync(mark)).to.equal(false)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
