/** Shared by the tests of events. It has a service whose clock they move, and a log to which they append. */
import { randomBytes } from 'node:crypto'
import { appendEvents, beginLog, findLog, type NewEvent } from '../../index/log/events.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import type { Database } from '../../index/sqlite/database.ts'
import { encodeEvent } from '../../server/domain/event-log/event-json.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

export let grove: Grove
/** Owns the organisation. */
export let ann: PersonClient
/** Reads. */
export let bob: PersonClient
/** Is not a member. */
export let eve: PersonClient

let time = 0

export const pass = (seconds: number) => {
  time += seconds * 1000
}

/** Starts a service for the file. */
export function useScene(options: GroveOptions = {}): void {
  before(async () => {
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ ...options, now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    eve = await signUp(grove, 'Eve')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'reader' }).then(expecting(200))
  })
  after(() => grove.close())
}

export const eventsOf = (org: string, query = '') => `/orgs/${org}/events${query}`

/**
 * An event that no request of these tests causes. Requests also append events, so the tests read only
 * `types=webhook.*` where they count.
 */
export function anEvent(org: string, { node = null as string | null, disabled = false, size = 0 } = {}): NewEvent {
  return encodeEvent(org, node, {
    type: disabled ? 'webhook.disabled' : 'webhook.enabled',
    key: randomBytes(8).toString('hex'),
    at: new Date(time).toISOString(),
    via: 'command',
    data: { webhook_id: 'hook', reason: 'x'.repeat(size) },
  })
}

/** Appends events to the log of an organisation, as the service does. Returns their ids. */
export async function append(
  events: Database<LogSchema>,
  org: string,
  added: readonly NewEvent[],
  at = new Date(time),
): Promise<string[]> {
  await events.write(async (trx) => {
    const log = (await findLog(trx, org)) ?? (await beginLog(trx, org, { at, isWhole: false }))
    appendEvents(trx, log, added, at)
  })
  return added.map(({ id }) => id)
}

/** Removes what requests have recorded, so that a test decides how old the events of a log are. */
export async function forgetAll(events: Database<LogSchema>, org: string): Promise<void> {
  await events.write(async (trx) => {
    const log = await findLog(trx, org)
    if (log === undefined) return
    await trx.deleteFrom('event').where('org_id', '=', org).execute()
    const base = { base_seq: log.seq, base_chain: log.chain, whole: 0 }
    await trx.updateTable('log').set(base).where('org_id', '=', org).execute()
  })
}

/** Appends this many events. */
export function appendSome(org: string, count: number, options: Parameters<typeof anEvent>[1] = {}): Promise<string[]> {
  return append(
    grove.deps.events,
    org,
    Array.from({ length: count }, () => anEvent(org, options)),
  )
}

/** The ids of the events of a page. */
export const idsOf = ({ body }: { readonly body: { readonly events: readonly { readonly id: string }[] } }) =>
  body.events.map(({ id }) => id)

/** The cursor of now. */
export async function cursorNow(by: PersonClient = ann, org = ann.org): Promise<string> {
  return (await by.get(eventsOf(org, '?after=now')).then(expecting(200))).body.next
}
