/** Loops that work in rounds until a service drains. */

import { expect } from 'chai'
import type { Rounds } from '../../server/base/rounds.ts'
import { untilDraining } from '../../server/base/rounds.ts'

const hourMs = 3_600_000

describe('a loop of the service', () => {
  let rounds: Rounds
  let stopping: AbortController
  let failures: string[]
  /** The results of the next rounds. A string is thrown. The last one is repeated. */
  let outcomes: (boolean | string)[]
  let worked: number

  const run = (loop: { everyMs: number | ((tookMs: number) => number); failedMs?: number }) =>
    untilDraining(
      { rounds, draining: stopping.signal },
      {
        ...loop,
        name: 'a loop',
        work: async () => {
          worked++
          const outcome = (outcomes.length > 1 ? outcomes.shift() : outcomes[0]) ?? true
          if (typeof outcome === 'string') throw new Error(outcome)
          return outcome
        },
        failed: (error) => void failures.push(String(error)),
      },
    )
  const settle = async () => (await Promise.all([...rounds].map((round) => round.settle())))[0]

  beforeEach(() => {
    rounds = new Set()
    stopping = new AbortController()
    failures = []
    outcomes = [true]
    worked = 0
  })

  it('works once for each caller who waits, however long its pause is', async () => {
    const ended = run({ everyMs: hourMs })
    outcomes = [false, true]
    expect([await settle(), await settle(), worked]).to.deep.equal([false, true, 3])
    stopping.abort()
    await ended
    expect([rounds.size, worked]).to.deep.equal([0, 3])
  })

  it('reports a failure once while it repeats, and again after a round without one', async () => {
    const ended = run({ everyMs: hourMs })
    outcomes = ['no disk', 'no disk', 'no lock', 'no lock', true, 'no lock', true]
    const idle: unknown[] = []
    for (let times = 0; times < 7; times++) idle.push(await settle())
    expect(idle).to.deep.equal([false, false, false, false, true, false, true])
    expect(failures).to.deep.equal(['Error: no disk', 'Error: no lock', 'Error: no lock'])
    stopping.abort()
    await ended
  })

  it('pauses longer after a failure, and as long as its round asks', async () => {
    const pauses: number[] = []
    outcomes = ['busy', true]
    const began = performance.now()
    const ended = run({
      failedMs: 30,
      everyMs: (tookMs) => {
        pauses.push(tookMs)
        if (pauses.length === 3) stopping.abort()
        return 1
      },
    })
    await ended
    expect({ pauses: pauses.length, worked }).to.deep.equal({ pauses: 3, worked: 3 })
    expect(performance.now() - began).to.be.at.least(29)
  })

  it('answers callers who wait when it ends, and reports nothing that fails after the signal', async () => {
    let fail = (_: Error) => {}
    const ended = untilDraining(
      { rounds, draining: stopping.signal },
      {
        name: 'a loop',
        everyMs: hourMs,
        work: () =>
          new Promise((_, reject) => {
            fail = reject
          }),
        failed: (error) => void failures.push(String(error)),
      },
    )
    const settled = settle()
    stopping.abort()
    fail(new Error('stopped'))
    await ended
    expect([await settled, failures, rounds.size]).to.deep.equal([true, [], 0])
  })
})
