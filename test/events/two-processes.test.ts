/** Readers of two services over one data folder: an event of one reaches the other. */
import { expect } from 'chai'
import { dataVersion, findLog } from '../../index/log/events.ts'
import { onNewEvents, wakeReaders } from '../../server/domain/event-log/wake.ts'
import { here, there, useTwoServices } from '../accounts/two-services.ts'
import { follow } from '../support/event-stream.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { anEvent, append, eventsOf } from './scene.ts'

describe('events in two processes', () => {
  useTwoServices()

  let ann: PersonClient
  let eve: PersonClient

  before(async () => {
    ann = await signUp(here, 'Ann')
    eve = await signUp(here, 'Eve')
    for (const { org } of [ann, eve]) await append(here.deps.events, org, [anEvent(org)])
  })

  it('reach the streams of both, in one order, from either', async () => {
    const query = '?types=webhook.*'
    const streams = await Promise.all(
      [here, there, there].map(({ url }) => follow(url + eventsOf(ann.org, query), ann.session.accessToken)),
    )
    await until(() => streams.every(({ blocks }) => blocks.length > 0))
    const ids: string[] = []
    for (let at = 0; at < 30; at++) {
      const { deps } = at % 2 === 0 ? here : there
      ids.push(...(await append(deps.events, ann.org, [anEvent(ann.org), anEvent(ann.org)])))
    }
    await until(() => streams.every((stream) => stream.ids().length >= ids.length))
    for (const stream of streams) {
      expect(stream.ids()).to.deep.equal(ids)
      stream.close()
    }
  })

  describe('wake a reader', () => {
    const position = async (org: string) =>
      (await findLog(here.deps.events.read, org)) ?? expect.fail('there is no log')
    const waiting = async (org: string) => {
      let rung = 0
      const cancel = onNewEvents(here.deps, org, await position(org), () => rung++)
      return { rung: () => rung, cancel }
    }

    it('once, and only those of the organisation', async () => {
      const [first, other] = [await waiting(ann.org), await waiting(eve.org)]
      await append(there.deps.events, ann.org, [anEvent(ann.org)])
      await until(() => first.rung() > 0)
      await append(there.deps.events, ann.org, [anEvent(ann.org)])
      await append(there.deps.events, eve.org, [anEvent(eve.org)])
      await until(() => other.rung() > 0)
      expect([first.rung(), other.rung()]).to.deep.equal([1, 1])
    })

    it('at once for the process that writes', async () => {
      const [first, other] = [await waiting(ann.org), await waiting(eve.org)]
      wakeReaders(here.deps, ann.org)
      expect([first.rung(), other.rung()]).to.deep.equal([1, 0])
      wakeReaders(here.deps, ann.org)
      expect(first.rung()).to.equal(1)
      other.cancel()
      wakeReaders(here.deps, eve.org)
      expect(other.rung()).to.equal(0)
    })

    it('that comes after the event was written, but has not read it', async () => {
      const before = await position(ann.org)
      const version = await dataVersion(here.deps.events.read)
      // Another reader, so that the change is noticed before the late one comes.
      const first = await waiting(ann.org)
      await append(there.deps.events, ann.org, [anEvent(ann.org)])
      await until(() => first.rung() > 0)
      expect(await dataVersion(here.deps.events.read)).to.not.equal(version)
      let rung = 0
      onNewEvents(here.deps, ann.org, before, () => rung++)
      await until(() => rung > 0)
    })
  })
})
