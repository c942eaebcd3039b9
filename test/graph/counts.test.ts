/** The counts of the public graph, with a walk as the oracle. */

import { expect } from 'chai'
import fc from 'fast-check'
import { grove as command } from '../support/command.ts'
import { expecting, newNode } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { type Change, type Counted, countsOf, Model, size } from './model.ts'
import { ann, anybody, grove, make, read, useScene } from './scene.ts'

describe('the graph', () => {
  useScene()

  describe('counts', () => {
    it('each ancestor and descendant once, however many ways lead there', async () => {
      const top = await make({ title: 'top' })
      const [left, right] = [
        await make({ title: 'left', parents: [top.id] }),
        await make({ title: 'right', parents: [top.id] }),
      ]
      const bottom = await make({ title: 'bottom', parents: [left.id, right.id, top.id] })
      const below = await make({ title: 'below', parents: [bottom.id, left.id] })
      const { nodes } = await read()
      expect(
        Object.fromEntries(nodes.map((node: Counted & { title: string }) => [node.title, countsOf(node)])),
      ).to.deep.equal({
        top: { num_parents: 0, num_children: 3, num_ancestors: 0, num_descendants: 4 },
        left: { num_parents: 1, num_children: 2, num_ancestors: 1, num_descendants: 2 },
        right: { num_parents: 1, num_children: 1, num_ancestors: 1, num_descendants: 2 },
        bottom: { num_parents: 3, num_children: 1, num_ancestors: 3, num_descendants: 1 },
        below: { num_parents: 2, num_children: 0, num_ancestors: 4, num_descendants: 0 },
      })
      const alone = await Promise.all([top, left, right, bottom, below].map(async ({ at }) => (await ann.get(at)).body))
      expect(alone.map(countsOf)).to.deep.equal(nodes.map(countsOf))
    })

    it('do not count connections', async () => {
      const [whales, krill] = [await make(), await make()]
      await ann.post(`${whales.at}/connections`, { target: krill.id }).then(expecting(201))
      const none = { num_parents: 0, num_children: 0, num_ancestors: 0, num_descendants: 0 }
      expect((await read()).nodes.map(countsOf)).to.deep.equal([none, none])
    })

    it('are right after the index was rebuilt next to the running service', async () => {
      const [one, two, three] = [await make(), await make(), await make()]
      await ann.put(`${two.at}/parents/${one.id}`).then(expecting(200))
      await read()
      expect((await command(grove.dataDir, 'reindex')).code).to.equal(0)
      await ann.put(`${three.at}/parents/${two.id}`).then(expecting(200))
      expect((await read()).nodes.map((node: Counted) => node.num_ancestors)).to.deep.equal([0, 1, 2])
    })

    it.deep('agree with a walk of whatever edges were put, refused and taken away', async () => {
      await fc.assert(
        fc.asyncProperty(changesArbitrary, async (changes) => {
          const { body } = await ann.post('/orgs', { name: 'Random', published: true }).then(expecting(201))
          const person = { ...ann, org: body.id }
          const nodes = await Promise.all(Array.from({ length: size }, () => newNode(grove, person)))
          const model = new Model()
          for (const change of changes) {
            const [child, parent] = [nodes[change.child], nodes[change.parent]]
            const path = `${child?.at}/parents/${parent?.id}`
            const { status } = await (change.kind === 'put'
              ? ann.put(path)
              : change.kind === 'remove'
                ? ann.delete(path)
                : ann.delete(child?.at ?? ''))
            expect(status, JSON.stringify(change)).to.equal(model.change(change))
          }
          const shown = (await anybody.get(`/public/orgs/${body.id}/graph`)).body
          const numberOf = new Map(nodes.map(({ id }, at) => [id, at]))
          const counts = shown.nodes.map((node: Counted) => [numberOf.get(node.id), countsOf(node)])
          const edges = shown.edges.map(
            (edge: { source: string; target: string }) => `${numberOf.get(edge.source)} ${numberOf.get(edge.target)}`,
          )
          expect(new Map(counts)).to.deep.equal(model.counts())
          expect(edges.sort()).to.deep.equal(model.visibleEdges().sort())
          for (const at of model.alive) {
            const alone = (await ann.get(nodes[at]?.at ?? '')).body
            expect(countsOf(alone), `node ${at}`).to.deep.equal(model.counts().get(at))
          }
        }),
        { numRuns: runs(8) },
      )
    })
  })
})

const nodeArbitrary = fc.nat(size - 1)

const changesArbitrary: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 16, arbitrary: fc.constant('put' as const) },
      { weight: 4, arbitrary: fc.constant('remove' as const) },
      { weight: 1, arbitrary: fc.constant('delete' as const) },
    ),
    child: nodeArbitrary,
    parent: nodeArbitrary,
  }),
  { minLength: 10, maxLength: 40, size: 'max' },
)
