/** Semaphores: what runs, what waits, what is refused, and whose turn is next. */
import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import fc from 'fast-check'
import { createQuota } from '../../gitstore/concurrency/quota.ts'
import { createSemaphore, type Turn } from '../../gitstore/concurrency/semaphore.ts'
import { type HeldTimers, holdTimers } from '../support/held-timers.ts'
import { type Asked, limits, SemaphoreModel } from './semaphore-model.ts'

type AskedTurn = Asked & Turn

/** Until all promises that can settle have settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const refused = new Error('refused')
const aborted = new Error('aborted')

/** A semaphore with the limits of the model; `log` says what became of each turn. */
function scene() {
  const running = createQuota<AskedTurn>(({ key, group }) => [
    ['all', limits.all],
    [`key ${key}`, limits.key],
    [`group ${group}`, limits.group],
  ])
  const waiting = createQuota<AskedTurn>(({ key }) => [
    ['all', limits.waiting],
    [`key ${key}`, limits.waitingOfKey],
  ])
  const semaphore = createSemaphore<AskedTurn>({
    running,
    waiting: { quota: waiting, timeoutMs: limits.timeoutMs, refusal: () => refused },
    laneOf: ({ key, group }) => ({ key, group }),
  })
  const log: [id: number, end: unknown][] = []
  const releases = new Map<number, () => void>()
  const gone = new Map<number, AbortController>()
  let most = 0
  const ask = (asked: Asked) => {
    const controller = new AbortController()
    gone.set(asked.id, controller)
    semaphore.acquire({ ...asked, signal: controller.signal }).then(
      (release) => {
        releases.set(asked.id, release)
        most = Math.max(most, releases.size)
        log.push([asked.id, 'admitted'])
      },
      (error: unknown) => log.push([asked.id, error]),
    )
  }
  const release = (id: number) => {
    const give = releases.get(id)
    releases.delete(id)
    give?.()
  }
  const abort = (id: number) => gone.get(id)?.abort(aborted)
  const signals = () => [...gone.values()].map(({ signal }) => signal)
  return { ask, release, abort, log, running, waiting, signals, semaphore, most: () => most }
}

type Step =
  | { readonly kind: 'ask'; readonly key: string; readonly group: string }
  | { readonly kind: 'release' | 'abort'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number }

const key = fc.constantFrom('ann', 'bob', 'eve')
const group = fc.constantFrom('x', 'y')
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask'), key, group }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('release'), which: fc.nat(limits.all - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort'), which: fc.nat(limits.waiting - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass'), ms: fc.constantFrom(20, 60) }) },
)

let timers: HeldTimers

/** Makes the step in both, and waits until nothing moves. */
async function take(step: Step, id: number, model: SemaphoreModel, real: ReturnType<typeof scene>): Promise<void> {
  if (step.kind === 'ask') {
    const asked = { id, key: step.key, group: step.group }
    model.ask(asked)
    real.ask(asked)
  } else if (step.kind === 'pass') {
    model.pass(step.ms)
    timers.tick(step.ms)
  } else {
    const from = step.kind === 'release' ? model.running : model.waiting
    const found = from[step.which]
    if (found) for (const one of [model, real]) one[step.kind](found.id)
  }
  await settled()
}

/** The log of a scene in the model's words. */
const inWords = (log: readonly [number, unknown][], model: SemaphoreModel) =>
  log.map(([id, end], at) => [id, end === aborted ? 'aborted' : end === refused ? model.log[at]?.[1] : end])

describe('a semaphore', () => {
  describe('on a clock of the test', () => {
    beforeEach(() => {
      timers = holdTimers()
    })
    afterEach(() => timers.release())

    it('does what a simple model does, never exceeds its limits, and lets all that wait run in the end', async () => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const [model, real] = [new SemaphoreModel(), scene()]
        for (const [id, step] of steps.entries()) {
          await take(step, id, model, real)
          expect(inWords(real.log, model)).to.deep.equal(model.log)
          expect(real.semaphore.waiting()).to.equal(model.waiting.length)
        }
        const left = model.waiting.length
        const before = model.log.length
        while (model.running.length > 0) await take({ kind: 'release', which: 0 }, -1, model, real)
        expect(real.log.slice(before).map(([, end]) => end)).to.deep.equal(Array(left).fill('admitted'))
        expect(real.most()).to.be.at.most(limits.all)
        expectNoTrace(real)
      })
      await fc.assert(property, { numRuns: 100 })
    })

    function expectNoTrace({ running, waiting, signals, semaphore }: ReturnType<typeof scene>) {
      for (const name of ['ann', 'bob', 'eve']) {
        const asked = { id: 0, key: name, group: 'x' }
        expect(running.has(asked, limits.key)).to.equal(true)
        expect(waiting.has(asked, limits.waitingOfKey)).to.equal(true)
      }
      expect(semaphore.waiting()).to.equal(0)
      for (const signal of signals()) expect(getEventListeners(signal, 'abort')).to.have.length(0)
    }

    it('refuses a turn that has waited too long, at that time and not before', async () => {
      const { ask, log, semaphore } = scene()
      for (const id of [1, 2, 3]) ask({ id, key: 'ann', group: 'x' })
      timers.tick(limits.timeoutMs - 1)
      await settled()
      expect(semaphore.waiting()).to.equal(1)
      timers.tick(1)
      await settled()
      expect(log.at(-1)).to.deep.equal([3, refused])
    })

    it('never refuses a turn that it has admitted, however long it runs or its caller is gone', async () => {
      const { ask, release, abort, log } = scene()
      for (const id of [1, 2, 3]) ask({ id, key: 'ann', group: 'x' })
      await settled()
      release(1)
      await settled()
      timers.tick(10 * limits.timeoutMs)
      abort(3)
      await settled()
      expect(log.map(([, end]) => end)).to.deep.equal(['admitted', 'admitted', 'admitted'])
    })
  })

  it('takes nothing for a caller who is gone before asking', async () => {
    const semaphore = createSemaphore({ running: 1 })
    const error = await semaphore.acquire({ signal: AbortSignal.abort(aborted) }).catch((reason: unknown) => reason)
    expect(error).to.equal(aborted)
    expect(await semaphore.run({}, async () => 'free')).to.equal('free')
  })

  it('frees its place when the work fails, once for each turn', async () => {
    const semaphore = createSemaphore({ running: 1 })
    const error = await semaphore.run({}, () => Promise.reject(refused)).catch((reason: unknown) => reason)
    expect(error).to.equal(refused)
    const release = await semaphore.acquire({})
    release()
    release()
    await semaphore.acquire({})
    void semaphore.acquire({})
    await settled()
    expect(semaphore.waiting()).to.equal(1)
  })

  it('lets one who asks once pass the many of another, as far as one turn of theirs', async () => {
    const semaphore = createSemaphore<Turn & { name: string }>({ running: 1, laneOf: ({ name }) => ({ key: name }) })
    const order: string[] = []
    const ask = (name: string) => semaphore.run({ name }, async () => order.push(name))
    const all = Array.from({ length: 50 }, () => ask('many'))
    await Promise.all([...all, ask('once')])
    expect(order.indexOf('once')).to.equal(2)
    expect(order).to.have.length(51)
  })

  it('without lanes, admits those that fit in the order of arrival', async () => {
    type Named = Turn & { name: string }
    const running = createQuota<Named>(({ name }) => [
      ['all', 2],
      [name, 1],
    ])
    const semaphore = createSemaphore<Named>({ running })
    const order: string[] = []
    const releases: (() => void)[] = []
    for (const name of ['a', 'a', 'a', 'b', 'c', 'b']) {
      void semaphore.acquire({ name }).then((release) => {
        order.push(name)
        releases.push(release)
      })
    }
    for (let at = 0; at < 6; at++) {
      await settled()
      releases[at]?.()
    }
    expect(order).to.deep.equal(['a', 'b', 'a', 'c', 'a', 'b'])
  })

  it('shares the quota of what waits with another semaphore', async () => {
    const waiting = { quota: createQuota<Turn>(() => [['all', 1]]), refusal: () => refused }
    const [one, other] = [createSemaphore({ running: 1, waiting }), createSemaphore({ running: 1, waiting })]
    const release = await one.acquire({})
    await other.acquire({})
    const waits = one.acquire({})
    expect(await other.acquire({}).catch((error: unknown) => error)).to.equal(refused)
    release()
    await waits
    expect([one.waiting(), other.waiting()]).to.deep.equal([0, 0])
  })

  it('says how long a turn has waited, if it had to', async () => {
    const semaphore = createSemaphore({ running: 1 })
    const waits: string[] = []
    const waited = (name: string) => (ms: number) => waits.push(`${name} ${ms >= 0}`)
    const release = await semaphore.acquire({ waited: waited('first') })
    const second = semaphore.acquire({ waited: waited('second') })
    release()
    await second
    expect(waits).to.deep.equal(['second true'])
  })
})
