/** The size of one batch, and the turns that a large batch leaves to others. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

/** Parents, connections and files of all nodes of a batch. */
const most = 20_000

describe('a large batch of nodes', () => {
  const { ann } = useWorld({ ann: 'owner' })
  let path: string
  let hubs: string[]
  before(async () => {
    path = `/orgs/${ann.org}/nodes/batch`
    const nodes = Array.from({ length: 1_000 }, (_, n) => ({ title: `Hub ${n}` }))
    hubs = (await ann.post(path, { nodes }).then(expecting(201))).body.nodes.map(({ id }: { id: string }) => id)
  })

  const total = async () => (await ann.get(`/orgs/${ann.org}/nodes?limit=1`).then(expecting(200))).body.total
  /** Each has a connection to, or is a child of, every hub. */
  const items = (count: number, of: 'parents' | 'connections') =>
    Array.from({ length: count }, (_, n) => ({
      ref: `n${n}`,
      title: `Node ${n}`,
      ...(of === 'parents' ? { parents: hubs } : { connections: hubs.map((target) => ({ target })) }),
    }))

  it('is refused above 20,000 parents, connections and files, and nothing of it is written', async () => {
    const before = await total()
    const nodes = [
      ...items(10, 'parents'),
      ...items(9, 'connections'),
      { ref: 'files', title: 'Files', files: hubs.map((id) => ({ path: id, content: '' })) },
      { ref: 'one', title: 'One more', parents: ['files'] },
    ]
    const msg =
      'This batch has 20001 parents, connections and files, and the limit is 20,000. Send its nodes in several batches'
    const refusal = { loc: ['body', 'nodes'], msg, type: 'too_long', ctx: { max_length: most } }
    for (const send of [ann.post, ann.put])
      expect(await send(path, { nodes })).to.deep.equal({ status: 422, body: { detail: [refusal] } })
    expect(await total()).to.equal(before)
  })

  it.deep(
    'of 20,000 connections is written in many turns of the event loop, none of which takes most of the work',
    async () => {
      const body = JSON.stringify({ nodes: items(20, 'connections') })
      // A collection of garbage may make one turn long, so the smallest of three shares is judged.
      const shares: number[] = []
      for (let batch = 0; batch < 3; batch++) {
        const { longest, all } = await cpuOfTurns(() => ann.post(path, body).then(expecting(201)))
        shares.push(longest / all)
      }
      expect(Math.min(...shares)).to.be.below(0.12)
    },
  )
})

/** Microseconds of CPU of this process: of the longest turn of the event loop while `work` runs, and of all turns. */
async function cpuOfTurns(work: () => Promise<unknown>): Promise<{ readonly longest: number; readonly all: number }> {
  const first = process.cpuUsage()
  const sinceFirst = () => {
    const { user, system } = process.cpuUsage(first)
    return user + system
  }
  let longest = 0
  let last = 0
  let next = setImmediate(function measure() {
    const now = sinceFirst()
    longest = Math.max(longest, now - last)
    last = now
    next = setImmediate(measure)
  })
  try {
    await work()
    return { longest, all: sinceFirst() }
  } finally {
    clearImmediate(next)
  }
}
