/** The tree of a branch through HTTP, with git ls-tree as the oracle. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { aNode, ann, post, put, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

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
})
