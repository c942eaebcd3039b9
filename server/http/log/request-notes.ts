/** Notes of middleware and handlers about a request, for its line in the log. */

import type { Request } from 'express'
import type { Credential } from '../../domain/accounts/access-tokens.ts'
import { isId } from '../../domain/layout.ts'
import { loggedClient, viaOf } from '../../domain/via.ts'
import { originOf } from '../origin.ts'
import { type RequestNotes, stateOf } from '../request-state.ts'

/** The name of a stream of events. It is open for long, so its time says nothing about the service. */
export const streamOp = 'events-stream'

export function note(req: Request, notes: RequestNotes): void {
  const state = stateOf(req)
  state.notes = { ...state.notes, ...notes }
}

/** Notes the ids in a path. Other text there may be anything, and is left out. */
export function noteIds(req: Request, org: string | undefined, node: string | undefined): void {
  const ids = {
    ...(org !== undefined && isId(org) ? { org } : {}),
    ...(node !== undefined && isId(node) ? { node } : {}),
  }
  note(req, ids)
}

/** @throws ValidationError the header Grove-Agent is malformed */
export function noteCaller(req: Request, { person }: Credential): void {
  const { id, tokenId, connection } = person
  const via = viaOf({ origin: originOf(req) }, person)
  const client = loggedClient(via)
  note(req, {
    actor: id,
    via: via.door,
    ...(tokenId === undefined ? {} : { token_id: tokenId }),
    ...(client === undefined ? {} : { client }),
    ...(connection === undefined ? {} : { grant_id: connection.id }),
  })
}

/** Adds to the time that the request has waited. */
export function noteWait(req: Request, ms: number): void {
  note(req, { wait_ms: (notesOf(req).wait_ms ?? 0) + ms })
}

export function notesOf(req: Request): RequestNotes {
  return stateOf(req).notes
}
