/** Loads the release of better-sqlite3 that runs on this version of Node, on first use. */

import { createRequire } from 'node:module'
import type Sqlite from 'better-sqlite3'

/** The package to load: release 13 needs version 10 of Node-API, which Node 20 lacks. */
const name = Number(process.versions.napi) >= 10 ? 'better-sqlite3' : 'better-sqlite3-node20'

type Package = typeof Sqlite

let loaded: Package | undefined

/** The package or its native addon is not installed. */
export class SqliteNotInstalledError extends Error {
  constructor(options: ErrorOptions) {
    super(
      `SQLite is not installed for Node ${process.version} (${process.platform}-${process.arch}); ${advice}`,
      options,
    )
    this.name = 'SqliteNotInstalledError'
  }
}

const advice =
  name === 'better-sqlite3'
    ? 'install Grove again on this machine with `npm install --include=optional --ignore-scripts`'
    : 'install Grove again with `npm install --ignore-scripts=false` and a C++ compiler, or use Node 22.14 or newer'

/**
 * Opens a database file, or the bytes of one.
 *
 * @throws SqliteNotInstalledError, SqliteError, TypeError: its folder is missing
 */
export function openSqlite(file: string | Buffer, options?: Sqlite.Options): Sqlite.Database {
  try {
    loaded ??= createRequire(import.meta.url)(name) as Package // the package's export
    return new loaded(file, options)
  } catch (error) {
    throw isMissing(error) ? new SqliteNotInstalledError({ cause: error }) : error
  }
}

export function isSqliteError(error: unknown): error is InstanceType<Package['SqliteError']> {
  return loaded !== undefined && error instanceof loaded.SqliteError
}

/** True if the package lacks its native addon. `bindings` errors can be recognised only by their message. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  return (
    code === 'MODULE_NOT_FOUND' ||
    code === 'ERR_DLOPEN_FAILED' ||
    error.message.startsWith('Could not locate the bindings')
  )
}
