/** Classifies database faults by SQLite's codes. Checks the file system if these are too coarse. */
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { isSqliteError } from './better-sqlite3.ts'

/**
 * Kinds of faults. `damaged`: the file is a damaged database, or not a database. `too_new`: a newer version created it.
 * `outcome_unknown`: the connection broke during the commit.
 */
type DatabaseFaultCode =
  | 'busy'
  | 'too_new'
  | 'damaged'
  | 'storage_full'
  | 'storage_readonly'
  | 'storage_error'
  | 'outcome_unknown'

/** A fault outside the program. Except for `outcome_unknown`, the transaction left no changes. */
export class DatabaseError extends Error {
  readonly code: DatabaseFaultCode

  constructor(code: DatabaseFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseError'
    this.code = code
  }
}
/** True if the file system below a database failed. */
export function isDatabaseStorageError(error: unknown): boolean {
  return error instanceof DatabaseError && ['storage_full', 'storage_readonly', 'storage_error'].includes(error.code)
}

/** The database stayed locked longer than the time limit. */
export class DatabaseBusyError extends DatabaseError {
  constructor(options?: ErrorOptions) {
    super('busy', 'The database is busy', options)
    this.name = 'DatabaseBusyError'
  }
}

export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith('SQLITE_BUSY')
}

/** True if the file system is read-only. SQLite does not report why a write failed. */
function isReadOnly(file: string): boolean {
  try {
    accessSync(file, constants.W_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS'
  }
}

/** Returns why a folder cannot be opened, or undefined if it can. SQLite does not report the reason. */
export function toOpenError(dir: string): NodeJS.ErrnoException | undefined {
  try {
    closeSync(openSync(dir, 'r'))
    return undefined
  } catch (error) {
    return error as NodeJS.ErrnoException // node:fs throws this type
  }
}

/**
 * Converts SQLite's result codes (sqlite.org/rescode.html) to faults. Returns other errors as they are.
 *
 * @param file the database
 */
export function asDatabaseError(error: unknown, file: string): unknown {
  if (!isSqliteError(error)) return error
  const { code } = error
  if (isBusy(error)) return new DatabaseBusyError({ cause: error })
  if (code === 'SQLITE_FULL') return new DatabaseError('storage_full', 'The disk is full', { cause: error })
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new DatabaseError('damaged', 'The database is damaged', { cause: error })
  }
  if (code.startsWith('SQLITE_IOERR') && isReadOnly(file))
    return new DatabaseError('storage_readonly', 'The file system is read-only', { cause: error })
  const cause = code.startsWith('SQLITE_CANTOPEN') ? toOpenError(dirname(file)) : undefined
  if (cause?.code === 'EMFILE' || cause?.code === 'ENFILE')
    return new DatabaseError('busy', 'Too many files are open', { cause })
  if (code === 'SQLITE_IOERR' || code.startsWith('SQLITE_IOERR_') || code.startsWith('SQLITE_CANTOPEN')) {
    return new DatabaseError('storage_error', 'The file system failed', { cause: error })
  }
  if (code.startsWith('SQLITE_READONLY')) {
    return new DatabaseError('storage_readonly', 'The database is read-only', { cause: error })
  }
  return error
}

/** Codes of a violated unique constraint: two of SQLite, one of PostgreSQL. */
const duplicateCodes: readonly unknown[] = ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505']

/** True if `error` is a violated unique constraint: the row already exists. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && duplicateCodes.includes(error.code)
}
