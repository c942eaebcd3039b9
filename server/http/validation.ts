/** Validates requests against the spec. */

import { type RequestHandler, Router } from 'express'
import { middleware } from 'express-openapi-validator'
import type { OpenApiRequest } from 'express-openapi-validator/dist/framework/types.js'
import { Invalid, type Problem } from '../errors.ts'
import { contextOf } from './context.ts'
import { isLongText } from './long-texts.ts'
import { chain } from './middleware-chain.ts'
import { type Finding, inputOf, problemsOf } from './problems.ts'
import { memberOf, schemaOf, typesOf } from './schemas.ts'
import { problemsBefore, readBySchema } from './sent-values.ts'
import { copyOfSpec, type Operation, type OperationId } from './spec.ts'

/** The validator's steps that validate; the others route, authenticate and handle uploads, which is done elsewhere. */
const requestStep = 'requestMiddleware'
const answerStep = 'responseMiddleware'

/** The validator's own format also accepts `urn:uuid:`. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** By `answersToo`. Shared, since the spec does not change and compiling its schemas takes 0.3 s. */
const made = new Map<boolean, RequestHandler>()

/**
 * 422 for what the spec does not allow; fills in defaults. `answersToo`: 500 for responses that break the spec. Shared by the
 * services of one process.
 */
export function validate({ answersToo }: { answersToo: boolean }): RequestHandler {
  const known = made.get(answersToo) ?? makeValidator(answersToo)
  made.set(answersToo, known)
  return known
}

function makeValidator(answersToo: boolean): RequestHandler {
  const steps = middleware({
    // biome-ignore lint/suspicious/noExplicitAny: JSON's own type is not the validator's, and redocly lints the spec
    apiSpec: specForValidator() as any, // redocly lints it
    validateApiSpec: false,
    validateRequests: { allErrors: true },
    validateResponses: answersToo ? { allErrors: true } : false,
    validateSecurity: false,
    fileUploader: false,
    formats: { uuid: { type: 'string', validate: (text: string) => uuid.test(text) } },
    // path-parameters.ts may have encoded raw slashes as %2F.
    useRequestUrl: true,
  })
  const all = Router().use(steps)
  const known = chain(stepsNamed(steps, answersToo ? [requestStep, answerStep] : [requestStep]))
  const findings = new Map<OperationId, NonNullable<OpenApiRequest['openapi']>>()
  return (req: OpenApiRequest, res, next) => {
    const { operation, match } = contextOf(req)
    const { bodySchema, querySchema, pathSchema } = operation
    const problems = [
      ...pathProblems(operation, match.parameters),
      ...queryProblems(operation, req.query),
      ...problemsBefore(bodySchema, req.body),
    ]
    if (problems.length > 0) throw new Invalid(problems)
    req.body = readBySchema(bodySchema, req.body)
    const { method } = req
    // The validator does not know HEAD.
    req.method = operation.method
    // The validator tries a regular expression per path, 0.1 ms a request, so the operation it found is cached and passed to
    // it.
    const found = findings.get(operation.id)
    if (found !== undefined) req.openapi = { ...found, pathParams: { ...match.parameters } }
    const check = found === undefined ? all : known
    check(req, res, (error?: unknown) => {
      req.method = method
      // Without it, the validator accepts every request.
      if (req.openapi === undefined) {
        next(error ?? new Error(`The validator did not find the operation ${operation.id}`))
        return
      }
      if (found === undefined) findings.set(operation.id, req.openapi)
      const { body, query } = req
      const sent = { body, query, params: match.parameters }
      const schemas = { body: bodySchema, query: querySchema, params: pathSchema }
      next(hasFindings(error) ? new Invalid(problemsOf(error.errors, sent, schemas)) : error)
    })
  }
}

/** One step of each name. @throws Error if the validator has no steps of these names: nothing would be validated */
export function stepsNamed<S extends { readonly name: string }>(steps: readonly S[], names: readonly string[]): S[] {
  return names.map((name) => {
    const [step, ...others] = steps.filter((one) => one.name === name)
    if (step !== undefined && others.length === 0) return step
    const there = steps.map((one) => one.name).join(', ')
    throw new Error(`express-openapi-validator should have one step called ${name}; it has ${there}`)
  })
}

/** Allows reserved characters in each parameter: the validator otherwise reports them, though they are harmless. */
function specForValidator(): object {
  return JSON.parse(JSON.stringify(copyOfSpec()), (_key, value) => {
    if (value?.in === 'query' && typeof value.name === 'string') return { ...value, allowReserved: true }
    // `problemsBefore` has checked it.
    return typeof value?.pattern === 'string' && isLongText(value) ? { ...value, pattern: undefined } : value
  })
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

/** Integers that the validator would accept in other spellings: `0x10`, `1e2` and `01` would be further URLs of one resource. */
function pathProblems({ pathSchema }: Operation, parameters: Readonly<Record<string, string>>): Problem[] {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const schema = memberOf(pathSchema, name)
    return schema !== undefined && typesOf(schema).includes('integer') && !/^-?(0|[1-9]\d{0,19})$/.test(value)
      ? [unparsable(['path', name], value)]
      : []
  })
}

/** Problems that the validator would accept, or report only one at a time. */
function queryProblems({ querySchema }: Operation, query: object): Problem[] {
  return Object.entries(query).flatMap(([name, value]) => {
    const loc = ['query', name]
    const schema = memberOf(querySchema, name)
    if (schema === undefined) {
      return [{ loc, msg: 'Extra inputs are not permitted', type: 'extra_forbidden', ...inputOf(value) }]
    }
    if (typeof value !== 'string') return [{ loc, msg: 'Value error, given more than once', type: 'value_error' }]
    if (schemaOf(schema).type === 'integer' && !isWhole(value)) return [unparsable(loc, value)]
    if (value === '') {
      const msg = 'String should have at least 1 character'
      return [{ loc, msg, type: 'string_too_short', input: value, ctx: { min_length: 1 } }]
    }
    return []
  })
}

function isWhole(text: string): boolean {
  return /^-?\d{1,20}$/.test(text)
}

function unparsable(loc: readonly string[], value: string): Problem {
  const msg = 'Input should be a valid integer, unable to parse string as an integer'
  return { loc, msg, type: 'int_parsing', ...inputOf(value) }
}
