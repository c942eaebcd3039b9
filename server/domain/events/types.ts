/** Patterns of event types, as readers and webhooks name them. */
import { invalid, type Problem, ValidationError } from '../../base/errors.ts'
import { type EventType, eventTypes, isNamed } from '../../base/event-types.ts'

/**
 * Returns the types that the patterns name. Undefined: all types, also those of later versions.
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

/** @throws ValidationError: a pattern of a webhook names no type, or is in the list twice */
export function requireTypes(patterns: readonly string[]): void {
  const problems = patterns.flatMap((input, at): Problem[] => {
    const problem = (msg: string): Problem[] => [{ loc: ['body', 'types', at], msg, type: 'value_error', input }]
    if (!eventTypes.some((type) => isNamed(type, input)))
      return problem('This is not a type of event, a group such as pull_request.*, or *')
    return patterns.indexOf(input) < at ? problem('This type is in the list twice') : []
  })
  if (problems.length > 0) throw new ValidationError(problems)
}
