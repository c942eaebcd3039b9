/** Classifies faults of PostgreSQL by its codes (SQLSTATE) and, where it could not be asked, by the connection. */
import type pg from 'pg'
import { DatabaseBusyError, DatabaseError } from '../sqlite/database-fault.ts'

/** Of transactions that meet: nothing was kept, and the whole transaction is run again. Source: PostgreSQL, appendix A. */
const conflicts: readonly (string | undefined)[] = ['40001', '40P01']

/** What a second process meets that makes the same tables at the same time. */
const migratedBeside: readonly (string | undefined)[] = [...conflicts, '23505', '42P07', '42701', '42710']

/** Whether PostgreSQL said it. Its class is not asked for: the package is loaded only where it is used. */
function isAnswer(error: unknown): error is pg.DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error
}

export function isConflict(error: unknown): boolean {
  return isAnswer(error) && conflicts.includes(error.code)
}

/** Whether another process may have migrated the tables meanwhile. */
export function isMigratedBeside(error: unknown): boolean {
  return (isAnswer(error) && migratedBeside.includes(error.code)) || error instanceof DatabaseBusyError
}

/** Whether the connection is of no use any more. */
export function isBroken(error: unknown): boolean {
  if (!isAnswer(error)) return true
  return error.severity === 'FATAL' || error.severity === 'PANIC'
}

/**
 * A DatabaseError for what is outside of the program. Other errors of PostgreSQL keep their type, so that a duplicate is one,
 * and lose what holds values of rows: password hashes and addresses do not belong in a log.
 */
export function asPostgresFault(error: unknown): unknown {
  if (!isAnswer(error)) return unreachable(error)
  for (const field of ['detail', 'where', 'internalQuery'] as const) delete error[field]
  const { code = '', message } = error
  const cause = { cause: error }
  if (['57014', '55P03', '53300'].includes(code)) return new DatabaseBusyError(cause)
  if (code === '53100') return new DatabaseError('storage_full', 'The disk of PostgreSQL is full', cause)
  if (code === '25006') return new DatabaseError('storage_readonly', 'PostgreSQL takes no writes', cause)
  if (code.startsWith('XX')) return new DatabaseError('damaged', `PostgreSQL: ${message}`, cause)
  const isAway = /^(08|28|3D|3F|53|57P|58|25P03)/.test(code) || isBroken(error)
  return isAway ? new DatabaseError('storage_error', `PostgreSQL: ${message}`, cause) : error
}

/** Errors of the connection; node-postgres has no codes for its own. */
function unreachable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (/^(timeout exceeded when trying to connect|Query read timeout)$/.test(message)) {
    return new DatabaseBusyError({ cause: error })
  }
  if (error instanceof TypeError || error instanceof DatabaseError) return error
  return new DatabaseError('storage_error', `PostgreSQL cannot be reached: ${reasonOf(error)}`, { cause: error })
}

/** Of addresses that were all tried in vain there is no message but theirs. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: unknown) => String(one)).join('; ')
  return error.message
}
