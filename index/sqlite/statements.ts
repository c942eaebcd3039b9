/**
 * Runs SQLite statements with constant text. A statement that every change runs, or runs many times, must have one:
 * building it with Kysely takes longer than SQLite takes to run it. A list of values is one parameter, as JSON.
 */
import { CompiledQuery, type QueryResult } from 'kysely'

type Value = string | number | null | Buffer

/** A database of any schema, or a transaction. */
interface Statements {
  executeQuery<R>(query: CompiledQuery<R>): Promise<QueryResult<R>>
}

export async function readRows<R>(db: Statements, text: string, ...values: readonly Value[]): Promise<R[]> {
  return (await db.executeQuery<R>(CompiledQuery.raw(text, [...values]))).rows
}

/** Returns how many rows changed. */
export async function changeRows(db: Statements, text: string, ...values: readonly Value[]): Promise<number> {
  return Number((await db.executeQuery(CompiledQuery.raw(text, [...values]))).numAffectedRows ?? 0n)
}
