/** What branches hold: history, commits, trees, files and objects, through HTTP, with native git as the oracle. */

import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Git } from './support/git.ts'
import { type Answer, client, type Grove, newDataDir, type PersonClient, signUp, startGrove } from './support/grove.ts'
import { expecting, newNode, type TestNode } from './support/node.ts'

const mebi = 1_048_576

describe('contents', () => {
  let grove: Grove
  let ann: PersonClient
  let time = Date.parse('2026-01-01T00:00:00Z')
  const pass = (seconds: number) => {
    time += seconds * 1000
  }
  const nodes: TestNode[] = []
  const aNode = async (fields: object = {}) => {
    const node = await newNode(grove, ann, fields)
    nodes.push(node)
    return node
  }
  const put = (path: string, content = path) => ({ action: 'put', path, content })
  const post = ({ at }: TestNode, changes: object[], more: object = {}, branch = 'main') =>
    ann.post(`${at}/tree/${branch}/commits`, { message: 'A change', changes, ...more })

  before(async () => {
    grove = await startGrove({ now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

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

    it('is not guessed where an abbreviation names several of the branch', async () => {
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
              msg: 'names more than one commit of this branch; send more characters',
              type: 'value_error',
              input: a.slice(0, 7),
            },
          ],
        },
      })
      expect((await read(node, b)).body.id).to.equal(b)
    })

    it('that the branch does not contain, or that is none, is 404', async () => {
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

  describe('a tree', () => {
    const uuid = '01980a60-1f00-7a33-b2d4-6c8e0f1a2b03'
    const id64 = 'x'.repeat(64)
    const types: readonly (readonly [string, string, string])[] = [
      ['content.md', 'content', 'content.md'],
      ['node.json', 'node', 'NODE'],
      [`parents/${uuid}.json`, 'edge', uuid],
      ['connections/a-B_9.json', 'connection', 'a-B_9'],
      [`connections/${id64}.json`, 'connection', id64],
      [`connections/${id64}x.json`, 'file', ''],
      ['connections/a.b.json', 'file', ''],
      ['connections/a/b.json', 'file', ''],
      ['connections/a.txt', 'file', ''],
      ['connections/.json', 'file', ''],
      [`parents/${uuid.toUpperCase()}.json`, 'file', ''],
      [`parents/${uuid}.json.bak`, 'file', ''],
      [`parents/more/${uuid}.json`, 'file', ''],
      ['parents/readme.json', 'file', ''],
      ['Content.md', 'file', ''],
      ['README.md', 'file', ''],
      ['docs/content.md', 'file', ''],
      ['docs/node.json', 'file', ''],
      ['.gitmodules', 'file', ''],
      ['tool', 'file', ''],
      ['link', 'file', ''],
      ['sub', 'file', ''],
      ['größe/🐋.txt', 'file', ''],
    ]

    it('is a list of entities, by path byte for byte', async () => {
      const node = await aNode()
      const { git } = node
      const special = {
        'node.json': '{}',
        'connections/a-B_9.json': JSON.stringify({ target: uuid }),
        [`connections/${id64}.json`]: JSON.stringify({ target: uuid }),
        [`parents/${uuid}.json`]: '{}',
        tool: { mode: '100755', content: 'tool' },
        link: { mode: '120000', content: 'tool' },
        sub: { mode: '160000', oid: 'a'.repeat(40) },
      }
      const files = { ...Object.fromEntries(types.map(([path]) => [path, path])), ...special }
      git.point('hand', git.commit({ files, parents: [git.head()] }))
      const { body } = await ann.get(`${node.at}/tree/hand`)
      const { entities, ...page } = body
      const commit_id = git.head('hand')
      expect(page).to.deep.equal({
        node_id: node.id,
        branch: 'hand',
        commit_id,
        total: types.length,
        limit: 50,
        offset: 0,
      })
      expect(entities).to.deep.equal(
        git
          .say('ls-tree', '-r', '-z', 'hand')
          .split('\0')
          .filter(Boolean)
          .map((line) => {
            const [mode, , object_id, entity_key = ''] = line.split(/[ \t]/)
            const [, entity_type, entity_id = ''] = types.find(([path]) => path === entity_key) ?? []
            const id = entity_id === 'NODE' ? node.id : entity_id || entity_key
            return { entity_type, entity_id: id, entity_key, object_id, mode }
          }),
      )
    })

    it('is read page by page', async () => {
      const node = await aNode()
      await post(
        node,
        ['b', 'a/b', 'a.b', 'a', 'ä'].slice(0, 3).map((path) => put(path)),
      ).then(expecting(201))
      const { body, headers } = await ann.get(`${node.at}/tree/main?limit=2&offset=1`)
      expect(body).to.deep.include({ total: 4, limit: 2, offset: 1 })
      expect(body.entities.map((one: { entity_key: string }) => one.entity_key)).to.deep.equal(['a/b', 'b'])
      expect(headers.link).to.equal(`<${node.at}/tree/main?limit=2&offset=3>; rel="next"`)
    })

    it('of main is empty for a node without a commit; other branches are 404', async () => {
      const { id, at } = await aNode({ initialize: false })
      expect(await ann.get(`${at}/tree/main`)).to.deep.equal({
        status: 200,
        body: { node_id: id, branch: 'main', entities: [], total: 0, limit: 50, offset: 0 },
      })
      expect((await ann.get(`${at}/tree/other`)).body.code).to.equal('branch_not_found')
      expect((await ann.get(`${at}/tree/main/files/node.json`)).body.code).to.equal('file_not_found')
    })
  })

  describe('a file', () => {
    it('is answered as text with all that is known of it', async () => {
      const node = await aNode({ text_content: '# Whales\n\nGröße\n' })
      expect(await ann.get(`${node.at}/tree/main/files/content.md`)).to.deep.equal({
        status: 200,
        body: {
          node_id: node.id,
          branch: 'main',
          commit_id: node.git.head(),
          path: 'content.md',
          entity_type: 'content',
          entity_id: 'content.md',
          object_id: node.git.say('rev-parse', 'main:content.md'),
          mode: '100644',
          size: 18,
          encoding: 'utf-8',
          content: '# Whales\n\nGröße\n',
        },
      })
    })

    it('is answered as base64 where it is not UTF-8, byte for byte in any case', async () => {
      const node = await aNode()
      const { git } = node
      const files = {
        bytes: Buffer.from(Array.from({ length: 256 }, (_, at) => at)),
        half: Buffer.of(0x61, 0xc3),
        surrogate: Buffer.of(0xed, 0xa0, 0x80),
        bom: Buffer.of(0xef, 0xbb, 0xbf, 0x61),
        nul: Buffer.of(0x61, 0, 0x62),
        empty: Buffer.alloc(0),
        crlf: Buffer.from('a\r\nb\r\n'),
      }
      git.point('main', git.commit({ files, parents: [git.head()] }))
      const encodings: Record<string, string> = {}
      for (const [path, bytes] of Object.entries(files)) {
        const { body } = await ann.get(`${node.at}/tree/main/files/${path}`)
        encodings[path] = body.encoding
        expect(Buffer.from(body.content, body.encoding).equals(bytes), path).to.equal(true)
        expect(body.size, path).to.equal(bytes.length)
      }
      const [text, coded] = ['utf-8', 'base64']
      expect(encodings).to.deep.equal({
        ...{ bytes: coded, half: coded, surrogate: coded },
        ...{ bom: text, nul: text, empty: text, crlf: text },
      })
    })

    it('is found by its path, slashes encoded or as they are', async () => {
      const node = await aNode()
      const paths = [
        'docs/a/b.txt',
        'docs/commits',
        'files/files',
        '100%',
        'a b',
        'q?x=1',
        'h#x',
        'größe/🐋',
        '+&;=,$@:~',
      ]
      await post(
        node,
        paths.map((path) => put(path)),
      ).then(expecting(201))
      for (const path of paths) {
        const encoded = await ann.get(`${node.at}/tree/main/files/${encodeURIComponent(path)}`)
        expect(encoded.body, path).to.include({ path, content: path })
        if (path.endsWith('/commits')) continue
        const raw = await ann.get(`${node.at}/tree/main/files/${path.split('/').map(encodeURIComponent).join('/')}`)
        expect(raw.body, path).to.deep.equal(encoded.body)
      }
    })

    it('that is an executable or a symlink has its mode; a gitlink and a folder are none', async () => {
      const { at, git } = await aNode()
      const files = {
        'bin/tool': { mode: '100755', content: 'tool' },
        link: { mode: '120000', content: 'bin/tool' },
        sub: { mode: '160000', oid: 'a'.repeat(40) },
      }
      git.point('main', git.commit({ files, parents: [git.head()] }))
      const read = (path: string) => ann.get(`${at}/tree/main/files/${path}`)
      expect((await read('bin%2Ftool')).body).to.include({ mode: '100755', content: 'tool' })
      expect((await read('link')).body).to.include({ mode: '120000', content: 'bin/tool' })
      for (const path of [
        'sub',
        'bin',
        'bin/',
        'nope',
        'link/x',
        'bin%2F..%2Flink',
        '..%2F..%2FHEAD',
        '%2Flink',
        '%00',
        'LINK',
      ])
        expect((await read(path)).body.code, path).to.equal('file_not_found')
    })
  })

  describe('an object', () => {
    it('is its bytes, to be cached for ever', async () => {
      const { at, git } = await aNode()
      const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 256))
      git.point('main', git.commit({ files: { bytes }, parents: [git.head()] }))
      const address = `${grove.url}${at}/objects/${git.say('rev-parse', 'main:bytes')}`
      const ask = (method: string) =>
        fetch(address, { method, headers: { authorization: `Bearer ${ann.session.accessToken}` } })
      const [got, head] = [await ask('GET'), await ask('HEAD')]
      expect(Buffer.from(await got.arrayBuffer()).equals(bytes)).to.equal(true)
      expect((await head.arrayBuffer()).byteLength).to.equal(0)
      for (const { status, headers } of [got, head]) {
        expect(status).to.equal(200)
        expect(headers.get('content-type')).to.equal('application/octet-stream')
        expect(headers.get('content-length')).to.equal('1000')
        expect(headers.get('cache-control')).to.equal('private, max-age=31536000, immutable')
        expect(headers.get('x-content-type-options')).to.equal('nosniff')
      }
    })

    it('that is none, or no blob, is 404', async () => {
      const { at, git } = await aNode()
      const other = await aNode()
      await other.commit('main', { 'other.txt': 'only there' })
      const blob = git.say('rev-parse', 'main:node.json')
      const names = [
        'f'.repeat(40),
        '0'.repeat(40),
        blob.slice(0, 39),
        blob.slice(0, 7),
        `${blob}0`,
        'main:node.json',
        '%00',
      ]
      names.push(git.head(), git.say('rev-parse', 'main^{tree}'), other.git.say('rev-parse', 'main:other.txt'))
      for (const name of names)
        expect(await ann.get(`${at}/objects/${name}`), name).to.deep.equal({
          status: 404,
          body: { code: 'object_not_found', detail: 'Object not found' },
        })
    })

    it('is for the public where main or a tag has it', async () => {
      const dataDir = await newDataDir()
      const open = await startGrove({ dataDir })
      try {
        const ben = await signUp(open, 'Ben')
        const node = await newNode(open, ben)
        await ben.patch(`/orgs/${ben.org}`, { published: true }).then(expecting(200))
        await node.proposal('draft')
        node.git.say('tag', 'v1', node.git.commit({ files: { tagged: 'tagged' }, parents: [node.git.head()] }))
        const status = async (name: string) =>
          (await client(open).get(`${node.at}/objects/${node.git.say('rev-parse', name)}`)).status
        expect(await status('main:node.json')).to.equal(200)
        expect(await status('v1:tagged')).to.equal(200)
        expect(await status('draft:draft.txt')).to.equal(404)
      } finally {
        await open.close()
        await rm(dataDir, { recursive: true, force: true })
      }
    })
  })

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

    it('may leave nothing', async () => {
      const node = await aNode()
      await post(node, [{ action: 'delete', path: 'node.json' }]).then(expecting(201))
      expect(node.git.say('ls-tree', 'main')).to.equal('')
      expect((await ann.get(node.at)).body.title).to.equal('Whales')
    })

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

    it('refuses a body of the wrong shape', async () => {
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

    it('refuses paths that git, a file system or a reader of the tree would not take', async () => {
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

    it('refuses a file where a folder stands, and the reverse', async () => {
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

    it('takes 1,000 changes and no more', async () => {
      const node = await aNode()
      const changes = Array.from({ length: 1000 }, (_, index) => put(`many/${index}`))
      expect(await refused(node, [...changes, put('last')])).to.deep.equal([422, [['changes'], 'too_long']])
      const { body } = await post(node, changes).then(expecting(201))
      expect(body.changes.added).to.have.length(1000)
    })

    it('takes a file of 10 MiB and no more', async () => {
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

    it('refuses node files that cannot be read, on any branch', async () => {
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
          msg: 'node.json: title must be a text of 1 to 500 characters that is not blank',
          type: 'value_error',
          ctx: { path: 'node.json', reason: 'title must be a text of 1 to 500 characters that is not blank' },
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

    it('compares expected_head with the head', async () => {
      const node = await aNode()
      const first = node.git.head()
      const head = await node.commit('main', { 'a.txt': 'a' })
      const moved = {
        status: 409,
        body: {
          code: 'head_moved',
          detail: 'The branch is not at the expected head; nothing was changed',
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

    it('makes the root of a node without a commit where expected_head is null', async () => {
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

  describe('comparing', () => {
    const compare = async ({ at }: TestNode, base: string, head: string) =>
      ann.get(`${at}/compare?base=${encodeURIComponent(base)}&head=${encodeURIComponent(head)}`)
    /** What git says of two names. */
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

    it('answers where two branches parted, how far each went, and what the head changed since', async () => {
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

    it('agrees with git in either direction, by branch, tag and id, through merges', async () => {
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

    it('answers everything as added where there is nothing in common', async () => {
      const node = await aNode()
      const alien = node.git.commit({ files: { alien: 'alien' } })
      node.git.point('alien', alien)
      const { body } = await compare(node, 'main', 'alien')
      expect(body).to.deep.include({ merge_base: null, commits_ahead: 1, commits_behind: 1 })
      expect(body.changes).to.deep.equal(changesByGit(node, alien, null))
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
        { numRuns: 15 },
      )
    }).timeout(60_000)
  })

  describe('all of this', () => {
    it('leaves repositories that git fsck finds clean', () => {
      expect(nodes.length).to.be.greaterThan(50)
      const clean = nodes.filter(({ git }) => git.say('for-each-ref', 'refs/heads/hand') === '')
      for (const { git } of clean) git.fsck()
    })
  })
})

/** What the service owes for `files` and these changes, by the rules of the contract. */
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
  const paths = [...after.keys()]
  if (paths.some((path) => paths.some((other) => other.startsWith(`${path}/`)))) return { status: 422, after }
  const same = after.size === files.size && paths.every((path) => after.get(path) === files.get(path))
  return { status: same ? 409 : 201, after }
}

/** `changes` of a commit as `git diff-tree` tells them; of a root, or from null, against nothing. */
function changesByGit({ id, git }: TestNode, target: string, from?: string | null) {
  const base = from === undefined ? (parentsOf(git, target)[0] ?? null) : from
  const trees = [base ?? git.say('hash-object', '-t', 'tree', '/dev/null'), target]
  const fields = git
    .run(['diff-tree', '-r', '-z', '--no-renames', ...trees])
    .toString()
    .split('\0')
    .slice(0, -1)
  const changes: Record<'added' | 'removed' | 'modified', object[]> = { added: [], removed: [], modified: [] }
  for (let at = 0; at < fields.length; at += 2) {
    const [, , before, after, status] = (fields[at] ?? '').split(' ')
    const entity = { ...entityOf(id, fields[at + 1] ?? ''), old_object_id: null, new_object_id: null }
    if (status === 'A') changes.added.push({ ...entity, object_id: after })
    else if (status === 'D') changes.removed.push({ ...entity, object_id: before })
    else changes.modified.push({ ...entity, object_id: after, old_object_id: before, new_object_id: after })
  }
  return { node_id: id, base_commit_id: base, target_commit_id: target, ...changes }
}

function parentsOf(git: Git, commit: string): string[] {
  return git.say('log', '-1', '--format=%P', commit).split(' ').filter(Boolean)
}

function entityOf(nodeId: string, entity_key: string) {
  const [folder, name = ''] = entity_key.split('/')
  const entity = (entity_type: string, entity_id: string) => ({ entity_type, entity_id, entity_key })
  if (entity_key === 'node.json') return entity('node', nodeId)
  if (entity_key === 'content.md') return entity('content', entity_key)
  if (folder === 'parents') return entity('edge', name.replace('.json', ''))
  return folder === 'connections' ? entity('connection', name.replace('.json', '')) : entity('file', entity_key)
}

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
