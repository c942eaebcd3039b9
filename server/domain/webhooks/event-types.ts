/** The types of events that a webhook wants. */
import { type Problem, ValidationError } from '../../base/errors.ts'
import { eventTypes } from '../event-log/event-types.ts'

/** All types that begin with a noun are `noun.*`, and all types are `*`. */
const patterns: ReadonlySet<string> = new Set([
  '*',
  ...eventTypes,
  ...eventTypes.map((type) => `${type.split('.', 1)[0]}.*`),
])

/** @throws ValidationError a type is unknown, or in the list twice */
export function requireTypes(types: readonly string[]): void {
  const problems = types.flatMap((type, at): Problem[] => {
    const problem = (msg: string): Problem[] => [{ loc: ['body', 'types', at], msg, type: 'value_error', input: type }]
    if (!patterns.has(type)) return problem('This is not a type of event, a group such as pull_request.*, or *')
    return types.indexOf(type) < at ? problem('This type is in the list twice') : []
  })
  if (problems.length > 0) throw new ValidationError(problems)
}

/** Returns a function that says whether a type is wanted. */
export function matcherOf(types: readonly string[]): (type: string) => boolean {
  const wanted = new Set(types)
  return (type) => wanted.has('*') || wanted.has(type) || wanted.has(`${type.split('.', 1)[0]}.*`)
}
