/** Compiles frequent queries once: compiling one costs more than SQLite's answer. */

import type { CompiledQuery, Kysely } from 'kysely'

/**
 * A query with `count` parameters of type text. `build` receives placeholders, which may only become parameters. It must not
 * depend on their values, and must build the same query for every database.
 */
export function compiledOnce<S, R, V extends readonly string[]>(
  count: V['length'],
  build: (db: Kysely<S>, ...values: V) => { compile(): CompiledQuery<R> },
): (db: Kysely<S>, ...values: V) => Promise<R[]> {
  let compiled: CompiledQuery<R> | undefined
  /** The index of each parameter's value; -1 for a constant. */
  let places: readonly number[] = []
  return async (db, ...values) => {
    if (compiled === undefined) {
      const standIns = Array.from({ length: count }, (_, n) => `\0value ${n}`)
      compiled = build(db, ...(standIns as readonly string[] as V)).compile() // `count` is the length of V
      places = compiled.parameters.map((parameter) => standIns.indexOf(parameter as string)) // what is no text is not found
    }
    const constants = compiled.parameters
    const parameters = places.map((place, at) => (place < 0 ? constants[at] : values[place]))
    return (await db.executeQuery<R>({ ...compiled, parameters })).rows
  }
}
