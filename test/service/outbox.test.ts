/** Outboxes claim rows, send them next to each other, and record them together. */

import { expect } from 'chai'
import { type Ended, sendOutbox } from '../../server/domain/outbox.ts'
import type { Services } from '../../server/domain/services.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

interface Row {
  readonly id: string
}

describe('an outbox', () => {
  const { grove } = useWorld({}, { sweeps: false })
  let stopping: AbortController
  let rounds: Services['rounds']
  /** Rows that are due. */
  let due: string[]
  /** The rows that were claimed, and those that were recorded together. `null`: given back. */
  let claimed: string[]
  let recorded: (readonly (readonly [string, string | null])[])[]
  /** Ends attempts, by their row. */
  let ends: Map<string, (outcome: string | undefined) => void>
  let failures: number
  let running: Promise<void>

  /** Begins to send with the database of a service. */
  function start(): void {
    const deps: Services = {
      ...grove.deps,
      rounds,
      draining: stopping.signal,
      log: grove.deps.log.child({}, { level: 'silent' }),
    }
    running = sendOutbox<Row, string>(deps, {
      ...{ name: 'rows', everyMs: 3_600_000, failedMs: 0, failed: 'rows could not be sent' },
      ...{ database: deps.events, table: 'delivery', folder: '' },
      claim: async (sending) => {
        const ids = due.filter((id) => !sending.some((row) => row.id === id))
        claimed.push(...ids)
        return ids.map((id) => ({ id }))
      },
      send: ({ id }, signal) =>
        new Promise((resolve) => {
          ends.set(id, resolve)
          signal.addEventListener('abort', () => resolve(undefined))
        }),
      record: async (ended: readonly Ended<Row, string>[]) => {
        if (failures-- > 0) throw new Error('busy')
        due = due.filter((id) => !ended.some(({ row, outcome }) => row.id === id && outcome !== undefined))
        recorded.push(ended.map(({ row, outcome }) => [row.id, outcome ?? null] as const))
      },
    })
  }
  const settle = async () => (await Promise.all([...rounds].map((round) => round.settle())))[0]

  beforeEach(() => {
    stopping = new AbortController()
    rounds = new Set()
    ;[due, claimed, recorded, ends, failures] = [[], [], [], new Map(), 0]
  })
  afterEach(async () => {
    stopping.abort()
    for (const end of ends.values()) end('at the end')
    await running
  })

  it('records together what has ended, also while another attempt runs', async () => {
    due = ['slow', 'a', 'b', 'c']
    start()
    expect(await settle()).to.equal(false)
    for (const id of ['a', 'b', 'c']) ends.get(id)?.('sent')
    // No caller asks for a turn: the outcomes cause one.
    await until(() => recorded.length > 0)
    expect(recorded).to.deep.equal([['a', 'b', 'c'].map((id) => [id, 'sent'])])
    expect(claimed).to.deep.equal(['slow', 'a', 'b', 'c'])
    expect(await settle()).to.equal(false)
    ends.get('slow')?.('sent')
    await until(() => recorded.length > 1)
    expect(await settle()).to.equal(true)
  })

  it('sends nothing again whose outcome could not be recorded at first', async () => {
    due = ['a', 'b']
    failures = 2
    start()
    await settle()
    for (const id of due) ends.get(id)?.('sent')
    for (let turn = 0; turn < 4; turn++) await settle()
    expect({ claimed, recorded, failures }).to.deep.equal({
      claimed: ['a', 'b'],
      recorded: [['a', 'b'].map((id) => [id, 'sent'])],
      failures: -1,
    })
  })

  it('does not try at once what was given back', async () => {
    due = ['a']
    start()
    await settle()
    ends.get('a')?.(undefined)
    await until(() => recorded.length > 0)
    expect(await settle()).to.equal(true)
    expect({ claimed, recorded }).to.deep.equal({ claimed: ['a'], recorded: [[['a', null]]] })
  })

  it('records what ends while the service stops, and gives back what does not', async () => {
    due = ['hanging', 'a']
    start()
    await settle()
    stopping.abort()
    ends.get('a')?.('sent')
    await until(() => recorded.length > 0)
    expect(recorded).to.deep.equal([[['a', 'sent']]])
    await running
    expect(recorded).to.deep.equal([[['a', 'sent']], [['hanging', null]]])
  })
})
