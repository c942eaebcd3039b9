/** Cursors, which name places in the log of an organisation. */
import { encodeCursor, type Position, parseCursor } from '../../../index/log/chain.ts'
import { findLog, type Log } from '../../../index/log/events.ts'
import { baseOf, hasPosition } from '../../../index/log/positions.ts'
import { AppError, invalid } from '../../base/errors.ts'
import { orgNotFoundError } from '../access.ts'
import { ensureLog } from '../event-log/record.ts'
import type { Services } from '../services.ts'

/** Returns the log of an organisation. Begins it if nothing was recorded yet. @throws AppError busy, org_not_found */
export async function findOrBeginLog(deps: Services, orgId: string): Promise<Log> {
  const found = await findLog(deps.events.read, orgId)
  if (found !== undefined) return found
  if (!deps.placement.lease.isHeld())
    throw new AppError('busy', 'No event of this organisation is recorded yet; try again in a moment')
  const begun = await ensureLog(deps, orgId)
  if (begun === undefined) throw orgNotFoundError()
  return begun
}

/**
 * Returns the position that a parameter names.
 *
 * @param cursor a cursor, or `now`; undefined: before the oldest event that is kept
 * @throws AppError cursor_gone; ValidationError: malformed
 */
export async function positionOf(
  deps: Services,
  log: Log,
  cursor: string | undefined,
  parameter: 'after' | 'before',
): Promise<Position> {
  if (cursor === undefined) return baseOf(log)
  if (cursor === 'now') return { seq: log.seq, chain: log.chain }
  const position = parseCursor(cursor)
  if (position === undefined)
    throw invalid(['query', parameter], 'This is not a cursor; send the `next` of a response', cursor)
  if (!(await hasPosition(deps.events.read, log, position))) throw cursorGone(log)
  return position
}

/** The refusal of a cursor after which events may be missing. */
export function cursorGone(log: Log): AppError {
  return new AppError(
    'cursor_gone',
    'Events after this cursor are missing: it is too old, or the log was restored. Read everything again, then follow from `now`',
    {
      oldest: encodeCursor(baseOf(log)),
      now: encodeCursor(log),
    },
  )
}
