/** PostgreSQL with the credentials of a storm, which crashes and starts again. */

import { databaseFor, ownServer } from '../support/postgres.ts'

export interface CrashingDatabase {
  /** For services and commands. */
  readonly environment: Readonly<Record<string, string>>
  /** From before a crash until `settled`: answers that say so are no fault. */
  isAway(): boolean
  /** As `pg_ctl stop -m immediate`. */
  crash(): Promise<void>
  start(): Promise<void>
  /** Whether a line of the log tells of a crash. */
  caused(line: string): boolean
  /** No request that met the crash is in flight any more. */
  settled(): void
  end(): Promise<void>
}

/** @param key its database is of that name */
export async function startDatabase(key: string): Promise<CrashingDatabase> {
  const server = await ownServer()
  let away = false
  let runs = true
  const crash = async () => {
    away = true
    await server.stop('immediate')
    runs = false
  }
  return {
    environment: { DATABASE_URL: await databaseFor(key, server) },
    isAway: () => away,
    caused: (line) => /PostgreSQL|"code":"(storage_error|outcome_unknown)"/.test(line),
    crash,
    start: async () => {
      await server.start()
      runs = true
    },
    settled: () => {
      away = false
    },
    end: async () => {
      if (runs) await crash()
      await server.remove()
    },
  }
}
