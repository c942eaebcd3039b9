/** The vectors of nodes, compared with a map and with sums in JavaScript. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  type ComparableVectors,
  createNodeVectors,
  type NodeVectors,
  SIMILARITY_UNITS,
} from '../../../index/search/meaning/node-vectors.ts'
import { BLOCK } from '../../../index/search/meaning/vector-scan.ts'
import { randomOf } from '../../support/random.ts'

const DIMENSIONS = 5

const aVector = fc
  .array(fc.integer({ min: -127, max: 127 }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((values) => values.some((value) => value !== 0))
  .map((values) => Int8Array.from(values))

const anId = fc.integer({ min: 0, max: 30 }).map((n) => `n${n}`)

/** An id, and its new vector, or that it goes. */
const someEdits = fc.array(fc.tuple(anId, fc.option(aVector, { nil: undefined, freq: 9 })), {
  maxLength: 80,
  size: 'max',
})

type Edits = readonly (readonly [string, Int8Array | undefined])[]

function perform(vectors: NodeVectors, edits: Edits): NodeVectors {
  for (const [id, vector] of edits) {
    if (vector === undefined) vectors.delete(id)
    else vectors.set(id, vector)
  }
  return vectors
}

/** The rows after the edits. */
const leftOf = (edits: Edits) =>
  [...new Map(edits)].flatMap(([id, vector]): [string, Int8Array][] => (vector === undefined ? [] : [[id, vector]]))

const product = (one: Int8Array, other: Int8Array) => one.reduce((sum, value, n) => sum + value * (other[n] ?? 0), 0)

/** The same in plain JavaScript. */
function compared(nodes: readonly [string, Int8Array][], question: Int8Array) {
  const found = nodes.map(([id, vector]) => {
    const lengths = Math.sqrt(product(vector, vector)) * Math.sqrt(product(question, question))
    return { id, similarity: Math.floor((product(question, vector) / lengths) * SIMILARITY_UNITS + 0.5) }
  })
  const mean = found.reduce((sum, { similarity }) => sum + similarity, 0) / found.length
  const deviation = Math.sqrt(found.reduce((sum, { similarity }) => sum + (similarity - mean) ** 2, 0) / found.length)
  if (found.length < 10 || deviation === 0) return undefined
  found.sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
  return found.map((node) => ({ ...node, z: (node.similarity - mean) / deviation }))
}

const nearest = (vectors: ComparableVectors, question: Int8Array, limit = 100) =>
  vectors.compare(question)?.nearest(limit)

const created = () => createNodeVectors(DIMENSIONS)

function using<T>(vectors: NodeVectors, use: (vectors: NodeVectors) => T): T {
  try {
    return use(vectors)
  } finally {
    vectors.free()
  }
}

describe('search: vectors of nodes', () => {
  it.deep('keep the last vector of each node, and compare as plain JavaScript does', () => {
    let answered = 0
    fc.assert(
      fc.property(someEdits, aVector, (edits, question) =>
        using(perform(created(), edits), (vectors) => {
          const left = leftOf(edits)
          expect(vectors.size).to.equal(left.length)
          for (const [id, vector] of left) expect(vectors.get(id)).to.deep.equal(vector)
          const [found, expected] = [nearest(vectors, question), compared(left, question)]
          expect(found?.map(({ id, similarity }) => ({ id, similarity }))).to.deep.equal(
            expected?.map(({ id, similarity }) => ({ id, similarity })),
          )
          for (const [n, { z }] of (found ?? []).entries()) expect(z).to.be.closeTo(expected?.[n]?.z ?? NaN, 1e-9)
          if (found) answered++
        }),
      ),
      { numRuns: 300 },
    )
    expect(answered, 'answers').to.be.above(50)
  })

  it('answer to the last bit the same in any order of arrival', () => {
    fc.assert(
      fc.property(someEdits, aVector, fc.nat(), (edits, question, seed) =>
        using(perform(created(), edits), (one) =>
          using(perform(created(), randomOf(seed).shuffled(leftOf(edits))), (other) => {
            expect(nearest(other, question)).to.deep.equal(nearest(one, question))
          }),
        ),
      ),
      { numRuns: 200 },
    )
  })

  it('compare a branch as if its vectors were all that there is, and leave the others as they were', () => {
    fc.assert(
      fc.property(someEdits, someEdits, fc.array(anId, { maxLength: 8 }), aVector, (edits, changes, away, question) =>
        using(perform(created(), edits), (base) => {
          const gone = away.filter((id) => !changes.some(([changed]) => changed === id))
          const before = nearest(base, question)
          const view = base.withOthers(new Map(changes), gone)
          const all: Edits = [...edits, ...changes, ...gone.map((id) => [id, undefined] as const)]
          using(perform(created(), leftOf(all)), (rebuilt) => {
            expect(view.size).to.equal(rebuilt.size)
            expect(nearest(view, question)).to.deep.equal(nearest(rebuilt, question))
          })
          expect(nearest(base, question)).to.deep.equal(before)
        }),
      ),
      { numRuns: 200 },
    )
  })

  it('return the best of many over several blocks, with all that are equal to the last', () => {
    const random = randomOf(3)
    const value = () => random.below(5) - 2
    const nodes = Array.from({ length: 9_000 }, (_, n): [string, Int8Array] => [
      `n${n}`,
      Int8Array.from([1, value(), value(), value(), value()]),
    ])
    const question = Int8Array.from([1, 2, 2, 1, 1])
    using(perform(created(), nodes), (vectors) => {
      const expected = compared(nodes, question) ?? []
      const found = nearest(vectors, question, 20) ?? []
      expect(found.length).to.be.at.least(20)
      expect(found.map(({ id }) => id)).to.deep.equal(expected.slice(0, found.length).map(({ id }) => id))
      expect(expected[found.length]?.similarity).to.be.below(found.at(-1)?.similarity ?? 0)
      for (const [id] of nodes.slice(0, 8_990)) vectors.delete(id)
      expect(nearest(vectors, question)?.map(({ id }) => id)).to.deep.equal(
        compared(nodes.slice(8_990), question)?.map(({ id }) => id),
      )
      expect(vectors.bytes).to.be.below(2 * BLOCK)
    })
  })

  it('refuse vectors of other dimensions and without a direction, and are empty once they are free', () => {
    const vectors = created()
    expect(() => vectors.set('a', new Int8Array(DIMENSIONS))).to.throw(RangeError)
    expect(() => vectors.set('a', Int8Array.from([1, 2]))).to.throw(RangeError)
    expect(() => vectors.compare(Int8Array.from([1, 2]))).to.throw(RangeError)
    expect(vectors.compare(Int8Array.from([1, 2, 3, 4, 5]))).to.equal(undefined)
    vectors.set('a', Int8Array.from([1, 2, 3, 4, 5]))
    vectors.free()
    expect([vectors.size, vectors.bytes, vectors.get('a')]).to.deep.equal([0, 0, undefined])
  })
})
