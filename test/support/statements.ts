/** Notes the statements that this process runs on its databases. */

import { basename } from 'node:path'
import type Sqlite from 'better-sqlite3'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'

type Database = 'credentials' | 'index' | 'events'

/** The statements since `begin`, in their order. */
export interface NotedStatements {
  /** Forgets those before. */
  begin(): void
  /** Returns all of each database, also reads. */
  ofDatabases(): Readonly<Record<Database, readonly string[]>>
  /** Returns all on the index. */
  all(): readonly string[]
  /** Returns those of the last transaction on the index, without `begin` and `commit`. */
  lastTransaction(): readonly string[]
  /** Ends the notes. */
  end(): void
}

/** Notes statements of databases that are opened after this. */
export function noteStatements(): NotedStatements {
  /** The prototype of every database of this process. */
  const databases: Sqlite.Database = Object.getPrototypeOf(openSqlite(':memory:'))
  const { prepare } = databases
  const noted: Readonly<Record<Database, string[]>> = { credentials: [], index: [], events: [] }
  const run = noted.index
  function note(this: Sqlite.Database, source: string) {
    const statement: Sqlite.Statement = prepare.call(this, source)
    const name = basename(this.name, '.sqlite')
    if (!(name in noted)) return statement
    const ofThis = noted[name as Database] // checked above
    for (const method of ['all', 'run'] as const) {
      const original = statement[method]
      const noting = (...values: unknown[]) => {
        ofThis.push(source)
        return Reflect.apply(original, statement, values)
      }
      Object.defineProperty(statement, method, { value: noting })
    }
    return statement
  }
  databases.prepare = note as typeof prepare
  return {
    begin: () => {
      for (const statements of Object.values(noted)) statements.length = 0
    },
    ofDatabases: () => noted,
    all: () => run,
    lastTransaction: () => {
      const from = run.lastIndexOf('begin immediate')
      return run.slice(from + 1, run.indexOf('commit', from))
    },
    end: () => {
      databases.prepare = prepare
    },
  }
}
