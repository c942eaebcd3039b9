/** Runs statements that every change needs. Building them with Kysely would take longer than SQLite takes to run them. */
import { CompiledQuery } from 'kysely'
import type { LogDb } from './schema.ts'

type Value = string | number | null

export async function readRows<R>(db: LogDb, text: string, ...values: readonly Value[]): Promise<R[]> {
  return (await db.executeQuery<R>(CompiledQuery.raw(text, [...values]))).rows
}

/** Returns how many rows changed. */
export async function changeRows(db: LogDb, text: string, ...values: readonly Value[]): Promise<number> {
  return Number((await db.executeQuery(CompiledQuery.raw(text, [...values]))).numAffectedRows ?? 0n)
}
