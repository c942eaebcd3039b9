/** Reads who moved refs, and how. Git does not say who moved a branch (note-intents.ts). */
import type { Oid } from '../../../gitstore/repo.ts'
import { findIntents, findIntentsOf, type Intent } from '../../../index/log/intents.ts'
import { ledgerRef } from '../layout.ts'
import { doors } from '../origin.ts'
import type { Services } from '../services.ts'
import { isByAgent, parseRecordedVia, type Via } from '../via.ts'
import type { EventActor, EventFacts } from './event-facts.ts'

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
  { events }: Pick<Services, 'events'>,
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
  { events }: Pick<Services, 'events'>,
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
