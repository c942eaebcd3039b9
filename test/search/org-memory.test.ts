/** Organisations in the memory of the search thread, compared with their rows. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { OrgMemory } from '../../server/domain/search/org-memory.ts'
import { randomFrom } from '../support/random.ts'

interface Row {
  readonly text: string
  readonly changed: number
}
/** The rows of an organisation, by id. */
interface Org {
  epoch: string
  version: number
  readonly rows: Map<number, Row>
}
interface Copy {
  readonly epoch: string
  version: number
  readonly texts: Map<number, string>
}

/** Rows of organisations, and a memory that reads three of them in a slice. */
function openMemory(maxBytes?: number) {
  const orgs = new Map<string, Org>()
  const seen = { loads: 0, slices: 0, dropped: 0, fails: false }
  const used = new Set<Copy>()
  let epochs = 0
  const memory = new OrgMemory<Copy, undefined, typeof orgs, Org>({
    read: (read) => read(orgs),
    stateOf: (rows, id) => rows.get(id),
    isStale: (copy, { epoch }) => copy.epoch !== epoch,
    load: async (_, { epoch }) => {
      seen.loads++
      await nextTurn()
      if (seen.fails) throw new Error('no load')
      return { epoch, version: 0, texts: new Map() }
    },
    catchUp: (copy, _, { state }) => {
      seen.slices++
      const changed = [...state.rows].filter(([, row]) => row.changed > copy.version)
      const some = changed.sort(([, one], [, other]) => one.changed - other.changed).slice(0, 3)
      for (const [id, { text, changed: at }] of some) {
        copy.texts.set(id, text)
        copy.version = at
      }
      return changed.length === some.length
    },
    sizeOf: ({ texts }) => ({ documents: texts.size, bytes: 100 * texts.size }),
    isUsed: (copy) => used.has(copy),
    dropped: () => seen.dropped++,
    ...(maxBytes !== undefined && { maxBytes }),
  })
  const set = (id: string, row: number, text: string) => {
    const org = orgs.get(id) ?? { epoch: `epoch ${++epochs}`, version: 0, rows: new Map() }
    orgs.set(id, org)
    org.rows.set(row, { text, changed: ++org.version })
  }
  const ask = (id: string) => memory.ask(id, undefined, ({ texts }) => Object.fromEntries(texts))
  const wanted = (id: string) => {
    const org = orgs.get(id)
    return org && Object.fromEntries([...org.rows].map(([row, { text }]) => [row, text]))
  }
  return { orgs, memory, seen, used, set, ask, wanted }
}

describe('the memory of organisations', () => {
  it('answers as the rows do, through changes, deletions, moves and evictions', async () => {
    const random = randomFrom(1)
    const pick = (most: number) => Math.floor(random() * most)
    const { orgs, memory, seen, set, ask, wanted } = openMemory(2_000)
    for (let n = 0; n < 2_000; n++) {
      const id = `org${pick(6)}`
      const act = pick(20)
      if (act === 0) orgs.delete(id)
      const org = orgs.get(id)
      if (act === 1 && org) org.epoch = `${id} moved at ${n}`
      if (act < 8) set(id, pick(12), `text ${n}`)
      else if (act < 12) await memory.advance(id, undefined, act === 8)
      else expect(await ask(id), `step ${n}`).to.deep.equal(wanted(id))
      const held = [...orgs.keys()].map((one) => memory.get(one)?.texts.size ?? 0)
      expect(memory.gauges().bytes).to.be.at.most(2_000)
      expect(memory.gauges().documents).to.be.at.least(held.reduce((sum, one) => sum + one, 0))
    }
    expect(seen.dropped).to.be.above(100)
  })

  it('loads once for questions that come together, in slices', async () => {
    const { seen, set, ask, wanted } = openMemory()
    for (let row = 0; row < 10; row++) set('org', row, 'a')
    const answers = await Promise.all([ask('org'), ask('org'), ask('org')])
    expect(answers).to.deep.equal([wanted('org'), wanted('org'), wanted('org')])
    expect(seen).to.include({ loads: 1, slices: 6 })
  })

  it('does not wait for the rows that are left, if a question says so', async () => {
    const { memory, set } = openMemory()
    for (let row = 0; row < 10; row++) set('org', row, 'a')
    const answer = ({ texts }: Copy, _: unknown, isWhole: boolean) => [texts.size, isWhole]
    expect(await memory.ask('org', undefined, answer, () => false)).to.deep.equal([3, false])
    expect(await memory.ask('org', undefined, answer)).to.deep.equal([10, true])
  })

  it('answers the next question after a load has failed', async () => {
    const { memory, seen, set, ask, wanted } = openMemory()
    set('org', 1, 'a')
    seen.fails = true
    expect(await ask('org').catch(String)).to.equal('Error: no load')
    expect(memory.gauges()).to.include({ bytes: 0, opened: 0 })
    seen.fails = false
    expect(await ask('org')).to.deep.equal(wanted('org'))
  })

  it('drops the least recently used first, but not what is in use', async () => {
    const { memory, used, set, ask } = openMemory()
    for (const id of ['a', 'b', 'c']) set(id, 1, id)
    for (const id of ['a', 'b', 'c', 'a']) await ask(id)
    const held = () => ['a', 'b', 'c'].filter((id) => memory.get(id))
    await nextTurn()
    memory.makeRoom(200)
    expect(held()).to.deep.equal(['a', 'c'])
    const c = memory.get('c')
    if (c) used.add(c)
    memory.makeRoom(0)
    expect(held()).to.deep.equal(['c'])
    memory.makeRoom(0, 0)
    expect(held()).to.deep.equal(['c'])
    used.clear()
    memory.makeRoom(0, 0)
    expect(held()).to.deep.equal([])
  })
})
