/** Compiles frequent queries once, because compiling costs more than running them in SQLite. */

import type { CompiledQuery, Kysely } from 'kysely'
import { readRows } from './statements.ts'

/**
 * Returns a query with `count` string parameters. `build` receives placeholders and may use them only as parameters. It
 * must not depend on their values, and must build the same query for every database of an engine.
 */
export function compileOnce<S, R, V extends readonly string[]>(
  count: V['length'],
  build: (db: Kysely<S>, ...values: V) => { compile(): CompiledQuery<R> },
): (db: Kysely<S>, ...values: V) => Promise<R[]> {
  interface Compiled {
    readonly query: CompiledQuery<R>
    /** The index of each parameter's value; -1 for a constant. */
    readonly places: readonly number[]
  }
  /** Keyed by engine, because each has its own syntax for parameters. */
  const known = new Map<unknown, Compiled>()
  const compile = (db: Kysely<S>): Compiled => {
    const standIns = Array.from({ length: count }, (_, n) => `\0value ${n}`)
    const query = build(db, ...(standIns as readonly string[] as V)).compile() // `count` is the length of V
    return { query, places: query.parameters.map((parameter) => standIns.indexOf(parameter as string)) } // else -1
  }
  return async (db, ...values) => {
    const engine = db.getExecutor().adapter.constructor
    const compiled = known.get(engine) ?? compile(db)
    known.set(engine, compiled)
    const { query, places } = compiled
    const constants = query.parameters
    const parameters = places.map((place, at) => (place < 0 ? constants[at] : values[place]))
    return readRows<R>(db, query.sql, ...parameters)
  }
}
