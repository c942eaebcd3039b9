/** How many statements on `events.sqlite` a commit causes with streams. */

import { expect } from 'chai'
import { noteCalls } from '../support/calls.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Follower, follow } from '../support/event-stream.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { spawnGrove, untilReady } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import { eventsOf } from './scene.ts'

/** Rounds before the first that counts. They fill caches. */
const warmUps = 2
const rounds = 5

describe('statements of one commit with streams', () => {
  it('read its events once for all of them, and then the end of the log for each', async () => {
    const folder = await newDataDir()
    const calls = noteCalls(folder)
    const grove = await spawnGrove(folder, calls.environment)
    const followers: Follower[] = []
    try {
      await untilReady(grove)
      const ann = await signUp(grove, 'Ann')
      const node = await newNode(grove, ann)
      let words = 0
      const commit = async () => {
        const change = { action: 'put', path: 'content.md', content: `Words ${words++}\n` }
        await ann
          .post(`/orgs/${ann.org}/nodes/${node.id}/tree/main/commits`, { message: 'Edit', changes: [change] })
          .then(expecting(201))
      }
      /** The least of some commits. */
      const least = async () => {
        const counts: number[] = []
        for (let n = 0; n < warmUps + rounds; n++)
          counts.push((await calls.during(commit)).filter((line) => line.startsWith('sql events ')).length)
        return Math.min(...counts.slice(warmUps))
      }
      await calls.learnIdle()
      const without = await least()
      for (const [streams, more] of [
        [1, 6],
        [10, 15],
      ] as const) {
        while (followers.length < streams)
          followers.push(await follow(grove.url + eventsOf(ann.org), ann.session.accessToken))
        const before = followers.map((one) => one.ids().length)
        expect((await least()) - without, `${streams} streams`).to.equal(more)
        await until(() => followers.every((one, at) => one.ids().length === (before[at] ?? 0) + 2 * (warmUps + rounds)))
      }
    } finally {
      for (const one of followers) one.close()
      await grove.stop()
      calls.remove()
    }
  })
})
