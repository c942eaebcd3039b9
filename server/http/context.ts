/** The facts that middleware finds out about a request before the handler runs. */

import type { Request } from 'express'
import type { Credential } from '../domain/accounts/access-tokens.ts'
import { anonymous } from '../domain/actor.ts'
import type { Operation, PathMatch } from './contract/spec.ts'
import { note, noteCaller, noteIds } from './log/request-notes.ts'
import { type Context, stateOf } from './request-state.ts'

export function setOperation(req: Request, operation: Operation, match: PathMatch): void {
  stateOf(req).context = { operation, match, actor: anonymous }
  note(req, { op: operation.id })
  noteIds(req, match.parameters.org_id, match.parameters.node_id)
}

export function setCredential(req: Request, credential: Credential): void {
  noteCaller(req, credential)
  setCaller(req, credential)
}

/** Sets the caller of a request that has no line in the log. */
export function setCaller(req: Request, { person, scope, expiresAt }: Credential): void {
  stateOf(req).context = {
    ...contextOf(req),
    actor: person,
    ...(scope === undefined ? {} : { scope }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}

/** The context of a request. @throws Error the operation is not known yet */
export function contextOf(req: Request): Context {
  const { context } = stateOf(req)
  if (context === undefined) throw new Error('The operation is not known yet')
  return context
}
