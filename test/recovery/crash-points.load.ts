/**
 * An operation whose process dies at a step, or at whose step the file system fails, is whole or not there, and keeps no other
 * waiting. Here at chosen steps; `npm run test:points` takes every one.
 */

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { operations } from '../crash/point-operations.ts'
import { judgePoints, type Scene, setScene } from '../crash/points.ts'
import { readLog } from '../events/log-rows.ts'
import { differencesFromGit } from '../events/replay.ts'
import { until } from '../support/until.ts'

describe('an operation that breaks off', () => {
  let scene: Scene

  before(async () => {
    scene = await setScene()
  })
  after(async () => {
    await scene?.close()
    await rm(scene.dataDir, { recursive: true, force: true })
  })

  for (const [name, make] of Object.entries(operations)) {
    it(`${name}: a step fails`, async () => {
      // Locks that cannot be removed, what follows the moves of refs, and everything else now and then.
      const { problems } = await judgePoints(scene, make, 'EIO', (step, at, steps) => {
        return step.startsWith('unlink') || isMove(steps[at - 1]) || /^mkdir .*refs\/grove$/.test(step) || at % 9 === 2
      })
      expect(problems).to.deep.equal([])
    })

    it(`${name}: the process dies`, async () => {
      const afterMove = (_: string, at: number, steps: readonly string[]) =>
        isMove(steps[at - 1]) || isCredentials(steps[at - 1])
      const { problems, points } = await judgePoints(scene, make, 'KILL', afterMove)
      expect(problems).to.deep.equal([])
      expect(points).to.be.greaterThan(0)
    })
  }

  // A process that dies between the move of a ref and its record has only left the intent.
  it('leaves each event with the user who made the change', async () => {
    const { ann } = scene
    const log = () => readLog(scene, ann.org)
    // An erasure replaces the commits of comments, which the events then do not name.
    const erased = log().flatMap(({ type, subject = '' }) => (type === 'comment.erased' ? subject.slice(6) : []))
    const isErased = (what: string) => erased.some((id) => what.startsWith(id))
    await until(() => differencesFromGit(scene, ann.org, log()).every(isErased))
    const events = log().filter(({ type }) => type !== 'log.began')
    const without = events.filter(({ data }) => data.actor?.name !== 'Ann')
    expect(without.map(({ seq, type, data }) => ({ seq, type, actor: data.actor }))).to.deep.equal([])
    expect(events.length).to.be.greaterThan(100)
  })
})

/** Of a ref, or of a whole repository. */
function isMove(step: string | undefined): boolean {
  return step !== undefined && /^rename .*(\/run\/|\.git$|\/tmp-\w+$)/.test(step)
}

/** A commit of credentials, where another one or a commit of Git follows. */
function isCredentials(step: string | undefined): boolean {
  return step?.includes('sync ') === true && step.includes('/credentials.sqlite')
}
