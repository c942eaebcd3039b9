/** Patterns of event types, as readers and webhooks name them. */
import { invalid } from '../../base/errors.ts'
import { type EventType, eventTypes } from '../event-log/event-types.ts'

/**
 * Returns the types that the patterns name. Undefined: all types, also those of later versions.
 *
 * A pattern is a type, all types of a noun such as `pull_request.*`, or `*` for all.
 *
 * @param loc the location of the patterns in the request
 * @throws ValidationError: a pattern names no type
 */
export function typesOf(patterns: readonly string[], loc: readonly (string | number)[]): EventType[] | undefined {
  const named = new Set<EventType>()
  for (const pattern of patterns) {
    const found = eventTypes.filter((type) => isNamed(type, pattern))
    if (found.length === 0)
      throw invalid(loc, 'There is no event of this type; the API description lists the types', pattern)
    for (const type of found) named.add(type)
  }
  return patterns.includes('*') ? undefined : [...named]
}

function isNamed(type: EventType, pattern: string): boolean {
  if (pattern === '*' || pattern === type) return true
  return pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))
}
