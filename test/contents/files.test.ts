/** Files of a branch, and objects by their ids, through HTTP. */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { aNode, ann, grove, leavesCleanRepositories, post, put, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

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

    it('is returned as base64 if it is not UTF-8, byte for byte in any case', async () => {
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

    it('has its mode if it is an executable or a symlink; a gitlink and a folder are not files', async () => {
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

    it('can be read by anyone if main or a tag has it', async () => {
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

  describe('all of this', leavesCleanRepositories)
})
