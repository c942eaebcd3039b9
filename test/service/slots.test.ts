/** Slots for heavy work: who runs, who waits, and in which order. */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Caller } from '../../server/domain/actor.ts'
import { type CallerLimits, createCallerSemaphore } from '../../server/domain/caller-semaphore.ts'

const person = (key: string): Caller => ({ key, isAnonymous: false })
const address = (key: string): Caller => ({ key, isAnonymous: true })
const [ann, bob, eve] = [person('ann'), person('bob'), person('eve')]

/** Work that ends when it is told to, in slots; `log` says what has begun. */
function slots(limits: Omit<CallerLimits, 'waitTimeoutMs' | 'refusal'>, waitTimeoutMs = 60_000) {
  const semaphore = createCallerSemaphore({ ...limits, waitTimeoutMs, refusal: 'Too much at this moment' })
  const log: string[] = []
  const ends = new Map<string, () => void>()
  const begin = (caller: Caller, name: string, orgId?: string, signal = new AbortController().signal) => {
    const work = () => {
      log.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    }
    const turn = { caller, signal, ...(orgId !== undefined && { orgId }) }
    return semaphore.run(turn, work).catch((error) => error.code ?? error.message)
  }
  /** Until all that has a slot has begun. */
  const begun = () => sleep(1)
  const end = async (name: string) => {
    ends.get(name)?.()
    await begun()
  }
  return { log, begin, begun, end }
}

describe('slots for heavy work', () => {
  it('run as many at once as there are, one for each person, the others in order', async () => {
    const { log, begin, begun, end } = slots({ all: { running: 2, waiting: 2 }, person: { running: 1, waiting: 1 } })
    const all = [begin(ann, 'a1'), begin(ann, 'a2'), begin(bob, 'b1'), begin(eve, 'e1')]
    await begun()
    expect(log).to.deep.equal(['a1', 'b1'])
    await end('b1')
    expect(log).to.deep.equal(['a1', 'b1', 'e1'])
    await end('a1')
    expect(log).to.deep.equal(['a1', 'b1', 'e1', 'a2'])
    await end('e1')
    await end('a2')
    expect(await Promise.all(all)).to.deep.equal(['a1', 'a2', 'b1', 'e1'])
  })

  it('turn away who comes when too many wait, who has waited too long, and who has gone', async () => {
    const { log, begin, end } = slots({ all: { running: 2, waiting: 2 }, person: { running: 1, waiting: 1 } }, 20)
    const gone = new AbortController()
    const first = begin(ann, 'a1')
    const waiting = begin(ann, 'a2')
    expect(await begin(ann, 'a3')).to.equal('busy')
    expect(await waiting).to.equal('busy')
    const leaving = begin(ann, 'a4', undefined, gone.signal)
    gone.abort(new Error('gone'))
    expect(await leaving).to.equal('gone')
    await end('a1')
    await first
    expect(log).to.deep.equal(['a1'])
  })

  it('give turns to callers, and within a caller to organisations', async () => {
    const { log, begin, begun, end } = slots({ all: { running: 1, waiting: 20 }, person: { running: 1, waiting: 10 } })
    void begin(eve, 'now')
    for (const name of ['x1', 'x2', 'x3']) void begin(eve, name, 'x')
    for (const name of ['y1', 'y2']) void begin(eve, name, 'y')
    void begin(ann, 'a1', 'x')
    void begin(bob, 'b1', 'x')
    void begin(ann, 'a2', 'x')
    await begun()
    for (let n = 0; n < 9; n++) await end(log[n] ?? '')
    expect(log).to.deep.equal(['now', 'x1', 'a1', 'b1', 'y1', 'a2', 'x2', 'y2', 'x3'])
  })

  it('leave an organisation that has its share, and take the next one of the same caller', async () => {
    const limits = { all: { running: 3, waiting: 9 }, person: { running: 3, waiting: 9 }, runningInOrg: 1 }
    const { log, begin, begun, end } = slots(limits)
    void begin(ann, 'x1', 'x')
    void begin(ann, 'x2', 'x')
    void begin(bob, 'x3', 'x')
    void begin(ann, 'y1', 'y')
    await begun()
    expect(log).to.deep.equal(['x1', 'y1'])
    await end('x1')
    expect(log).to.deep.equal(['x1', 'y1', 'x2'])
    await end('x2')
    expect(log).to.deep.equal(['x1', 'y1', 'x2', 'x3'])
  })

  it('keep places for people, however many addresses there are, and for each address', async () => {
    const { begin, begun, log } = slots({
      all: { running: 3, waiting: 20 },
      person: { running: 2, waiting: 2 },
      address: { running: 1, waiting: 2 },
      anonymous: { running: 2, waiting: 4 },
    })
    const at = (name: string, key: string) => begin(address(key), name)
    void at('1a', '192.0.2.1')
    void at('1b', '192.0.2.1')
    void at('1c', '192.0.2.1')
    expect(await at('1d', '192.0.2.1'), 'the fourth of an address').to.equal('busy')
    void at('2a', '192.0.2.2')
    void at('2b', '192.0.2.2')
    void at('3a', '192.0.2.3')
    expect(await at('4a', '192.0.2.4'), 'one more of all addresses').to.equal('busy')
    void begin(ann, 'a1')
    await begun()
    expect(log).to.deep.equal(['1a', '2a', 'a1'])
  })
})
