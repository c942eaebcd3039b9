/** Adds to each operation the errors that follow from its method, security and body. */

interface Operation {
  readonly operationId?: string
  readonly security?: readonly object[]
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, object>>
  /** Statuses of the rule that this operation never has. */
  readonly 'x-never'?: readonly string[]
}

interface Source {
  readonly security: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** The names in `components.responses`, by status. */
const errors = {
  always: {
    400: 'BadRequest',
    405: 'MethodNotAllowed',
    408: 'RequestTimeout',
    417: 'ExpectationFailed',
    422: 'Invalid',
    429: 'RateLimited',
    431: 'HeadersTooLarge',
    500: 'InternalError',
    503: 'Unavailable',
  },
  withCaller: { 401: 'Unauthenticated', 403: 'Forbidden' },
  withBody: { 413: 'TooLarge', 415: 'UnsupportedMediaType' },
} as const

/**
 * Returns the document with all errors. An operation lists those that have a description of its own. They replace those
 * of the rule.
 *
 * @throws Error: an operation lists an error of the rule as the rule has it, or leaves out one that it does not have
 */
export function withErrors<D extends Source>(source: D): D {
  const complete = (one: object) => (isOperation(one) ? completed(one, one.security ?? source.security) : one)
  const paths = Object.entries(source.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, one]) => [method, complete(one)])),
  ])
  return { ...source, paths: Object.fromEntries(paths) }
}

function isOperation(one: object): one is Operation {
  return 'operationId' in one && 'responses' in one
}

function completed({ 'x-never': never = [], ...operation }: Operation, security: readonly object[]): object {
  const { operationId, requestBody, responses } = operation
  const names: Readonly<Record<string, string>> = {
    ...errors.always,
    ...(security.length > 0 && errors.withCaller),
    ...(requestBody !== undefined && errors.withBody),
  }
  const byRule = Object.fromEntries(
    Object.entries(names).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  )
  for (const [status, response] of Object.entries(responses))
    if (JSON.stringify(response) === JSON.stringify(byRule[status]))
      throw new Error(`${operationId} lists ${status}, which npm run generate adds; remove the line`)
  for (const status of never)
    if (byRule[status] === undefined || responses[status] !== undefined)
      throw new Error(`${operationId} has ${status} in x-never, but would not get it by rule; remove it`)
  const left = Object.entries(byRule).filter(([status]) => !never.includes(status))
  // Statuses are sorted, because keys that are numbers are.
  return { ...operation, responses: { ...Object.fromEntries(left), ...responses } }
}
