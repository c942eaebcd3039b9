/** Large trees are read a few at a time, and callers take turns: one who reads many turns away neither others nor the members. */

import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { from, startBehindProxy } from '../support/behind-proxy.ts'
import { type Reply, send } from '../support/exchange.ts'
import type { Grove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

/** More than the service keeps parsed: each read is large before it is parsed. */
const entries = 50_000

describe('large trees', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  /** Published. */
  let open: TestNode
  /** Of another organisation. */
  let closed: TestNode
  let agent: Agent
  /** The last one of a flood. */
  let refusal: { readonly code: string; readonly detail: string } | undefined

  before(async () => {
    grove = await startBehindProxy()
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    open = await largeNode(ann)
    closed = await largeNode(bob)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
  })
  after(() => grove?.close())
  beforeEach(() => {
    agent = new Agent({ keepAlive: true })
  })
  afterEach(() => agent.destroy())

  async function largeNode(person: PersonClient): Promise<TestNode> {
    const node = await newNode(grove, person)
    const blob = node.git.run(['hash-object', '-w', '--stdin'], { input: node.id }).toString().trim()
    const lines = Array.from({ length: entries }, (_, n) => `100644 blob ${blob}\tfile ${n}\n`)
    const tree = node.git
      .run(['mktree'], { input: lines.join('') })
      .toString()
      .trim()
    node.git.point('main', node.git.say('commit-tree', '-m', 'Add files', '-p', node.git.head(), tree))
    return node
  }

  const get = (path: string, address: string, signal?: AbortSignal): Promise<Reply> =>
    send(grove.url + path, { headers: from(address), ...(signal && { signal }) }, agent)
  const list = ({ at }: TestNode) => `${at}/tree/main?limit=1`

  /** Reads the large tree from each address, so many times at once and again each second, until `work` is done. */
  async function whileReadBy<T>(addresses: readonly string[], times: number, work: () => Promise<T>): Promise<T> {
    const flood = new Agent({ keepAlive: true })
    let isDone = false
    const asked = addresses
      .flatMap((address) => Array(times).fill(address))
      .map(async (address) => {
        while (!isDone) {
          const { status, body } = await send(grove.url + list(open), { headers: from(address) }, flood)
          if (status === 503) refusal = JSON.parse(String(body))
          await sleep(1_000)
        }
      })
    refusal = undefined
    try {
      await until(() => refusal !== undefined)
      return await work()
    } finally {
      isDone = true
      flood.destroy()
      await Promise.allSettled(asked)
    }
  }

  const floods = [
    { who: 'one address', addresses: ['10.7.0.1'], times: 60 },
    { who: 'all anonymous callers', addresses: Array.from({ length: 6 }, (_, n) => `10.7.1.${n}`), times: 10 },
  ]
  for (const { who, addresses, times } of floods) {
    it(`are refused beyond the share of ${who}, while a member reads those of another organisation`, async () => {
      const own = await whileReadBy(addresses, times, () =>
        Promise.all(Array.from({ length: 8 }, () => bob.hasty.get(list(closed)))),
      )
      expect(own.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
      expect(own[0]?.body.total).to.equal(entries)
      const { code, detail } = refusal ?? {}
      expect({ code, detail }).to.deep.equal({
        code: 'busy',
        detail: 'Too many large trees are being read; try again in a moment',
      })
    })
  }

  it('are read by other addresses while one has its share', async () => {
    const others = Array.from({ length: 8 }, (_, n) => `10.7.2.${n}`)
    const replies = await whileReadBy(['10.7.3.1'], 60, () =>
      Promise.all(others.map((address) => get(list(open), address))),
    )
    expect(replies.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
  })

  it('are searched for a blob for all who want it, also when the first of them leaves', async () => {
    const blob = `${open.at}/objects/${open.git.say('rev-parse', 'main:file 0')}`
    const { status, body } = await whileReadBy(['10.7.3.1'], 20, async () => {
      const leaving = new AbortController()
      const first = get(blob, '10.7.3.2', leaving.signal).catch((error: Error) => error)
      await sleep(50)
      const second = get(blob, '10.7.3.3')
      await sleep(50)
      leaving.abort()
      expect(await first).to.be.instanceOf(Error)
      return second
    })
    expect([status, String(body)]).to.deep.equal([200, open.id])
  })
})
