/** Events of the service that are recorded in the transaction of their cause. */
import { randomUUID } from 'node:crypto'
import { appendEvents, findLastEvent, findLog } from '../../../index/log/events.ts'
import type { Services } from '../services.ts'
import type { EventFacts } from './event-facts.ts'
import { encodeEvent } from './event-json.ts'

/** A transaction of the events. */
export type EventsTransaction = Parameters<Parameters<Services['events']['write']>[0]>[0]

/** Each call is another event, so it needs no key. */
export type ServiceFacts = Omit<EventFacts, 'key' | 'at'>

/** Appends an event of the service. A log that has not begun, has ended, or is moving gets none. */
export async function appendServiceEvent(
  trx: EventsTransaction,
  orgId: string,
  facts: ServiceFacts,
  now: Date,
): Promise<void> {
  if ((await findLastEvent(trx, orgId))?.type === 'org.deleted') return
  const log = await findLog(trx, orgId)
  if (log === undefined || log.sealed === 1) return
  const event = encodeEvent(orgId, null, { ...facts, key: randomUUID(), at: now.toISOString() })
  appendEvents(trx, log, [event], now)
}
