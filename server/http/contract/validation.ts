/** Validates requests against the spec. */

import { type RequestHandler, Router } from 'express'
import type { OpenApiRequest } from 'express-openapi-validator/dist/framework/types.js'
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js'
import { Invalid, type Problem } from '../../base/errors.ts'
import { contextOf } from '../context.ts'
import { chain } from '../middleware-chain.ts'
import { isDateTime } from './date-times.ts'
import { type Finding, inputOf, problemsOf } from './problems.ts'
import { memberOf, schemaOf, typesOf } from './schemas.ts'
import { problemsBefore, readBySchema } from './sent-values.ts'
import type { Operation, OperationId } from './spec.ts'
import { specForValidator } from './validator-document.ts'

/** The validator's steps that validate; the others route, authenticate and handle uploads, which is done elsewhere. */
const requestStep = 'requestMiddleware'
const answerStep = 'responseMiddleware'

/** The validator's own format also accepts `urn:uuid:`. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** By the operation whose answers they validate. Shared by the services of one process: the spec does not change. */
const made = new Map<OperationId | undefined, RequestHandler>()

/** 422 for what the spec does not allow; fills in defaults. `answersToo`: 500 for responses that break the spec. */
export function validate({ answersToo }: { answersToo: boolean }): RequestHandler {
  // One validator of everything would walk all responses of all operations for each response.
  if (answersToo) return (req, res, next) => validatorOf(contextOf(req).operation.id)(req, res, next)
  return validatorOf(undefined)
}

function validatorOf(answersOf: OperationId | undefined): RequestHandler {
  const known = made.get(answersOf) ?? makeValidator(answersOf)
  made.set(answersOf, known)
  return known
}

function makeValidator(answersOf: OperationId | undefined): RequestHandler {
  const spec = specForValidator(answersOf)
  const validator = new OpenApiValidator({
    apiSpec: spec.apiDoc,
    validateRequests: { allErrors: true },
    validateResponses: answersOf === undefined ? false : { allErrors: true },
    validateSecurity: false,
    fileUploader: false,
    formats: {
      uuid: { type: 'string', validate: (text: string) => uuid.test(text) },
      // The validator's own takes 30 February for a day.
      'date-time': { type: 'string', validate: isDateTime },
    },
    // path-parameters.ts may have encoded raw slashes as %2F.
    useRequestUrl: true,
  })
  // Not the function `middleware`: it resolves references first, and compiles the schema of all specs.
  const steps = validator.installMiddleware(Promise.resolve(spec))
  const all = Router().use(steps)
  const known = chain(stepsNamed(steps, answersOf === undefined ? [requestStep] : [requestStep, answerStep]))
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
    if (value === '' && schemaOf(schema).minLength !== 0) {
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
