/** What the door has found out about a request on its way to the handler. */

import type { Request } from 'express'
import { type Actor, anonymous } from '../domain/actor.ts'
import type { Operation, Place } from './spec.ts'

export interface Context {
  readonly operation: Operation
  readonly place: Place
  readonly actor: Actor
}

const contexts = new WeakMap<Request, Context>()

export function setOperation(req: Request, operation: Operation, place: Place): void {
  contexts.set(req, { operation, place, actor: anonymous })
}

export function setActor(req: Request, actor: Actor): void {
  contexts.set(req, { ...contextOf(req), actor })
}

/** @throws Error before the operation is known */
export function contextOf(req: Request): Context {
  const context = contexts.get(req)
  if (context === undefined) throw new Error('The operation is not known yet')
  return context
}
