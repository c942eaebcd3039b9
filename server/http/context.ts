/** What middleware has found out about a request before the handler runs. */

import type { Request } from 'express'
import type { Credential, TokenScope } from '../domain/accounts/access-tokens.ts'
import { type Actor, anonymous } from '../domain/actor.ts'
import type { Operation, PathMatch } from './contract/spec.ts'
import { note, noteCaller, noteIds } from './log/request-notes.ts'

export interface Context {
  readonly operation: Operation
  readonly match: PathMatch
  readonly actor: Actor
  /** The scope of a personal access token. */
  readonly scope?: TokenScope
}

const key = Symbol('context')

interface Carrier extends Request {
  [key]?: Context
}

export function setOperation(req: Carrier, operation: Operation, match: PathMatch): void {
  req[key] = { operation, match, actor: anonymous }
  note(req, { op: operation.id })
  noteIds(req, match.parameters.org_id, match.parameters.node_id)
}

export function setCredential(req: Carrier, credential: Credential): void {
  const { person, scope } = credential
  noteCaller(req, credential)
  req[key] = { ...contextOf(req), actor: person, ...(scope === undefined ? {} : { scope }) }
}

/** @throws Error before the operation is known */
export function contextOf(req: Carrier): Context {
  const context = req[key]
  if (context === undefined) throw new Error('The operation is not known yet')
  return context
}
