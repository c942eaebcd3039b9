/**
 * An operation on a change set whose process dies is whole or not there: no page is half changed, and no lock is left.
 * Here at chosen steps; `npm run test:points` takes every one.
 */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { judgePoints, type Scene, setScene } from '../crash/points.ts'
import { setOperations, sweptProblems } from '../crash/set-points.ts'
import { randomOf } from '../support/random.ts'
import { seed } from '../support/seed.ts'

describe('an operation on a change set whose process dies', () => {
  let scene: Scene
  before(async () => {
    scene = await setScene()
  })
  after(async () => {
    await scene?.close()
    await rm(scene.dataDir, { recursive: true, force: true })
  })

  const random = randomOf(seed)
  const isMove = (step: string | undefined) => step !== undefined && /^rename .*(\/run\/|\.git$)/.test(step)

  for (const [name, make] of Object.entries(setOperations))
    it(`${name} is whole or not there`, async () => {
      let chosen: readonly number[] | undefined
      // After two moves of refs or repositories. The first one decides about those that follow.
      const isChosen = (_: string, at: number, steps: readonly string[]) => {
        const moves = [...steps.keys()].filter((one) => isMove(steps[one - 1]))
        const [first = -1, ...others] = moves
        chosen ??= [first, others.length > 0 ? random.pick(others) : -1]
        return chosen.includes(at)
      }
      const { points, problems } = await judgePoints(scene, make, 'KILL', isChosen)
      expect(problems).to.deep.equal([])
      expect(points).to.be.greaterThan(0)
    })

  it('leaves nothing that the sweep does not remove', async () => {
    await scene.close()
    expect(await sweptProblems(scene.dataDir)).to.deep.equal([])
  })
})
