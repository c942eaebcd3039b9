/** Which deliveries are planned, next to a plain model of the rules for one webhook. */

import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { sql, type Transaction } from 'kysely'
import { appendEvents, beginLog } from '../../index/log/events.ts'
import { logMigrations } from '../../index/log/migrations.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import { type Database, openDatabase } from '../../index/sqlite/database.ts'
import { isNamed } from '../../server/base/event-types.ts'
import { findHookStates, insertHookState, updateHookState } from '../../server/features/webhooks/rows/hook-states.ts'
import { planDeliveries } from '../../server/features/webhooks/rows/planning.ts'
import { newDataDir } from '../support/data-folder.ts'

const now = new Date('2026-01-01T00:00:00Z')
const types = ['node.updated', 'node.created', 'tag.created', 'pull_request.opened', 'pull_request.merged']
const patterns = [...types, '*', 'node.*', 'pull_request.*', 'tag.*']

const anEvent = fc.record({ type: fc.constantFrom(...types), node_id: fc.constantFrom(null, 'a', 'b') })
const aHook = fc.record({
  node_id: fc.constantFrom(null, 'a', 'b'),
  types: fc.uniqueArray(fc.constantFrom(...patterns), { minLength: 1, maxLength: 3 }),
  /** Its position, as a part of the log. Some are before its beginning. */
  part: fc.double({ min: -0.2, max: 1, noNaN: true }),
  isKnown: fc.boolean(),
  isDisabled: fc.constantFrom(false, false, false, true),
  pending: fc.constantFrom(0, 0, 0, 900, 901),
  /** Every nth event has a delivery already. */
  had: fc.integer({ min: 1, max: 9 }),
})
type Event = typeof anEvent extends fc.Arbitrary<infer E> ? E : never
type Hook = (typeof aHook extends fc.Arbitrary<infer H> ? H : never) & { readonly id: string; readonly at: number }

interface Log {
  readonly events: readonly Event[]
  /** The last event that is gone. */
  readonly base: number
  readonly sealed: number
}

/** What must be planned, and whether there is more. Events have the numbers from 1 on. */
function modelOf({ events, base, sealed }: Log, hooks: readonly Hook[]) {
  const isOpen = ({ isDisabled, pending }: Hook) => sealed === 0 && !isDisabled && pending <= 900
  const atOnce = Math.min(100, Math.ceil(500 / hooks.filter(isOpen).length))
  const planned = hooks.map((hook) => {
    if (!isOpen(hook)) return { seqs: [], at: hook.at, isKnown: hook.isKnown }
    const from = hook.isKnown && hook.at >= base ? hook.at : base
    const next = events.map((event, at) => ({ ...event, seq: at + 1 })).slice(from, from + atOnce)
    const wanted = next.filter(
      ({ type, node_id, seq }) =>
        hook.types.some((pattern) => isNamed(type, pattern)) &&
        (hook.node_id === null || hook.node_id === node_id) &&
        seq % hook.had !== 0,
    )
    return { seqs: wanted.map(({ seq }) => seq), at: next.at(-1)?.seq ?? from, isKnown: true }
  })
  const isMore = hooks.some((hook, at) => isOpen(hook) && (planned[at]?.at ?? 0) < events.length)
  return { planned, isMore }
}

describe('the deliveries of an organisation', () => {
  let dataDir: string
  let events: Database<LogSchema>
  before(async () => {
    dataDir = await newDataDir()
    events = await openDatabase(join(dataDir, 'events.sqlite'), logMigrations, { synchronous: 'NORMAL' })
  })
  after(async () => {
    await events.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  /** Writes a log and the states of webhooks. Returns the chain values of the log. */
  async function prepare(trx: Transaction<LogSchema>, org: string, log: Log, hooks: readonly Hook[]) {
    const begun = await beginLog(trx, org, { at: now, isWhole: true })
    const at = now.toISOString()
    const rows = log.events.map(({ type, node_id }) => {
      const id = randomUUID().replaceAll('-', '')
      return { id, nodeId: node_id, type, at, isPublic: false, origin: null, render: () => '{}' }
    })
    appendEvents(trx, begun, rows, now)
    const listed = await trx.selectFrom('event').select(['seq', 'chain']).where('org_id', '=', org).execute()
    const chains = new Map([[0, begun.chain], ...listed.map(({ seq, chain }) => [seq, chain] as const)])
    for (const { id, at, isKnown, isDisabled, pending, had } of hooks) {
      await insertHookState(trx, { id, org_id: org }, { reason: isDisabled ? 'gone' : null, now, from: 'now' })
      await updateHookState(trx, id, { planned_seq: at, planned_chain: isKnown ? (chains.get(at) ?? '') : 'other' })
      const row = sql`0, 0, null, null, null, null, null, null, null, 0`
      await sql`with recursive n (n) as (select 1 union all select n + 1 from n limit ${pending})
        insert into delivery select ${id} || n, ${id}, ${org}, n, -n, '', 'pending', ${row}, null
        from n where ${pending} > 0`.execute(trx)
      await sql`insert into delivery select ${id} || id, ${id}, ${org}, id, -seq, type, 'failed', ${row}, 0
        from event where org_id = ${org} and seq % ${had} = 0`.execute(trx)
    }
    await trx.deleteFrom('event').where('org_id', '=', org).where('seq', '<=', log.base).execute()
    const base = { base_seq: log.base, base_chain: chains.get(log.base) ?? '', sealed: log.sealed }
    await trx.updateTable('log').set(base).where('org_id', '=', org).execute()
    return chains
  }

  /** Plans in a transaction that is rolled back. */
  async function plan(log: Log, hooks: readonly Hook[]) {
    let found: unknown
    const rolledBack = new Error('rolled back')
    const work = events.write(async (trx) => {
      const chains = await prepare(trx, randomUUID(), log, hooks)
      const isMore = await planDeliveries(trx, hooks, now)
      const states = [
        ...(
          await findHookStates(
            trx,
            hooks.map(({ id }) => id),
          )
        ).values(),
      ]
      const rows = await trx.selectFrom('delivery').selectAll().where('seq', '>', 0).orderBy('seq').execute()
      for (const { id } of rows) expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(new Set(rows.map(({ id }) => id)).size).to.equal(rows.length)
      const planned = hooks.map(({ id }) => {
        const state = states.find(({ hook_id }) => hook_id === id)
        const seqs = rows.filter(({ hook_id }) => hook_id === id).map(({ seq }) => seq)
        return { seqs, at: state?.planned_seq, isKnown: chains.get(state?.planned_seq ?? -1) === state?.planned_chain }
      })
      found = { planned, isMore }
      throw rolledBack
    })
    await work.catch((error: unknown) => {
      if (error !== rolledBack) throw error
    })
    return found
  }

  it('are those that each webhook wants after its position, if it may have more', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(anEvent, { maxLength: 130, size: 'max' }),
        fc.array(aHook, { minLength: 1, maxLength: 7, size: 'max' }),
        fc.record({ part: fc.double({ min: 0, max: 1, noNaN: true }), sealed: fc.constantFrom(0, 0, 0, 0, 1) }),
        async (all, some, { part, sealed }) => {
          const log = { events: all, base: Math.floor(part * all.length), sealed }
          const placeOf = (of: number) => Math.max(0, Math.floor(of * all.length))
          const hooks = some.map((hook): Hook => ({ ...hook, id: randomUUID(), at: placeOf(hook.part) }))
          expect(await plan(log, hooks)).to.deep.equal(modelOf(log, hooks))
        },
      ),
      { numRuns: 20 },
    ))
})
