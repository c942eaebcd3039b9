/** Reads a database from another thread than the one that writes it. */
import { Kysely } from 'kysely'
import { openConnection } from '../sqlite/connection.ts'
import type { Database } from '../sqlite/database.ts'
import { sqliteDialect } from '../sqlite/driver.ts'

/** Opens a database that exists, only to read it. Its `write` throws. */
export async function openReader<S>(file: string): Promise<Database<S>> {
  const handle = await openConnection(file, { synchronous: 'NORMAL', mode: 'read' })
  const read = new Kysely<S>({ dialect: sqliteDialect(handle, 'read') })
  return {
    read,
    write: () => Promise.reject(new Error('This thread only reads')),
    close: async () => {
      await read.destroy()
      handle.close()
    },
  }
}
