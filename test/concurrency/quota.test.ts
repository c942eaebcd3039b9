/** Quotas: what is held at this moment, by shares. */
import { expect } from 'chai'
import { createQuota } from '../../gitstore/concurrency/quota.ts'

describe('a quota', () => {
  const ofTen = () =>
    createQuota<string>((name) => [
      ['all', 10],
      [name, 6],
    ])

  it('has room for what fits in every share', () => {
    const quota = ofTen()
    expect(quota.has('ann', 6)).to.equal(true)
    expect(quota.has('ann', 7)).to.equal(false)
    quota.acquire('ann', 6)
    expect(quota.has('ann')).to.equal(false)
    expect(quota.has('bob', 4)).to.equal(true)
    expect(quota.has('bob', 5)).to.equal(false)
  })

  it('has all of its room again when everything is released', () => {
    const quota = ofTen()
    for (const [name, amount] of [
      ['ann', 6],
      ['bob', 4],
    ] as const)
      quota.acquire(name, amount)
    expect(quota.has('eve')).to.equal(false)
    quota.release('ann', 5)
    quota.release('bob', 4)
    quota.release('ann')
    for (const name of ['ann', 'bob', 'eve']) expect(quota.has(name, 6)).to.equal(true)
  })
})
