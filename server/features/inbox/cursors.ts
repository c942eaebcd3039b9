/**
 * Cursors of an inbox: the numbers in several logs as one opaque string. It has the end of each organisation's id and a
 * number, of six bytes each. Pages continue exactly there, however the clocks of events run.
 */
import { invalid, type ValidationError } from '../../base/errors.ts'

/** Numbers by the ends of organisations' ids. */
export type LogNumbers = ReadonlyMap<string, number>

const bytesOfOrg = 6
const bytesOfSeq = 6
const bytesOfOne = bytesOfOrg + bytesOfSeq

/** The end of a UUID, 48 random bits, distinguishes the organisations of one user. */
export function endOf(orgId: string): string {
  return orgId.toLowerCase().slice(-2 * bytesOfOrg)
}

export function encodeInboxCursor(numbers: Iterable<readonly [orgId: string, seq: number]>): string {
  const parts = [...numbers].map(([orgId, seq]) => {
    const part = Buffer.alloc(bytesOfOne)
    part.write(endOf(orgId), 'hex')
    part.writeUIntBE(seq, bytesOfOrg, bytesOfSeq)
    return part
  })
  return Buffer.concat(parts).toString('base64url')
}

/** Parses a cursor. @throws ValidationError */
export function parseInboxCursor(text: string, loc: readonly string[]): LogNumbers {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length % bytesOfOne !== 0 || bytes.toString('base64url') !== text) throw malformed(loc, text)
  const numbers = new Map<string, number>()
  for (let at = 0; at < bytes.length; at += bytesOfOne)
    numbers.set(bytes.toString('hex', at, at + bytesOfOrg), bytes.readUIntBE(at + bytesOfOrg, bytesOfSeq))
  return numbers
}

function malformed(loc: readonly string[], text: string): ValidationError {
  return invalid(loc, 'This is not a cursor of an inbox; send one that a response has, or none', text)
}
