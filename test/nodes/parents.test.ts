/** The parents of a node. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { expecting, newNode } from '../support/node.ts'
import { ann, emptyOrg, grove, make, problem, read, useScene } from './scene.ts'

const noParent = { status: 404, body: { detail: 'The node does not have this parent', code: 'parent_not_found' } }

const noSuchParent = {
  status: 404,
  body: { detail: 'The parent does not exist in this organisation', code: 'parent_not_found' },
}

describe('nodes', () => {
  useScene()

  describe('parents', () => {
    it('are put by one commit on the child, which names both', async () => {
      const [parent, child] = [await make({ title: 'Oceans' }), await make()]
      const answer = await ann.put(`${child.at}/parents/${parent.id}`, { label: 'lives in' })
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.include({
        parents: [{ id: parent.id, title: 'Oceans', label: 'lives in' }],
        num_parents: 1,
        num_ancestors: 1,
      })
      expect(await read(child)).to.deep.equal(answer.body)
      expect(await read(parent)).to.deep.include({
        children: [{ id: child.id, title: 'Whales', label: 'lives in' }],
        num_children: 1,
        num_descendants: 1,
      })
      expect(child.git.log()).to.have.length(2)
      expect(parent.git.log()).to.have.length(1)
      expect(child.git.say('show', `main:parents/${parent.id}.json`)).to.equal('{\n  "label": "lives in"\n}')
    })

    it('are put again without another commit, the label kept unless a new one is given', async () => {
      const [parent, child] = [await make(), await make()]
      const path = `${child.at}/parents/${parent.id}`
      const first = await ann.put(path, { label: 'lives in' })
      expect(await ann.put(path)).to.deep.equal(first)
      expect(await ann.put(path, {})).to.deep.equal(first)
      expect(await ann.put(path, { label: null })).to.deep.equal(first)
      expect(child.git.log()).to.have.length(2)
      expect((await ann.put(path, { label: 'dives in' })).body.parents[0].label).to.equal('dives in')
      expect((await ann.put(path, { label: '' })).body.parents[0].label).to.equal('')
      expect(child.git.log()).to.have.length(4)
    })

    it('are refused if they close a cycle, over any number of levels', async () => {
      const chain = [await make()]
      for (let level = 0; level < 4; level++) chain.push(await make({ parents: [chain[level]?.id] }))
      const [top] = chain
      for (const below of chain) {
        const answer = await ann.put(`${top?.at}/parents/${below.id}`)
        expect(problem(answer)).to.deep.include({ loc: ['path', 'parent_id'], type: 'value_error' })
      }
      expect(top?.git.log()).to.have.length(1)
    })

    it('are refused by a commit that closes a cycle, whole', async () => {
      const above = await make()
      const below = await make({ parents: [above.id] })
      const path = `parents/${below.id}.json`
      const changes = [
        { action: 'put', path: 'a.md', content: 'a' },
        { action: 'put', path, content: '{}' },
      ]
      const answer = await ann.post(`${above.at}/tree/main/commits`, { message: 'Cycle', changes })
      const reason = `Node ${below.id} is already below this node, so this parent would create a cycle`
      expect(problem(answer)).to.deep.equal({
        loc: ['body', 'changes', 1],
        type: 'value_error',
        ctx: { path, reason },
      })
      expect(above.git.log()).to.have.length(1)
    })

    it('close no cycle when two are put together', async () => {
      for (let round = 0; round < 5; round++) {
        const [one, other] = [await make(), await make()]
        const answers = await Promise.all([
          ann.put(`${one.at}/parents/${other.id}`),
          ann.put(`${other.at}/parents/${one.id}`),
        ])
        expect(answers.map((answer) => answer.status).sort()).to.deep.equal([200, 422])
      }
    })

    it('may be diamonds', async () => {
      const top = await make()
      const [left, right] = [await make({ parents: [top.id] }), await make({ parents: [top.id] })]
      const bottom = await make({ parents: [left.id, right.id] })
      expect((await ann.put(`${bottom.at}/parents/${top.id}`)).body).to.include({ num_parents: 3, num_ancestors: 3 })
      expect(await read(top)).to.include({ num_children: 3, num_descendants: 3 })
    })

    it('are nodes of the same organisation that exist', async () => {
      const node = await make()
      const gone = await make()
      await ann.delete(gone.at).then(expecting(204))
      const foreign = await newNode(grove, await emptyOrg())
      for (const parent of [randomUUID(), gone.id, foreign.id, 'nonsense']) {
        expect(await ann.put(`${node.at}/parents/${parent}`), parent).to.deep.equal(noSuchParent)
      }
      for (const parent of [foreign.id, gone.id]) {
        const change = { action: 'put', path: `parents/${parent}.json`, content: '{}' }
        const answer = await ann.post(`${node.at}/tree/main/commits`, { message: 'Edge', changes: [change] })
        expect(problem(answer)).to.deep.include({ loc: ['body', 'changes', 0] })
      }
    })

    it('are taken away by one commit, once', async () => {
      const parent = await make()
      const child = await make({ parents: [parent.id] })
      const path = `${child.at}/parents/${parent.id}`
      expect(await ann.delete(path)).to.deep.equal({ status: 204, body: undefined })
      expect(await read(child)).to.deep.include({ parents: [], num_ancestors: 0 })
      expect(await ann.delete(path)).to.deep.equal(noParent)
      expect(await ann.delete(`${child.at}/parents/nonsense`)).to.deep.equal(noParent)
      expect(child.git.log()).to.have.length(2)
    })

    it('are not taken for files that only look alike', async () => {
      const parent = await make()
      const child = await make({ parents: [parent.id] })
      await child.commit('main', { [`parents/old/${parent.id}.json`]: '{}' })
      expect(await ann.delete(`${child.at}/parents/old%2F${parent.id}`)).to.deep.equal(noParent)
      expect((await read(child)).parents).to.have.length(1)
    })

    it('move only at the expected head', async () => {
      const [parent, child] = [await make(), await make()]
      const path = `${child.at}/parents/${parent.id}`
      const stale = '0123456789012345678901234567890123456789'
      expect((await ann.put(path, { expected_head: stale })).body).to.include({
        code: 'head_moved',
        current_head: child.git.head(),
      })
      expect((await ann.put(path, { expected_head: child.git.head() })).status).to.equal(200)
      expect((await ann.delete(`${path}?expected_head=${stale}`)).body).to.include({
        code: 'head_moved',
        current_head: child.git.head(),
      })
      expect((await ann.delete(`${path}?expected_head=${child.git.head()}`)).status).to.equal(204)
    })
  })
})
