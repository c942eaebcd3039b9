/**
 * Records who is about to move refs, before the first move. Git does not say who moved a branch, and any process may be
 * the one that records the event. An intent is a hint: if it cannot be written, the event has no actor.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { allDone } from '../../../gitstore/durable.ts'
import type { Decision, Move } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid } from '../../../gitstore/repo.ts'
import { findIntents, findIntentsOf, type Intent, putIntents } from '../../../index/log/intents.ts'
import type { Deps } from '../../base/deps.ts'
import type { Person } from '../actor.ts'
import { idOfRepo, ledgerRef } from '../layout.ts'
import { doors, type Origin } from '../origin.ts'
import { isByAgent, parseRecordedVia, type Via, viaOf } from '../via.ts'
import type { EventActor, EventFacts } from './event-types.ts'

type IntentDeps = Pick<Deps, 'events' | 'now' | 'log' | 'origin'>

/** The user or the operator who makes a change. */
export interface Mover extends Pick<Person, 'tokenId' | 'connection' | 'isBot'> {
  readonly kind?: 'person' | 'operator'
  readonly id?: string
  readonly name: string
}

/** The longest wait for the database, in milliseconds. The caller holds locks of refs. */
const patienceMs = 500

/** Returns the decision with one more thing to save: who moves the refs. */
export function withIntent<T>(deps: IntentDeps, mover: Mover, decision: Decision<T>): Decision<T> {
  if (decision.moves.length === 0) return decision
  return { ...decision, save: () => allDone([decision.save?.(), noteMoves(deps, mover, decision.moves)]) }
}

function noteMoves(deps: IntentDeps, mover: Mover, moves: readonly Move[]): Promise<void> {
  return noteIntents(
    deps,
    mover,
    moves.map(({ repo, ref, to }) => ({ id: idOfRepo(repo), ref, to })),
  )
}

/** Records who is about to move refs. Never fails. @param moves `id`: see idOfRepo; `to` null: the ref goes */
export async function noteIntents(
  { events, now, log, origin }: IntentDeps,
  mover: Mover,
  moves: readonly { readonly id: string; readonly ref: string; readonly to: Oid | null }[],
): Promise<void> {
  const actor: EventActor = {
    kind: mover.kind === 'operator' ? 'operator' : 'user',
    ...(mover.id !== undefined && { id: mover.id }),
    name: mover.name,
  }
  const { id: _, ...via } = viaOf(origin === undefined ? {} : { origin }, mover)
  const shared = {
    actor: JSON.stringify(actor),
    via: JSON.stringify(via),
    origin: origin ? encodeOrigin(origin, mover) : null,
  }
  const rows = moves.map(({ id, ref, to }) => ({ node_id: id, ref, to_oid: to ?? '', ...shared }))
  const written = events
    .write((trx) => putIntents(trx, rows, now()))
    .catch((error: unknown) => log.warn({ err: error }, 'an intent could not be recorded; the event has no actor'))
  await Promise.race([written, sleep(patienceMs, undefined, { ref: false })])
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

/** How a request came, as it is stored next to events. */
export interface StoredOrigin {
  readonly request_id: string
  readonly address: string
  readonly user_agent?: string
  readonly token_id?: string
  readonly connection_id?: string
}

export interface KnownIntent {
  readonly actor?: EventActor
  /** Undefined: this version does not know the door. */
  readonly via: Via | undefined
  readonly origin: string | null
}

/** How something came about. */
export type How = Pick<EventFacts, 'via' | 'program' | 'origin'>

/** Returns how something came about. @param unknown the way without an intent */
export function howOf(intent: KnownIntent | undefined, unknown?: 'path'): How {
  const door = intent === undefined ? unknown : intent.via?.door
  const origin = intent?.origin ?? undefined
  return {
    ...(door !== undefined && { via: door }),
    ...(intent?.via && isByAgent(intent.via) && { program: intent.via }),
    ...(origin !== undefined && { origin }),
  }
}

/** Returns a function that finds who moved a ref to an object. */
export async function readIntents(
  { events }: Pick<Deps, 'events'>,
  nodeId: string,
  oids: readonly (Oid | null)[],
): Promise<(ref: string, to: Oid | null) => KnownIntent | undefined> {
  const found = await findIntents(events.read, nodeId, [...new Set(oids.map((oid) => oid ?? ''))])
  const byMove = new Map(found.map((intent) => [`${intent.ref} ${intent.to_oid}`, intent]))
  return (ref, to) => {
    const intent = byMove.get(`${ref} ${to ?? ''}`)
    return intent && parseIntent(intent)
  }
}

/** Returns a function that finds who created a node, by its id. */
export async function readCreations(
  { events }: Pick<Deps, 'events'>,
  nodes: readonly { readonly id: string; readonly ledger: Oid }[],
): Promise<(nodeId: string) => KnownIntent | undefined> {
  const moves = nodes.map(({ id, ledger }) => ({ node_id: id, ref: ledgerRef, to_oid: ledger }))
  const found = new Map((await findIntentsOf(events.read, moves)).map((intent) => [intent.node_id, intent]))
  return (nodeId) => {
    const intent = found.get(nodeId)
    return intent && parseIntent(intent)
  }
}

function parseIntent({ actor, via, origin }: Intent): KnownIntent {
  return { actor: JSON.parse(actor) as EventActor, via: parseVia(via), origin } // noteIntents writes them
}

/** Parses what an intent records. Older versions wrote only the door. */
function parseVia(text: string): Via | undefined {
  const door = doors.find((one) => one === text)
  return door === undefined ? parseRecordedVia(JSON.parse(text)) : { door, by: 'session' }
}
