/** The shape of a request, checked once, by the spec. */

import { type RequestHandler, Router } from 'express'
import { middleware } from 'express-openapi-validator'
import type { OpenApiRequest } from 'express-openapi-validator/dist/framework/types.js'
import { Invalid, type Problem } from '../errors.ts'
import { contextOf } from './context.ts'
import { inTurn } from './in-turn.ts'
import { type Finding, inputOf, problemsOf } from './problems.ts'
import { copyOfSpec, type Operation, type OperationId } from './spec.ts'

/** 422 for what the spec does not allow; defaults are filled in. `answersToo`: 500 for answers that break the spec. */
export function validate({ answersToo }: { answersToo: boolean }): RequestHandler {
  const steps = middleware({
    // biome-ignore lint/suspicious/noExplicitAny: JSON's own type is not the validator's, and redocly lints the spec
    apiSpec: specForValidator() as any, // redocly lints it
    validateApiSpec: false,
    validateRequests: { allErrors: true },
    validateResponses: answersToo ? { allErrors: true } : false,
    validateSecurity: false,
    fileUploader: false,
    // Where path-parameters.ts has written raw slashes as %2F.
    useRequestUrl: true,
  })
  const all = Router().use(steps)
  // The others find the operation, and look at security and uploads, which it is told to leave alone.
  const known = inTurn(steps.filter(({ name }) => name === 'requestMiddleware' || name === 'responseMiddleware'))
  const findings = new Map<OperationId, NonNullable<OpenApiRequest['openapi']>>()
  return (req: OpenApiRequest, res, next) => {
    const { operation, place } = contextOf(req)
    const problems = queryProblems(operation, req.query)
    if (problems.length > 0) throw new Invalid(problems)
    const { method } = req
    // The validator knows no HEAD.
    req.method = operation.method
    // It finds the operation by compiling and trying a regular expression for each path of the spec, 0.1 ms a request,
    // so what it once found is told to it from then on.
    const found = findings.get(operation.id)
    if (found !== undefined) req.openapi = { ...found, pathParams: { ...place.parameters } }
    const check = found === undefined ? all : known
    check(req, res, (error?: unknown) => {
      req.method = method
      if (found === undefined && req.openapi !== undefined) findings.set(operation.id, req.openapi)
      const { body, query } = req
      next(
        hasFindings(error) ? new Invalid(problemsOf(error.errors, { body, query, params: place.parameters })) : error,
      )
    })
  }
}

/** The validator reads reserved characters, which are harmless, as an error unless each parameter allows them. */
function specForValidator(): object {
  return JSON.parse(JSON.stringify(copyOfSpec()), (_key, value) =>
    value?.in === 'query' && typeof value.name === 'string' ? { ...value, allowReserved: true } : value,
  )
}

function hasFindings(error: unknown): error is { errors: readonly Finding[] } {
  return (
    error instanceof Error &&
    'status' in error &&
    error.status === 400 &&
    'errors' in error &&
    Array.isArray(error.errors)
  )
}

/** What the validator would report one at a time, or take for granted: `0x10` and `1e2` as integers. */
function queryProblems(operation: Operation, query: object): Problem[] {
  return Object.entries(query).flatMap(([name, value]) => {
    const loc = ['query', name]
    const schema = operation.query.get(name)
    if (schema === undefined) {
      return [{ loc, msg: 'Extra inputs are not permitted', type: 'extra_forbidden', ...inputOf(value) }]
    }
    if (typeof value !== 'string') return [{ loc, msg: 'Value error, given more than once', type: 'value_error' }]
    if (schema.type === 'integer' && !/^-?\d{1,20}$/.test(value)) {
      const msg = 'Input should be a valid integer, unable to parse string as an integer'
      return [{ loc, msg, type: 'int_parsing', ...inputOf(value) }]
    }
    if (value === '') {
      const msg = 'String should have at least 1 character'
      return [{ loc, msg, type: 'string_too_short', input: value, ctx: { min_length: 1 } }]
    }
    return []
  })
}
