/** Deleting a node. */

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, grove, make, nodes, noNode, read, useScene } from './scene.ts'

describe('nodes', () => {
  useScene()

  describe('deleting one', () => {
    it('leaves nothing under it', async () => {
      const node = await make()
      await node.proposal('draft')
      await node.open('draft')
      const [head, total] = [node.git.head(), (await ann.get(nodes)).body.total]
      expect(await ann.delete(node.at)).to.deep.equal({ status: 204, body: undefined })
      const paths = [
        '',
        '/branches',
        '/branches/main',
        '/tags',
        '/tree/main',
        '/tree/main/files/node.json',
        '/tree/main/commits',
        `/tree/main/commits/${head}`,
        '/compare?base=main&head=main',
        '/pull-requests',
        '/pull-requests/1',
      ]
      for (const path of paths) expect(await ann.get(`${node.at}${path}`), path).to.deep.equal(noNode)
      expect(await ann.patch(node.at, { title: 'Dolphins' })).to.deep.equal(noNode)
      expect(await ann.delete(node.at)).to.deep.equal(noNode)
      expect((await ann.get(nodes)).body.total).to.equal(total - 1)
    })

    it('hides its edges from what it was linked with', async () => {
      const above = await make({ title: 'Above' })
      const node = await make({ parents: [above.id] })
      const below = await make({ title: 'Below', parents: [node.id] })
      await ann.post(`${node.at}/connections`, { target: above.id }).then(expecting(201))
      await ann.post(`${below.at}/connections`, { target: node.id }).then(expecting(201))
      await ann.delete(node.at).then(expecting(204))
      const alone = {
        parents: [],
        children: [],
        connections: [],
        num_parents: 0,
        num_children: 0,
        num_ancestors: 0,
        num_descendants: 0,
      }
      expect(await read(above)).to.deep.include(alone)
      expect(await read(below)).to.deep.include(alone)
    })

    it('does not lock what still names it in a file', async () => {
      const node = await make()
      const below = await make({ parents: [node.id] })
      await ann.post(`${below.at}/connections`, { target: node.id, id: 'gone' }).then(expecting(201))
      await ann.delete(node.at).then(expecting(204))
      expect((await ann.patch(below.at, { title: 'Below' })).status).to.equal(200)
      expect((await ann.patch(`${below.at}/connections/gone`, { label: 'once' })).status).to.equal(200)
      expect((await ann.delete(`${below.at}/connections/gone`)).status).to.equal(204)
      expect((await ann.delete(`${below.at}/parents/${node.id}`)).status).to.equal(204)
    })

    it('puts its repository into the trash, whole', async () => {
      const node = await make()
      const head = node.git.head()
      await ann.delete(node.at).then(expecting(204))
      const trash = join(grove.dataDir, 'trash', ann.org)
      const trashed = readdirSync(trash).filter((name) => name.startsWith(node.id))
      expect([existsSync(node.git.dir), trashed.length]).to.deep.equal([false, 1])
      expect(
        node.git
          .run(['--git-dir', join(trash, trashed[0] ?? ''), 'rev-parse', 'main'])
          .toString()
          .trim(),
      ).to.equal(head)
    })

    it('frees its id', async () => {
      const { id, at } = await make({ title: 'Old' })
      await ann.delete(at).then(expecting(204))
      expect((await ann.post(nodes, { id, title: 'New' })).body).to.include({ id, title: 'New' })
    })

    it('by ten at once succeeds once', async () => {
      const node = await make()
      const answers = await Promise.all(Array.from({ length: 10 }, () => ann.delete(node.at)))
      expect(answers.map((answer) => answer.status).sort()).to.deep.equal([204, ...Array(9).fill(404)])
    })
  })
})
