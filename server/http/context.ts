/** What the door has found out about a request on its way to the handler. */

import type { Request } from 'express'
import { type Actor, anonymous } from '../domain/actor.ts'
import type { Operation, Place } from './spec.ts'

export interface Context {
  readonly operation: Operation
  readonly place: Place
  readonly actor: Actor
}

const key = Symbol('context')

interface Carrier extends Request {
  [key]?: Context
}

export function setOperation(req: Carrier, operation: Operation, place: Place): void {
  req[key] = { operation, place, actor: anonymous }
}

export function setActor(req: Carrier, actor: Actor): void {
  req[key] = { ...contextOf(req), actor }
}

/** @throws Error before the operation is known */
export function contextOf(req: Carrier): Context {
  const context = req[key]
  if (context === undefined) throw new Error('The operation is not known yet')
  return context
}
