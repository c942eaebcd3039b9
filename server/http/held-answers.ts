/** Limits the bytes of large answers that wait for clients who read slowly, or not at all. */

import type { Request, Response } from 'express'
import { Refusal } from '../errors.ts'
import { networkOf } from './addresses.ts'
import { readingSignal } from './client-clock.ts'
import { newRation } from './rations.ts'

/** Bytes of large answers in this process that have not ended. */
const heldBytes = 384 * 2 ** 20
/** Bytes up to which an answer counts for nothing. */
const smallBytes = 2 ** 20

const bytes = newRation(heldBytes)

/**
 * Counts an answer that is about to be sent until it has ended, and ends it where its client is too slow.
 *
 * @param person undefined: an anonymous reader
 * @throws Refusal busy: this caller, or all together, have too much that they have not read
 */
export function holdAnswer(req: Request, res: Response, length: number, person: string | undefined): void {
  // A response that is closed does not close once more.
  if (length <= smallBytes || res.closed) return
  const isAnonymous = person === undefined
  const key = isAnonymous ? `address ${networkOf(req)}` : `person ${person}`
  const caller = { key, isAnonymous, isPublic: isAnonymous, repository: '' }
  if (!bytes.fits(caller, length)) throw new Refusal('busy', 'Large answers wait to be read; read them, or try again')
  bytes.take(caller, length)
  readingSignal(req, res).addEventListener('abort', () => bytes.give(caller, length), { once: true })
}
