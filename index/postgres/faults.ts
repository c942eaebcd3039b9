/** Classifies PostgreSQL faults by SQLSTATE, or by the connection's error if there was no response. */
import type pg from 'pg'
import { DatabaseBusyError, DatabaseError } from '../sqlite/database-fault.ts'

/**
 * Codes of conflicting transactions. Nothing was saved, and the whole transaction runs again. Source: PostgreSQL,
 * appendix A.
 */
const conflicts: readonly (string | undefined)[] = ['40001', '40P01']

/** Codes that PostgreSQL returns if two processes create the same tables at once. */
const migratedBeside: readonly (string | undefined)[] = [...conflicts, '23505', '42P07', '42701', '42710']

/**
 * True if the error came from PostgreSQL. Does not use `instanceof`, because the package is loaded only when needed.
 */
function isAnswer(error: unknown): error is pg.DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error
}

export function isConflict(error: unknown): boolean {
  return isAnswer(error) && conflicts.includes(error.code)
}

/** True if another process may be migrating the tables at the same time. */
export function isMigratedBeside(error: unknown): boolean {
  return (isAnswer(error) && migratedBeside.includes(error.code)) || error instanceof DatabaseBusyError
}

/** True if the connection can no longer be used. */
export function isBroken(error: unknown): boolean {
  if (!isAnswer(error)) return true
  return error.severity === 'FATAL' || error.severity === 'PANIC'
}

/**
 * Returns a DatabaseError for faults outside the program. Other PostgreSQL errors keep their type, so that duplicates
 * can be recognised. Removes the fields with row values, because password hashes and e-mail addresses do not belong in
 * a log.
 */
export function asPostgresFault(error: unknown): unknown {
  if (!isAnswer(error)) return unreachable(error)
  for (const field of ['detail', 'where', 'internalQuery'] as const) delete error[field]
  const { code = '', message } = error
  const cause = { cause: error }
  if (['57014', '55P03', '53300'].includes(code)) return new DatabaseBusyError(cause)
  if (code === '53100') return new DatabaseError('storage_full', "PostgreSQL's disk is full", cause)
  if (code === '25006') return new DatabaseError('storage_readonly', 'PostgreSQL is read-only', cause)
  if (code.startsWith('XX')) return new DatabaseError('damaged', `PostgreSQL: ${message}`, cause)
  const isAway = /^(08|28|3D|3F|53|57P|58|25P03)/.test(code) || isBroken(error)
  return isAway ? new DatabaseError('storage_error', `PostgreSQL: ${message}`, cause) : error
}

/** Classifies connection errors by message, because node-postgres has no codes for its own. */
function unreachable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (/^(timeout exceeded when trying to connect|Query read timeout)$/.test(message)) {
    return new DatabaseBusyError({ cause: error })
  }
  if (error instanceof TypeError || error instanceof DatabaseError) return error
  return new DatabaseError('storage_error', `PostgreSQL cannot be reached: ${reasonOf(error)}`, { cause: error })
}

/** Returns the reason for an error. If every IP address of a host failed, only the inner errors have messages. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: unknown) => String(one)).join('; ')
  return error.message
}
