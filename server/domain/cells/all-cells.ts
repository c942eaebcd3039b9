/** Lists and changes the cells of one database, for the operator. */
import { type CellLoad, findCell, listCells, setCell } from '../../../index/credentials/cells.ts'
import { credentialsMigrations } from '../../../index/credentials/migrations.ts'
import type { CellRow, CredentialsSchema } from '../../../index/credentials/schema.ts'
import { openPostgres } from '../../../index/postgres/database.ts'
import type { PostgresAddress } from '../../../index/postgres/pool.ts'

/** Lists the cells by name. @throws DatabaseError */
export async function readCells(postgres: PostgresAddress): Promise<CellLoad[]> {
  const db = await openPostgres<CredentialsSchema>(postgres, credentialsMigrations)
  try {
    return await listCells(db.read)
  } finally {
    await db.close()
  }
}

/** Changes a cell. Returns false if there is no such cell. @throws DatabaseError */
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
