/** A transaction over many repositories whose process dies. Here at chosen points; `npm run test:points` takes every one. */

import { expect } from 'chai'
import { judgeJointMoves } from '../crash/joint-points.ts'
import { seed } from '../support/seed.ts'

describe('a transaction over 21 repositories', () => {
  it('is seen whole or not at all at any moment, and is finished or undone', async () => {
    const { points, torn, problems } = await judgeJointMoves(seed, false)
    expect(problems).to.deep.equal([])
    expect(points).to.equal(18)
    expect(torn, 'points at which refs need recovery').to.be.greaterThan(0)
  })
})
