import { expect } from 'chai'
import { gcStorm } from '../gc-storm.ts'

describe('git gc, repack -ad and pack-refs in a loop from outside, and maintenance of our own', () => {
  it('make no read and no write fail, show no stale head and lose nothing', async () => {
    const storm = await gcStorm((turns) => turns < 6)
    const { failedReads, failedWrites, staleHeads, lost, errors } = storm
    expect({ failedReads, failedWrites, staleHeads, lost, errors }).to.deep.equal({
      failedReads: [],
      failedWrites: [],
      staleHeads: [],
      lost: [],
      errors: [],
    })
    expect(Math.min(storm.commits, storm.merges, storm.reads)).to.be.greaterThan(0)
    expect([...storm.packing.values()].every(({ done }) => done > 0)).to.equal(true)
  })
})
