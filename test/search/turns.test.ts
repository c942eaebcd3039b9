/** Who waits for whom: one address that searches without a pause keeps nobody from searching. */
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { type Reply, send } from '../support/exchange.ts'
import { expecting } from '../support/node.ts'
import { client as person } from '../support/people.ts'
import { metricsToken, parseScrape, sumOf } from '../support/scrapes.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const counted = 'grove_search_duration_seconds'
/** Of one address: what the thread has in hand, and what waits. */
const share = 34

/** Milliseconds after which a client that was refused tries again. */
const refusedMs = 200

const words = Array.from({ length: 1_500 }, (_, n) => `word${n.toString(36)}`)
const someWords = (count: number, from: number) =>
  Array.from({ length: count }, (_, n) => words[(from * 7919 + n * 31) % words.length]).join(' ')
/** A thread takes tens of milliseconds for it. */
const dear = words.join(' ').slice(0, 16_000)

describe('searches of published organisations by one address', () => {
  const orgs: string[] = []
  const agents: Agent[] = []
  after(() => {
    for (const agent of agents) agent.destroy()
  })
  const { grove, ann, mallory } = useWorld({ ann: 'owner', mallory: 'stranger' }, { metricsToken })
  before(async () => {
    for (const name of ['one', 'two']) {
      const { id } = (await mallory.post('/orgs', { name }).then(expecting(201))).body
      const nodes = Array.from({ length: 300 }, (_, n) => ({ title: `${name} ${n}`, text_content: someWords(250, n) }))
      await mallory.post(`/orgs/${id}/nodes/batch`, { nodes }).then(expecting(201))
      await mallory.patch(`/orgs/${id}`, { published: true }).then(expecting(200))
      orgs.push(id)
    }
    await ann.post(`/orgs/${ann.org}/nodes`, { title: 'A zebra' }).then(expecting(201))
    // The indexes are made before anybody's time is judged.
    for (const org of orgs) await find(client('127.0.0.1'), org)
    await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'zebra' }).then(expecting(200))
  })

  /** Connections from this address. */
  function client(localAddress: string): Agent {
    const agent = new Agent({ localAddress, keepAlive: true })
    agents.push(agent)
    return agent
  }

  function find(agent: Agent, org = '', query = 'zebra'): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ query, top_k: 50 })
    return send(`${grove.url}/orgs/${org}/search/retrieve`, { method: 'POST', headers, body }, agent)
  }

  /** 40 connections for each organisation search without a pause; counts of now. A refusal ends one, or it tries again soon. */
  function flood(afterRefusal: 'ends' | 'tries again') {
    const counts = { found: 0, refused: 0 }
    const agent = client('127.0.0.1')
    let isOver = false
    const search = async (org: string) => {
      while (!isOver) {
        const { status, headers } = await find(agent, org, dear)
        if (status === 503) {
          expect(headers['retry-after']).to.match(/^\d+$/)
          counts.refused++
          if (afterRefusal === 'ends') return
          await pause(refusedMs)
        } else counts.found++
      }
    }
    const ended = Promise.allSettled(orgs.flatMap((org) => Array.from({ length: 40 }, () => search(org))))
    const end = () => {
      isOver = true
      agent.destroy()
      return ended
    }
    return { counts, end }
  }

  /** The thread may still have orders of an earlier flood, whose places these clients then lack: more of them are refused. */
  const isFull = ({ refused }: { readonly refused: number }) => refused >= 80 - share

  it('leave the thread to a member of another organisation, and to another address', async () => {
    const { counts, end } = flood('ends')
    await until(() => counts.found > 0)
    const before = counts.found
    const answers = await Promise.all(
      [
        ann.hasty.post(`/orgs/${ann.org}/search/retrieve`, { query: 'zebra' }),
        ann.hasty.get(`/orgs/${ann.org}/suggest?q=zeb`),
        find(client('127.0.0.2'), orgs[1]),
      ].map((asked) => asked.then(({ status }) => [status, counts.found - before])),
    )
    await end()
    expect(answers.map(([status]) => status)).to.deep.equal([200, 200, 200])
    for (const [, others] of answers) expect(others, 'answers to the others meanwhile').to.be.below(share / 2)
  })

  it.deep('are refused beyond what may wait of one address', async () => {
    const { counts, end } = flood('tries again')
    await until(() => isFull(counts))
    // One of the flood may be between two searches just then.
    const agent = client('127.0.0.1')
    await until(async () => (await find(agent, orgs[0])).status === 503)
    await end()
  })

  it.deep('leave the queue with their clients', async () => {
    const { counts, end } = flood('tries again')
    await until(() => isFull(counts))
    await end()
    const before = await answered()
    // The orders that were taken out are in no count, and leave their places at once.
    const agent = client('127.0.0.1')
    await until(async () => (await find(agent, orgs[0])).status === 200)
    expect((await answered()) - before).to.be.below(share / 2)
  })

  /** Searches that the thread has answered. */
  async function answered(): Promise<number> {
    const { body } = await person(grove, metricsToken).get('/metrics').then(expecting(200))
    return sumOf(parseScrape(body), counted, { series: `${counted}_count` })
  }
})
