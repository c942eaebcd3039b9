/**
 * Runs SQLite statements with constant text. A statement that every change runs, or runs many times, must have one:
 * building it with Kysely takes longer than SQLite takes to run it. A list of values is one parameter, as JSON.
 */
import { CompiledQuery, type QueryResult } from 'kysely'
import type { Connection } from './driver.ts'

type Value = string | number | null | Buffer

/** A database of any schema, or a transaction. */
interface Statements {
  executeQuery<R>(query: CompiledQuery<R>): Promise<QueryResult<R>>
}

/** The connections of SQLite databases. They are faster without Kysely's executor. */
const connections = new WeakMap<Statements, Connection>()

/** Lets statements with constant text run on the connection of `db`. */
export function connect<D extends Statements>(db: D, connection: Connection): D {
  connections.set(db, connection)
  return db
}

export async function readRows<R>(db: Statements, text: string, ...values: readonly unknown[]): Promise<R[]> {
  // The caller knows the columns of its text.
  return (await run(db, text, values)).rows as R[]
}

/** Returns how many rows changed. */
export async function changeRows(db: Statements, text: string, ...values: readonly Value[]): Promise<number> {
  return Number((await run(db, text, values)).numAffectedRows ?? 0n)
}

function run(db: Statements, text: string, values: readonly unknown[]) {
  return connections.get(db)?.now(text, values) ?? db.executeQuery(CompiledQuery.raw(text, [...values]))
}

/** Reads rows in this turn of the event loop. @param trx of `Database.write`, which holds the lock */
export function readNow<R>(trx: Statements, text: string, ...values: readonly Value[]): R[] {
  return runNow(trx, text, values).rows as R[] // the caller knows the columns
}

/** Changes rows in this turn of the event loop, and returns how many changed. @param trx as for readNow */
export function changeNow(trx: Statements, text: string, ...values: readonly Value[]): number {
  return Number(runNow(trx, text, values).numAffectedRows ?? 0n)
}

function runNow(trx: Statements, text: string, values: readonly unknown[]) {
  const result = connections.get(trx)?.now(text, values)
  if (result === undefined) throw new Error('Only a transaction of SQLite runs statements in one turn')
  return result
}
