import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { withoutCycles } from '../../index/graph/acyclic.ts'
import { countRelatives } from '../../index/graph/graph-counts.ts'
import { runs } from '../support/seed.ts'

/** Sides of a square matrix of arcs: small enough for the walk, and no round number of words. */
const size = 45

type Pair = readonly [from: number, to: number]

const pairArbitrary = fc.tuple(fc.nat(size - 1), fc.nat(size - 1)).filter(([from, to]) => from !== to)
const pairsArbitrary: fc.Arbitrary<Pair[]> = fc.uniqueArray(pairArbitrary, {
  selector: ([from, to]) => from * size + to,
  maxLength: 160,
  size: 'max',
})
/** Any numbering of the nodes, so that an arc may lead from a higher number to a lower one. */
const numberingArbitrary = fc.shuffledSubarray([...Array(size).keys()], { minLength: size, maxLength: size })
const dagArbitrary = fc
  .tuple(pairsArbitrary, numberingArbitrary)
  .map(([pairs, numbers]) =>
    distinct(pairs.map(([a, b]) => [numbers[Math.min(a, b)] ?? 0, numbers[Math.max(a, b)] ?? 0])),
  )

describe('counts of a graph', () => {
  it('agree with a walk from every node, for any added and removed edges', () => {
    fc.assert(
      fc.property(dagArbitrary, fc.array(fc.nat(1_000), { maxLength: 10 }), (pairs, removals) => {
        const left = [...pairs]
        for (const removal of [-1, ...removals]) {
          if (removal >= 0) left.splice(removal % Math.max(1, left.length), 1)
          const { hidden, ...counts } = countRelatives(size, arcsOf(left))
          expect(plain(counts)).to.deep.equal(walk(size, left))
          expect(hidden).to.have.length(0)
        }
      }),
      { numRuns: runs(200) },
    )
  })

  for (const [shape, pairs] of shapes(2_500)) {
    it(`agree with a walk where nodes fill several blocks: ${shape}`, () => {
      const { hidden: _, ...counts } = countRelatives(2_500, arcsOf(pairs))
      expect(plain(counts)).to.deep.equal(walk(2_500, pairs))
    })
  }

  it('are empty for an empty graph, and zero for one without edges', () => {
    const { hidden: _, ...none } = countRelatives(0, arcsOf([]))
    expect(plain(none)).to.deep.equal({ parents: [], children: [], ancestors: [], descendants: [] })
    const { hidden: __, ...two } = countRelatives(2, arcsOf([]))
    expect(plain(two)).to.deep.equal({ parents: [0, 0], children: [0, 0], ancestors: [0, 0], descendants: [0, 0] })
  })
})

describe('edges that close a cycle', () => {
  it('are hidden until none is left, and no others', () => {
    fc.assert(
      fc.property(pairsArbitrary, (pairs) => {
        const { arcs, hidden, order } = withoutCycles(size, arcsOf(pairs))
        expect(distinct([...pairsOf(arcs), ...pairsOf(hidden)])).to.have.deep.members(pairs)
        const place = new Map([...order].map((node, at) => [node, at]))
        expect(place.size).to.equal(size)
        for (const [from, to] of pairsOf(arcs)) expect(place.get(from)).to.be.below(place.get(to) ?? -1)
        for (const [from, to] of pairsOf(hidden)) expect(reached(pairs, to).has(from)).to.equal(true)
      }),
    )
  })

  it('are the same in any order of reading, and with any other nodes around', () => {
    fc.assert(
      fc.property(pairsArbitrary, (pairs) => {
        const { hidden } = withoutCycles(size, arcsOf(pairs))
        const inKnots = pairs.filter(([from, to]) => reached(pairs, to).has(from))
        const again = withoutCycles(size, arcsOf(inKnots.reverse())).hidden
        expect(pairsOf(again)).to.have.deep.members(pairsOf(hidden))
      }),
    )
  })

  it('are one of a ring, the one that leads back to its lowest id', () => {
    const ring = [...Array(1_000).keys()].map((node): Pair => [node, (node + 1) % 1_000])
    expect(pairsOf(withoutCycles(1_000, arcsOf(ring)).hidden)).to.deep.equal([[999, 0]])
  })

  it('are half of those between 400 nodes that are all parents of one another', () => {
    const nodes = [...Array(400).keys()]
    const all = nodes.flatMap((from) => nodes.filter((to) => to !== from).map((to): Pair => [from, to]))
    const { hidden, ancestors } = countRelatives(400, arcsOf(all))
    expect(hidden).to.have.length(all.length)
    expect([...ancestors]).to.deep.equal(nodes)
  })
})

describe('the thread that draws graphs', () => {
  it.deep('takes only the request in hand with it when it dies, and another takes its place', async () => {
    const script = `
      import { drawInThread } from './server/features/graph/graph-thread.ts'
      const order = { file: 'nowhere.sqlite', orgId: 'none', known: undefined }
      const draw = () => drawInThread(order).then(() => 'drawn', (error) => error.code ?? error.message)
      process.once('worker', (worker) => worker.terminate())
      console.log(JSON.stringify([await draw(), await draw()]))`
    await expectReplaced(script)
  })

  it.deep('is ended if it does not answer, and another takes its place', async () => {
    const script = `
      import { mock } from 'node:test'
      import { setImmediate as nextTurn } from 'node:timers/promises'
      import { Worker } from 'node:worker_threads'
      import { drawInThread } from './server/features/graph/graph-thread.ts'
      const order = { file: 'nowhere.sqlite', orgId: 'none', known: undefined }
      const draw = () => drawInThread(order).then(() => 'drawn', (error) => error.code ?? error.message)
      const { postMessage } = Worker.prototype
      Worker.prototype.postMessage = () => {}
      mock.timers.enable({ apis: ['setTimeout'] })
      const first = draw()
      await nextTurn()
      mock.timers.tick(300_000)
      const silent = await first
      mock.timers.reset()
      Worker.prototype.postMessage = postMessage
      console.log(JSON.stringify([silent, await draw()]))`
    await expectReplaced(script)
  })

  /** `script` runs in a process of its own, and prints what became of two requests. */
  async function expectReplaced(script: string): Promise<void> {
    const options = ['--import', 'tsx', '--input-type=module', '-e', script]
    const [dead, next] = JSON.parse((await promisify(execFile)(process.execPath, options)).stdout)
    expect(dead).to.match(/^The thread that draws graphs ended/)
    expect(next).to.equal('storage_error')
  }
})

function arcsOf(pairs: readonly Pair[]): Uint32Array {
  return Uint32Array.from(pairs.flat())
}

function pairsOf(arcs: Uint32Array): Pair[] {
  return Array.from({ length: arcs.length / 2 }, (_, at) => [arcs[2 * at] ?? -1, arcs[2 * at + 1] ?? -1])
}

function distinct(pairs: readonly Pair[]): Pair[] {
  return [...new Map(pairs.map((pair) => [pair.join(), pair])).values()]
}

function plain<K extends string>(counts: Readonly<Record<K, Uint32Array>>): object {
  return Object.fromEntries(Object.entries<Uint32Array>(counts).map(([name, numbers]) => [name, [...numbers]]))
}

/** All nodes that are reached from `start`; `start` only by a cycle. */
function reached(pairs: readonly Pair[], start: number): Set<number> {
  const found = new Set(pairs.filter(([from]) => from === start).map(([, to]) => to))
  for (const node of found) for (const [from, to] of pairs) if (from === node) found.add(to)
  return found
}

/** The result by the rules, from the simplest fast enough walk of 2,500 nodes. */
function walk(nodes: number, pairs: readonly Pair[]): object {
  const next = { up: new Map<number, number[]>(), down: new Map<number, number[]>() }
  for (const [from, to] of pairs) {
    next.up.set(to, [...(next.up.get(to) ?? []), from])
    next.down.set(from, [...(next.down.get(from) ?? []), to])
  }
  const all = (direction: 'up' | 'down', node: number) => {
    const found = new Set(next[direction].get(node))
    for (const one of found) for (const other of next[direction].get(one) ?? []) found.add(other)
    return found.size
  }
  const each = (count: (node: number) => number) => Array.from({ length: nodes }, (_, node) => count(node))
  return {
    parents: each((node) => next.up.get(node)?.length ?? 0),
    children: each((node) => next.down.get(node)?.length ?? 0),
    ancestors: each((node) => all('up', node)),
    descendants: each((node) => all('down', node)),
  }
}

/** Graphs of `nodes` nodes whose numbers do not follow their order. */
function shapes(nodes: number): [string, Pair[]][] {
  const number = (node: number) => (node * 1_009) % nodes
  const from = (pairs: Pair[]) => distinct(pairs.map(([a, b]): Pair => [number(a), number(b)]))
  const each = (of: (node: number) => Pair[]) => from(Array.from({ length: nodes - 1 }, (_, at) => of(at + 1)).flat())
  return [
    ['a chain', each((node) => [[node - 1, node]])],
    ['a tree', each((node) => [[(node - 1) >>> 1, node]])],
    ['a star', each((node) => [[0, node]])],
    [
      'two parents each, near and far',
      each((node) => [
        [node >>> 1, node],
        [Math.max(0, node - 7), node],
      ]),
    ],
    ['a few ways among many nodes alone', each((node) => (node % 50 === 0 ? [[node - 50, node]] : []))],
  ]
}
