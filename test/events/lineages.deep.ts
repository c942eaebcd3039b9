/** Cursors over random logs that roll back, begin again, forget, and continue otherwise, compared with a model. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { wholeOrg } from '../../index/derived/sees.ts'
import type { Position } from '../../index/log/chain.ts'
import { appendEvents, beginLog, findLog, listEventsAfter, type NewEvent } from '../../index/log/events.ts'
import { logMigrations } from '../../index/log/migrations.ts'
import { hasPosition } from '../../index/log/positions.ts'
import { removeExpired } from '../../index/log/retention.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import { type Database, openDatabase } from '../../index/sqlite/database.ts'

type Step =
  | { readonly kind: 'append'; readonly keys: readonly number[] }
  | { readonly kind: 'roll back'; readonly share: number }
  | { readonly kind: 'forget'; readonly count: number }
  | { readonly kind: 'begin again' }

/** Few keys, so that a log which was rolled back often records the same events again, also in another order. */
const keys = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 5 })

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: keys.map((some): Step => ({ kind: 'append', keys: some })) },
    {
      weight: 3,
      arbitrary: fc.double({ min: 0, max: 1, noNaN: true }).map((share): Step => ({ kind: 'roll back', share })),
    },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 4 }).map((count): Step => ({ kind: 'forget', count })) },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: 'begin again' }) },
  ),
  { minLength: 3, maxLength: 25 },
)

/** A log as it should be: its random id, the ids of all its events, and how many of them are gone. */
interface Model {
  logId: string
  ids: string[]
  base: number
}

/** A cursor that a reader has, and everything before it. */
interface Held {
  readonly position: Position
  readonly logId: string
  readonly before: string
}

const org = 'org'
const idOf = (key: number) => String(key).padStart(32, '0')

const eventOf = (key: number): NewEvent => ({
  id: idOf(key),
  nodeId: null,
  type: 'webhook.enabled',
  at: '2026-01-01T00:00:00Z',
  isPublic: false,
  origin: null,
  render: (seq) => JSON.stringify({ seq }),
})

describe('the cursors of random logs', () => {
  let folder: string
  let events: Database<LogSchema>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-lineages-'))
    events = await openDatabase(join(folder, 'events.sqlite'), logMigrations, { synchronous: 'NORMAL' })
  })
  after(async () => {
    await events.close()
    await rm(folder, { recursive: true, force: true })
  })

  const begin = async (): Promise<Model> => {
    const { log_id } = await events.write(async (trx) => {
      await trx.deleteFrom('event').execute()
      await trx.deleteFrom('log').execute()
      return beginLog(trx, org, { at: new Date(0), isWhole: false })
    })
    return { logId: log_id, ids: [], base: 0 }
  }
  const present = async () => (await findLog(events.read, org)) ?? expect.fail('there is no log')

  const apply = async (model: Model, step: Step): Promise<Model> => {
    const log = await present()
    if (step.kind === 'begin again') return begin()
    if (step.kind === 'append') {
      await events.write((trx) => appendEvents(trx, log, step.keys.map(eventOf), new Date(0)))
      // An id that is kept is not appended again.
      const ids = [...model.ids]
      for (const id of step.keys.map(idOf)) if (!ids.slice(model.base).includes(id)) ids.push(id)
      return { ...model, ids }
    }
    if (step.kind === 'forget') {
      const retention = { before: 1, most: 1_000, neededSince: 0 }
      const removed = await events.write((trx) => removeExpired(trx, org, retention, step.count))
      return { ...model, base: model.base + removed }
    }
    // As a copy of the file that is older.
    const seq = model.base + Math.floor(step.share * (model.ids.length - model.base))
    const last = await events.read.selectFrom('event').select('chain').where('seq', '=', seq).executeTakeFirst()
    const chain = last?.chain ?? log.base_chain
    await events.write(async (trx) => {
      await trx.deleteFrom('event').where('seq', '>', seq).execute()
      await trx.updateTable('log').set({ seq, chain }).execute()
    })
    return { ...model, ids: model.ids.slice(0, seq) }
  }

  const hold = ({ logId, ids }: Model, position: Position): Held => ({
    position,
    logId,
    before: ids.slice(0, position.seq).join(),
  })

  it('are valid exactly if all events before them are still those, and all after them are kept', async () => {
    let refused = 0
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        let model = await begin()
        const held: Held[] = [hold(model, await present())]
        for (const step of all) {
          model = await apply(model, step)
          const log = await present()
          for (const { position, logId, before } of held) {
            const { seq } = position
            const isSame = logId === model.logId && seq <= model.ids.length && model.ids.slice(0, seq).join() === before
            const isValid = isSame && seq >= model.base
            expect(await hasPosition(events.read, log, position)).to.equal(isValid)
            if (!isValid) refused++
            else {
              accepted++
              const rest = await listEventsAfter(events.read, wholeOrg(org), seq, { limit: 1_000 })
              expect(rest.map(({ id }) => id)).to.deep.equal(model.ids.slice(seq))
            }
          }
          held.push(hold(model, log))
          for (const row of await listEventsAfter(events.read, wholeOrg(org), 0, { limit: 3 }))
            held.push(hold(model, row))
        }
      }),
      { numRuns: 150 },
    )
    // Both happened, so the comparison says something.
    expect(refused).to.be.above(1_000)
    expect(accepted).to.be.above(1_000)
  })
})
