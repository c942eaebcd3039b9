/** Timers that a test holds, beside services that keep theirs for longer than the test. */
import { expect } from 'chai'
import { holdTimers } from '../support/held-timers.ts'
import { until } from '../support/until.ts'

describe('held timers', () => {
  it('run in the order of their times, and those that a timer sets', () => {
    const timers = holdTimers()
    const ran: string[] = []
    try {
      setTimeout((name) => ran.push(name), 30, 'third')
      setTimeout(() => ran.push('first', String(setTimeout(() => ran.push('last'), 50) !== undefined)), 10)
      clearTimeout(setTimeout(() => ran.push('never'), 10))
      setTimeout(() => ran.push('second'), 20)
      timers.tick(9)
      expect(ran).to.deep.equal([])
      timers.tick(30)
      expect(ran).to.deep.equal(['first', 'true', 'second', 'third'])
      timers.tick(49)
      expect(ran).to.have.length(4)
      timers.tick(1)
      expect(ran.at(-1)).to.equal('last')
    } finally {
      timers.release()
    }
  })

  it('lose none when the timer of an earlier holder is removed', () => {
    const earlier = holdTimers()
    const left = [setTimeout(() => {}, 3_600_000), setTimeout(() => {}, 3_600_000)]
    earlier.release()
    clearTimeout(left[0])
    const timers = holdTimers()
    try {
      let runs = 0
      setTimeout(() => runs++, 10)
      clearTimeout(left[1])
      timers.tick(10)
      expect(runs).to.equal(1)
    } finally {
      timers.release()
    }
  })

  it('run once, and after the test only if their owner refreshes them', async () => {
    const timers = holdTimers()
    const ran: string[] = []
    const again = setTimeout(() => ran.push('again'), 5)
    const left = setTimeout(() => ran.push('left'), 5)
    setTimeout(() => ran.push('dropped'), 6)
    timers.tick(5)
    left.refresh()
    expect(ran).to.deep.equal(['again', 'left'])
    timers.release()
    again.refresh()
    await until(() => ran.length > 2)
    // Real timers of one duration end in their order, so the one that was dropped would have run before.
    await new Promise((resolve) => setTimeout(resolve, 6))
    expect(ran).to.deep.equal(['again', 'left', 'again'])
  })
})
