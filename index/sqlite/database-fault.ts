/** Classifies faults of a database by SQLite's codes and, where these are too coarse, by a look at the file system. */
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { isSqliteError } from './better-sqlite3.ts'

/**
 * `damaged`: the file is not a database, or a damaged one. `too_new`: a newer version made it. `outcome_unknown`: the
 * connection broke during the commit.
 */
type DatabaseFaultCode =
  | 'busy'
  | 'too_new'
  | 'damaged'
  | 'storage_full'
  | 'storage_readonly'
  | 'storage_error'
  | 'outcome_unknown'

/** A fault outside the program. But for `outcome_unknown`, nothing of the transaction was kept. */
export class DatabaseError extends Error {
  readonly code: DatabaseFaultCode

  constructor(code: DatabaseFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseError'
    this.code = code
  }
}
/** Whether the file system failed below a database. */
export function isDatabaseStorageError(error: unknown): boolean {
  return error instanceof DatabaseError && ['storage_full', 'storage_readonly', 'storage_error'].includes(error.code)
}

/** Others held the database longer than the time limit. */
export class DatabaseBusyError extends DatabaseError {
  constructor(options?: ErrorOptions) {
    super('busy', 'The database is busy', options)
    this.name = 'DatabaseBusyError'
  }
}

export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith('SQLITE_BUSY')
}

/** Whether the file cannot be written to: SQLite does not report why a write failed. */
function isReadOnly(file: string): boolean {
  try {
    accessSync(file, constants.W_OK)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS'
  }
}

/** Why a folder cannot be opened now, which SQLite does not report; undefined where it can be opened. */
export function toOpenError(dir: string): NodeJS.ErrnoException | undefined {
  try {
    closeSync(openSync(dir, 'r'))
    return undefined
  } catch (error) {
    return error as NodeJS.ErrnoException // as node's fs throws it
  }
}

/** Result codes of SQLite (sqlite.org/rescode.html) as faults; any other error as it is. @param file the database */
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

/** SQLite's two, and PostgreSQL's. */
const duplicateCodes: readonly unknown[] = ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505']

/** Whether `error` is the violation of a unique constraint: the row exists already. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof Error && 'code' in error && duplicateCodes.includes(error.code)
}
