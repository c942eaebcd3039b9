/** The shape of a request, checked once, by the spec. */

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

/** The validator's steps that judge; the others find the operation, and look at security and uploads, which are not its task here. */
const requestStep = 'requestMiddleware'
const answerStep = 'responseMiddleware'

/** The validator's own also takes `urn:uuid:`. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** By whether answers are judged: the spec never changes, and compiling its schemas takes 0.3 s. */
const made = new Map<boolean, RequestHandler>()

/**
 * 422 for what the spec does not allow; defaults are filled in. `answersToo`: 500 for answers that break the spec.
 * Services of one process share it.
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
    // Where path-parameters.ts has written raw slashes as %2F.
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
    // The validator knows no HEAD.
    req.method = operation.method
    // It finds the operation by compiling and trying a regular expression for each path of the spec, 0.1 ms a request,
    // so what it once found is told to it from then on.
    const found = findings.get(operation.id)
    if (found !== undefined) req.openapi = { ...found, pathParams: { ...match.parameters } }
    const check = found === undefined ? all : known
    check(req, res, (error?: unknown) => {
      req.method = method
      // Without it the validator lets every request pass.
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

/** One step of each name. @throws Error where the validator's are called otherwise: nothing would be judged */
export function stepsNamed<S extends { readonly name: string }>(steps: readonly S[], names: readonly string[]): S[] {
  return names.map((name) => {
    const [step, ...others] = steps.filter((one) => one.name === name)
    if (step !== undefined && others.length === 0) return step
    const there = steps.map((one) => one.name).join(', ')
    throw new Error(`express-openapi-validator should have one step called ${name}; it has ${there}`)
  })
}

/** The validator reads reserved characters, which are harmless, as an error unless each parameter allows them. */
function specForValidator(): object {
  return JSON.parse(JSON.stringify(copyOfSpec()), (_key, value) => {
    if (value?.in === 'query' && typeof value.name === 'string') return { ...value, allowReserved: true }
    // `problemsBefore` has judged it.
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

/** What the validator would take for granted: `0x10`, `1e2` and `01` as integers, each of which would be one more address. */
function pathProblems({ pathSchema }: Operation, parameters: Readonly<Record<string, string>>): Problem[] {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const schema = memberOf(pathSchema, name)
    return schema !== undefined && typesOf(schema).includes('integer') && !/^-?(0|[1-9]\d{0,19})$/.test(value)
      ? [unparsable(['path', name], value)]
      : []
  })
}

/** What the validator would report one at a time, or take for granted. */
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
