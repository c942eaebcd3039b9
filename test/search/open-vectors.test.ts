/** The vectors that the search thread holds, over rows in memory. */

import { expect } from 'chai'
import type { VectorRows } from '../../index/vectors/read-rows.ts'
import { type OrgVectors, openVectors } from '../../server/domain/search/open-vectors.ts'

const dimensions = 4
const good = Int8Array.of(1, 2, 3, 4)

/** Two models with the same nodes, and the vectors over them. */
function openOver() {
  const nodes: { id: string; seq: number; vector: Int8Array }[] = []
  const reports: unknown[] = []
  const put = (vector: Int8Array, count = 1) => {
    for (let n = 0; n < count; n++) nodes.push({ id: `n${nodes.length}`, seq: nodes.length + 1, vector })
  }
  const rows: Partial<VectorRows> = {
    modelOf: (id) => (id === 'none' ? undefined : { number: id.length, name: id, dimensions }),
    stateOf: () => ({ incarnation: 'first', seq: nodes.length }),
    nodesSince: (_, __, from, limit) =>
      nodes
        .filter(({ seq }) => seq > from)
        .slice(0, limit)
        .map((one) => ({ ...one, head: '', keys: [], isGone: false })),
  }
  const vectors = openVectors(rows as VectorRows, (error) => reports.push(error)) // it reads only these
  const count = (model = 'a') => vectors.during('org', model, async (held) => held?.vectors.size)
  return { put, nodes, reports, vectors, count }
}

describe('vectors in memory', () => {
  it('are read in turns, and follow the rows', async () => {
    const { put, vectors, count } = openOver()
    put(good, 2_500)
    expect(await Promise.all([count(), count()])).to.deep.equal([2_500, 2_500])
    put(good)
    put(new Int8Array(0))
    expect(await count()).to.equal(2_501)
    expect(await vectors.during('org', 'a', async (held) => held?.settled)).to.equal(2_502)
    expect(await count('none')).to.equal(undefined)
  })

  it('stay while a question uses them, also if another model replaces them', async () => {
    const { put, vectors, count } = openOver()
    put(good, 10)
    let kept: OrgVectors | undefined
    await vectors.during('org', 'a', async (held) => {
      kept = held
      vectors.makeRoom(0)
      expect(await count('bb')).to.equal(10)
      expect(held?.vectors.get('n1')).to.deep.equal(good)
    })
    expect(kept?.vectors.size, 'freed at the end').to.equal(0)
    expect(await count('bb')).to.equal(10)
    vectors.makeRoom(0)
    expect(vectors.bytes()).to.equal(0)
  })

  it('are missing if they do not fit, and are read again by the next question', async () => {
    const { put, nodes, reports, vectors, count } = openOver()
    put(good, 10)
    put(Int8Array.of(1))
    expect(await count()).to.equal(undefined)
    expect(reports.map(String)).to.have.length(1)
    expect(vectors.bytes()).to.equal(0)
    nodes.pop()
    expect(await count()).to.equal(10)
  })
})
