/** How many statements and transactions on `events.sqlite` a commit causes with webhooks. */

import { expect } from 'chai'
import { noteCalls } from '../support/calls.ts'
import { newDataDir } from '../support/data-folder.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { spawnGrove, untilReady } from '../support/spawned-grove.ts'
import { startReceiver } from './receiver.ts'

/** Rounds before the first that counts. They fill caches. */
const warmUps = 2
const rounds = 7

/** Those beyond a commit without webhooks, by the number of webhooks. Each gets two deliveries, and eight are sent at once. */
const expected = {
  1: { statements: 16, transactions: 3, plans: 1 },
  5: { statements: 33, transactions: 5, plans: 1 },
} as const

/** The loop asks once or twice after a change. */
const isTimed = (line: string) => line.startsWith('sql events with given (now) as (select ?), hook as')

function countsOf(lines: readonly string[]) {
  const ofLog = lines.filter((line) => line.startsWith('sql events ') && !isTimed(line))
  const count = (text: string) => ofLog.filter((line) => line.startsWith(`sql events ${text}`)).length
  return { statements: ofLog.length, transactions: count('begin'), plans: count('insert into delivery') }
}

describe('statements of one commit', () => {
  it('do not grow with webhooks, but for one update a delivery', async () => {
    const folder = await newDataDir()
    const calls = noteCalls(folder)
    const grove = await spawnGrove(folder, { ...calls.environment, FETCH_ALLOW: '127.0.0.1', WEBHOOK_HTTP: 'on' })
    try {
      await untilReady(grove)
      const ann = await signUp(grove, 'Ann')
      const node = (await ann.post(`/orgs/${ann.org}/nodes`, { text_content: 'x\n', title: 'A' }).then(expecting(201)))
        .body
      const receiver = await startReceiver()
      let words = 0
      const commit = async () => {
        const change = { action: 'put', path: 'content.md', content: `Words ${words++}\n` }
        const body = { message: 'Edit', changes: [change] }
        await ann.post(`/orgs/${ann.org}/nodes/${node.id}/tree/main/commits`, body).then(expecting(201))
      }
      /** The least of some commits: outcomes that arrive later than others are recorded later. */
      const least = async () => {
        const all: ReturnType<typeof countsOf>[] = []
        for (let n = 0; n < warmUps + rounds; n++) all.push(countsOf(await calls.during(commit)))
        const of = (what: 'statements' | 'transactions' | 'plans') =>
          Math.min(...all.slice(warmUps).map((one) => one[what]))
        return { statements: of('statements'), transactions: of('transactions'), plans: of('plans') }
      }
      await calls.learnIdle()
      const without = await least()
      for (let hooks = 1; hooks <= 5; hooks++) {
        await ann.post(`/orgs/${ann.org}/webhooks`, { url: receiver.url, types: ['*'] }).then(expecting(201))
        if (hooks !== 1 && hooks !== 5) continue
        const before = receiver.received.length
        const { statements, transactions, plans } = await least()
        expect(receiver.received).to.have.length(before + 2 * hooks * (warmUps + rounds))
        const more = {
          statements: statements - without.statements,
          transactions: transactions - without.transactions,
          plans,
        }
        expect(more, `${hooks} webhooks`).to.deep.equal(expected[hooks])
      }
    } finally {
      await grove.stop()
      calls.remove()
    }
  })
})
