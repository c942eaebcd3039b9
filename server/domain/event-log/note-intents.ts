/**
 * Records who is about to move refs, before the first move. Git does not say who moved a branch, and any process may be
 * the one that records the event. An intent is a hint: if it cannot be written, the event has no actor.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { allDone } from '../../../gitstore/durable.ts'
import type { Decision, Move } from '../../../gitstore/refs/ref-transaction.ts'
import { type Intent, putIntents } from '../../../index/log/intents.ts'
import type { Person } from '../actor.ts'
import { idOfRepo, orgIdOfRepo } from '../layout.ts'
import type { Origin } from '../origin.ts'
import type { Services } from '../services.ts'
import { viaOf } from '../via.ts'
import type { EventActor } from './event-facts.ts'
import type { StoredOrigin } from './intents.ts'
import { recordUnknown } from './record.ts'

/** The user, the operator or the service that makes a change. */
export interface Mover extends Pick<Person, 'tokenId' | 'connection' | 'isBot'> {
  readonly kind?: 'person' | 'operator' | 'service'
  readonly id?: string
  readonly name: string
  readonly email: string
}

/** The longest wait for the database, in milliseconds. The caller holds locks of refs. */
const patienceMs = 500

/** Returns the decision with one more thing to save: who moves the refs. */
export function withIntent<T>(deps: Services, mover: Mover, decision: Decision<T>): Decision<T> {
  if (decision.moves.length === 0) return decision
  return { ...decision, save: () => allDone([decision.save?.(), noteIntents(deps, mover, decision.moves)]) }
}

/**
 * Records who is about to move refs. Also records the state before, if the log does not know it. Never fails.
 *
 * @param moves of one organisation. `to` null: the ref goes
 */
export async function noteIntents(deps: Services, mover: Mover, moves: readonly Move[]): Promise<void> {
  const { log, origin } = deps
  const actor: EventActor = {
    kind: mover.kind === 'operator' || mover.kind === 'service' ? mover.kind : 'user',
    ...(mover.id !== undefined && { id: mover.id }),
    name: mover.name,
  }
  const { id: _, ...via } = viaOf(origin === undefined ? {} : { origin }, mover)
  const shared = {
    actor: JSON.stringify(actor),
    via: JSON.stringify(via),
    origin: origin ? encodeOrigin(origin, mover) : null,
  }
  const rows = moves.map(({ repo, ref, to }) => ({ node_id: idOfRepo(repo), ref, to_oid: to ?? '', ...shared }))
  const written = putTogether(deps, rows).catch((error: unknown) =>
    log.warn({ err: error }, 'an intent could not be recorded; the event has no actor'),
  )
  // Rarely writes. Without it, the change has no event, so it is not cut short.
  await recordBefore(deps, moves).catch((error: unknown) =>
    log.warn({ err: error }, 'the state before a change could not be recorded; the change may have no event'),
  )
  await Promise.race([written, sleep(patienceMs, undefined, { ref: false })])
}

/** Intents that wait for the next transaction, by database. */
const waiting = new WeakMap<Services['events'], { readonly rows: Intent[]; readonly written: Promise<void> }>()

/** Writes the intents of all changes that come before the transaction begins. */
function putTogether({ events, now }: Pick<Services, 'events' | 'now'>, intents: readonly Intent[]): Promise<void> {
  const others = waiting.get(events)
  if (others) {
    others.rows.push(...intents)
    return others.written
  }
  const rows = [...intents]
  const written = events.write((trx) => {
    waiting.delete(events)
    putIntents(trx, rows, now())
  })
  const batch = { rows, written }
  waiting.set(events, batch)
  // If no transaction begins, the next change must not join this one.
  return written.catch((error: unknown) => {
    if (waiting.get(events) === batch) waiting.delete(events)
    throw error
  })
}

async function recordBefore(deps: Services, moves: readonly Move[]): Promise<void> {
  const [first] = moves
  if (first === undefined) return
  await recordUnknown(deps, orgIdOfRepo(first.repo), [...new Set(moves.map(({ repo }) => idOfRepo(repo)))])
}

function encodeOrigin({ requestId, address, userAgent }: Origin, { tokenId, connection }: Mover): string {
  const stored: StoredOrigin = {
    request_id: requestId,
    address,
    ...(userAgent !== undefined && { user_agent: userAgent }),
    ...(tokenId !== undefined && { token_id: tokenId }),
    ...(connection && { connection_id: connection.id }),
  }
  return JSON.stringify(stored)
}
