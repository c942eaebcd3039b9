/** Queries that every request asks: compiled once, not for each request anew, which costs more than SQLite's answer. */

import type { CompiledQuery, Kysely } from 'kysely'

/**
 * A query with `count` texts to fill in: `build` sees stand-ins, which may only become parameters. It must not look at
 * them, and must build the same for every database.
 */
export function compiledOnce<S, R, V extends readonly string[]>(
  count: V['length'],
  build: (db: Kysely<S>, ...values: V) => { compile(): CompiledQuery<R> },
): (db: Kysely<S>, ...values: V) => Promise<R[]> {
  let compiled: CompiledQuery<R> | undefined
  /** Which of the values each parameter is; -1: the constant that it is. */
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
