/** Mutual exclusion by keys: what waits for what, and in which order. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createKeyedMutex } from '../../gitstore/concurrency/keyed-mutex.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Work that ends when it is told to; `begun` lists what has begun. */
function scene() {
  const mutex = createKeyedMutex()
  const begun: number[] = []
  const ends = new Map<number, () => void>()
  const ask = (id: number, keys: readonly string[], fails = false) => {
    const work = () => {
      begun.push(id)
      return new Promise<number>((resolve, reject) =>
        ends.set(id, () => (fails ? reject(new Error('failed')) : resolve(id))),
      )
    }
    return mutex.run(keys, work).catch((error: unknown) => error)
  }
  const end = async (id: number) => {
    ends.get(id)?.()
    await settled()
  }
  return { mutex, begun, ask, end }
}

const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 })

describe('a mutex by keys', () => {
  it('begins each work as soon as all earlier work on its keys has ended, and not before', async () => {
    const asked = fc.array(fc.record({ keys, fails: fc.boolean() }), { minLength: 1, maxLength: 12 })
    const property = fc.asyncProperty(asked, fc.infiniteStream(fc.nat(11)), async (all, choices) => {
      const { mutex, begun, ask, end } = scene()
      const ended = new Set<number>()
      for (const [id, { keys, fails }] of all.entries()) void ask(id, keys, fails)
      const blocked = (id: number) =>
        all.some((one, at) => at < id && !ended.has(at) && one.keys.some((key) => all[id]?.keys.includes(key)))
      await settled()
      for (let left = all.length; left > 0; left--) {
        const free = [...all.keys()].filter((id) => !blocked(id))
        expect([...begun].sort((a, b) => a - b)).to.deep.equal(free)
        const running = free.filter((id) => !ended.has(id))
        const next = running[(choices.next().value ?? 0) % running.length] ?? -1
        ended.add(next)
        await end(next)
      }
      for (const key of ['a', 'b', 'c', 'd']) expect(mutex.isBusy(key)).to.equal(false)
    })
    await fc.assert(property, { numRuns: 100 })
  })

  it('returns what the work returns or throws, and goes on after a failure', async () => {
    const { mutex, ask, end } = scene()
    const all = [ask(1, ['a'], true), ask(2, ['a'])]
    await settled()
    expect([mutex.isBusy('a'), mutex.isBusy('b')]).to.deep.equal([true, false])
    await end(1)
    await end(2)
    const [failed, done] = await Promise.all(all)
    expect(failed).to.be.an('error').with.property('message', 'failed')
    expect(done).to.equal(2)
  })
})
