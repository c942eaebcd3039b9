/** The cells of one database, as the operator sees and changes them. */
import { type CellLoad, findCell, listCells, setCell } from '../../../index/credentials/cells.ts'
import { credentialsMigrations } from '../../../index/credentials/migrations.ts'
import type { CellRow, CredentialsSchema } from '../../../index/credentials/schema.ts'
import { openPostgres } from '../../../index/postgres/database.ts'
import type { PostgresAddress } from '../../../index/postgres/pool.ts'

/** By name. @throws DatabaseError */
export async function readCells(postgres: PostgresAddress): Promise<CellLoad[]> {
  const db = await openPostgres<CredentialsSchema>(postgres, credentialsMigrations)
  try {
    return await listCells(db.read)
  } finally {
    await db.close()
  }
}

/** False: there is no such cell. @throws DatabaseError */
export async function changeCell(
  postgres: PostgresAddress,
  name: string,
  change: Partial<Pick<CellRow, 'open' | 'weight'>>,
): Promise<boolean> {
  const db = await openPostgres<CredentialsSchema>(postgres, credentialsMigrations)
  try {
    if (Object.keys(change).length === 0) return (await findCell(db.read, name)) !== undefined
    return await db.write((trx) => setCell(trx, name, change))
  } finally {
    await db.close()
  }
}
