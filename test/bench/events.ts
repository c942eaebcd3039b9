/** Measures CPU time of a commit with webhooks and with streams of events, in turns, and of a service at rest. */

import { setTimeout as sleep } from 'node:timers/promises'
import { follow } from '../support/event-stream.ts'
import { expecting } from '../support/node.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { rowOf } from './measure.ts'
import { nanoseconds } from './processes.ts'
import type { Report } from './report.ts'
import { openScene, type Scene } from './scene.ts'

const rounds = 8
/** Unmeasured rounds, because V8 compiles while it runs. */
const warmUps = 4
const commits = 20
/** Milliseconds between two commits, in which their deliveries end. */
const pauseMs = 150
const [streams, eventsOfCommit] = [20, 2]
const restSeconds = 60

export async function benchEvents(report: Report): Promise<void> {
  const scene = await openScene(1, { FETCH_ALLOW: '127.0.0.1', WEBHOOK_HTTP: 'on' })
  const receiver = await startReceiver()
  try {
    await sleep(pauseMs * 100)
    const atRest = await costOf(scene, () => sleep(1_000 * restSeconds))
    report.rows('a service at rest', 'ms of CPU time a second', [rowOf('a new folder', [atRest / restSeconds])])
    const kinds = await Promise.all([0, 1, 5, 0].map((hooks) => newOrg(scene, receiver.url, hooks)))
    const open = await Promise.all(
      kinds.slice(-1).flatMap(({ stream }) => Array.from({ length: streams }, () => follow(...stream))),
    )
    const costs = kinds.map((): number[] => [])
    for (let round = -warmUps; round < rounds; round++)
      for (const [at, kind] of kinds.entries()) {
        const cost = await costOf(scene, async () => {
          for (let n = 0; n < commits; n++) await kind.commit().then(() => sleep(pauseMs))
        })
        if (round >= 0) costs[at]?.push(cost / commits)
      }
    for (const stream of open) stream.close()
    const names = ['without', 'with one webhook', 'with five webhooks', `with ${streams} streams`]
    report.rows(
      'a commit over REST',
      'ms of CPU time',
      names.map((name, at) => rowOf(name, costs[at] ?? [])),
    )
    const [plain = 0, ...more] = costs.map((some) => rowOf('', some).p50)
    for (const [at, pieces] of [eventsOfCommit, 5 * eventsOfCommit, streams].entries())
      report.say(`${names[at + 1]}: ${(((more[at] ?? 0) - plain) / pieces).toFixed(2)} ms each`)
  } finally {
    await scene.close()
    await receiver.close()
  }
}

/** Creates an organisation with webhooks, and a node to commit to. */
async function newOrg({ ann, grove, headers }: Scene, url: string, hooks: number) {
  const { id } = (await ann.post('/orgs', { name: `Hooks ${hooks}` }).then(expecting(201))).body
  const node = (await ann.post(`/orgs/${id}/nodes`, { title: 'History' }).then(expecting(201))).body
  for (let n = 0; n < hooks; n++) await ann.post(`/orgs/${id}/webhooks`, { url, types: ['*'] }).then(expecting(201))
  let count = 0
  const token = `${headers.authorization}`.replace('Bearer ', '')
  return {
    stream: [`${grove.url}/orgs/${id}/events`, token] as const,
    commit: () => {
      const change = { action: 'put', path: 'content.md', content: `Words ${count++}\n` }
      const body = { message: 'Edit', changes: [change] }
      return ann.post(`/orgs/${id}/nodes/${node.id}/tree/main/commits`, body).then(expecting(201))
    },
  }
}

/** Milliseconds of CPU time of the service during the work. */
async function costOf({ grove }: Scene, work: () => Promise<unknown>): Promise<number> {
  const before = await nanoseconds(grove.pid)
  await work()
  return ((await nanoseconds(grove.pid)) - before) / 1e6
}
