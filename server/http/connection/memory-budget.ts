/**
 * Limits the bytes that large requests and responses hold in memory. A body counts until its request is answered, and a
 * response until it is read.
 */

import type { Request, Response } from 'express'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { networkOf } from './addresses.ts'
import { type Caller, createCallerQuota } from './caller-quota.ts'
import { readingSignal } from './slow-client.ts'

/** Smaller responses and bodies, in bytes, do not count. */
const small = { answer: 2 ** 20, body: 65_536 } as const

const answers = createCallerQuota(limits.heldBytes)
const bodies = createCallerQuota(limits.heldBytes)

/**
 * Counts a response from before it is sent until it has ended. Ends it if its client is too slow.
 *
 * @param person undefined: an anonymous reader
 * @throws AppError busy: this caller, or all callers together, have too much that they have not read
 */
export function reserveResponse(req: Request, res: Response, length: number, person: string | undefined): void {
  // A closed response does not close again.
  if (length <= small.answer || res.closed) return
  const caller = callerOf(req, person)
  if (!answers.has(caller, length))
    throw new AppError('busy', 'Too many large responses are waiting to be read; read or close yours, then try again')
  answers.acquire(caller, length)
  readingSignal(req, res).addEventListener('abort', () => answers.release(caller, length), { once: true })
}

/**
 * Returns a function to call with the size of a body as it grows. It counts the body until the request has been
 * answered.
 *
 * @param person undefined: the caller's credential has not been checked yet
 */
export function reserveBody(req: Request, res: Response, person: string | undefined): (size: number) => void {
  const caller = callerOf(req, person)
  let held = 0
  const release = () => {
    bodies.release(caller, held)
    held = 0
  }
  /** Counts the body. @throws AppError busy: this caller, or all callers together, send too much at once */
  return (size) => {
    if (size <= small.body || res.closed) return
    if (!bodies.has(caller, size - held))
      throw new AppError('busy', 'Too many large requests are being processed; try again in a moment')
    if (held === 0) res.once('close', release)
    bodies.acquire(caller, size - held)
    held = size
  }
}

function callerOf(req: Request, person: string | undefined): Caller {
  const isAnonymous = person === undefined
  const key = isAnonymous ? `address ${networkOf(req)}` : `person ${person}`
  return { key, isAnonymous, isPublic: isAnonymous, repository: '' }
}
