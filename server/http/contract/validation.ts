/** Validates requests against the spec. */

import type { RequestHandler } from 'express'
import { type Problem, ValidationError } from '../../base/errors.ts'
import { contextOf } from '../context.ts'
import { normalizeInput, precheck } from './normalize-input.ts'
import { type Formats, findingsOf, openApiValidator } from './openapi-validator.ts'
import { memberOf, schemaOf } from './schemas.ts'
import type { Operation, OperationId } from './spec.ts'
import { inputOf, toValidationErrors } from './validation-errors.ts'

/** Formats of the spec. The validator has its own, which also accept `urn:uuid:`, and 30 February. */
const formats: Formats = { uuid: (text) => uuid.test(text), 'date-time': isDateTime }
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Validators by the operation whose responses they check. Services of one process share them, because the spec does not
 * change.
 */
const made = new Map<OperationId | undefined, RequestHandler>()

/**
 * Refuses requests that break the spec with 422, and fills in defaults.
 *
 * @param answersToo also answers 500 to responses that break the spec
 */
export function validate({ answersToo }: { answersToo: boolean }): RequestHandler {
  // A single validator would walk all responses of all operations for each response.
  if (answersToo) return (req, res, next) => validatorOf(contextOf(req).operation.id)(req, res, next)
  return validatorOf(undefined)
}

function validatorOf(answersOf: OperationId | undefined): RequestHandler {
  const known = made.get(answersOf) ?? makeValidator(answersOf)
  made.set(answersOf, known)
  return known
}

function makeValidator(answersOf: OperationId | undefined): RequestHandler {
  const check = openApiValidator(answersOf, formats)
  return (req, res, next) => {
    const { operation, match } = contextOf(req)
    const { bodySchema, querySchema, pathSchema } = operation
    const problems = [
      ...pathProblems(operation, match.parameters),
      ...queryProblems(operation, req.query),
      ...precheck(bodySchema, req.body),
    ]
    if (problems.length > 0) throw new ValidationError(problems)
    req.body = normalizeInput(bodySchema, req.body)
    check(req, res, (error?: unknown) => {
      const findings = findingsOf(error)
      const { body, query } = req
      const sent = { body, query, params: match.parameters }
      const schemas = { body: bodySchema, query: querySchema, params: pathSchema }
      next(findings === undefined ? error : new ValidationError(toValidationErrors(findings, sent, schemas)))
    })
  }
}

/**
 * Refuses other spellings of integers in paths, which the validator would accept. `0x10`, `1e2` and `01` would be
 * further URLs of one resource.
 */
function pathProblems({ pathNumbers }: Operation, parameters: Readonly<Record<string, string>>): Problem[] {
  return [...pathNumbers].flatMap((name) => {
    const value = parameters[name] ?? ''
    return /^-?(0|[1-9]\d{0,19})$/.test(value) ? [] : [unparsable(['path', name], value)]
  })
}

/** Finds problems that the validator would accept, or report only one at a time. */
function queryProblems({ querySchema }: Operation, query: object): Problem[] {
  return Object.entries(query).flatMap(([name, value]) => {
    const loc = ['query', name]
    const schema = memberOf(querySchema, name)
    if (schema === undefined) {
      return [{ loc, msg: 'Extra inputs are not permitted', type: 'extra_forbidden', ...inputOf(value) }]
    }
    if (typeof value !== 'string') return [{ loc, msg: 'The parameter was sent more than once', type: 'value_error' }]
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

/** Times as in RFC 3339, the one rule for all times that clients send. */
const dateTime = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i

/**
 * True for a time as in RFC 3339, on a day that exists. Leap seconds are refused, because no clock here counts them.
 * The offset may be without its colon.
 */
export function isDateTime(text: string): boolean {
  const day = dateTime.exec(text)?.[1]
  if (day === undefined) return false
  const time = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) && !Number.isNaN(Date.parse(text))
}
