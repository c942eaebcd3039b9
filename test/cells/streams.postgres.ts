/** A stream of events of another cell: it is passed on as it comes, and ends with either side. */
import { expect } from 'chai'
import { anEvent, append, eventsOf } from '../events/scene.ts'
import { type Follower, follow } from '../support/event-stream.ts'
import type { PersonClient } from '../support/people.ts'
import { signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { here, setUrls, startCell, there, useCells } from './scene.ts'

describe('a stream of another cell', () => {
  useCells()

  let ann: PersonClient

  before(async () => {
    await setUrls()
    ann = await signUp(here, 'Ann')
  })

  const following = async (headers: Record<string, string> = {}, cell = there): Promise<Follower> => {
    const path = eventsOf(ann.org, '?types=webhook.*')
    const follower = await follow(cell.url + path, ann.session.accessToken, headers)
    expect(follower.status).to.equal(200)
    await until(() => follower.blocks.length > 0)
    return follower
  }
  const add = () => append(here.deps.events, ann.org, [anEvent(ann.org)], new Date())
  const streams = async () => (await here.deps.metrics.eventStreams.get()).values[0]?.value

  it('has each event as it happens, and continues after a cursor', async () => {
    const follower = await following()
    const ids: string[] = []
    for (let at = 0; at < 3; at++) {
      ids.push(...(await add()))
      await until(() => follower.ids().length === ids.length)
    }
    expect(follower.ids()).to.deep.equal(ids)
    expect(follower.headers).to.include({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    })
    const cursor = follower.cursor()
    follower.close()
    await until(async () => (await streams()) === 0)
    const [missed] = await add()
    const next = await following({ 'last-event-id': cursor })
    await until(() => next.ids().length === 1)
    expect(next.ids()).to.deep.equal([missed])
    next.close()
  })

  it('ends at both when the cell that passes it on stops', async () => {
    const third = await startCell('third')
    const follower = await following({}, third)
    expect(await streams()).to.equal(1)
    await third.close()
    await until(() => follower.end() !== 'open')
    await until(async () => (await streams()) === 0)
  })
})
