/** Names in a question that no node has. A list of them shows a mistake that would only give few results. */

import { closest, distance } from 'fastest-levenshtein'
import type { Subject } from './filter.ts'
import type { PropertyTable } from './table.ts'

export interface UnknownName {
  readonly name: string
  /** The known name that looks most like it. */
  readonly nearest?: string
}

/** The largest share of a name's letters that differ from the nearest name. */
const mostDifferent = 0.4

/** Lists the properties that no node has. A path counts by its first name. */
export function unknownNames(table: PropertyTable, subjects: readonly Subject[]): UnknownName[] {
  const names = subjects.flatMap((subject) => ('property' in subject ? [subject.property].flat().slice(0, 1) : []))
  const unknown = [...new Set(names)].filter((name) => !table.hasName(name))
  if (unknown.length === 0) return []
  const known = table.names().map(({ name }) => name)
  return unknown.map((name) => {
    const nearest = known.length === 0 ? undefined : closest(name, known)
    const isNear = nearest !== undefined && distance(name, nearest) <= Math.ceil(mostDifferent * name.length)
    return isNear ? { name, nearest } : { name }
  })
}
