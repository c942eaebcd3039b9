/**
 * The parts of express-openapi-validator that requests pass through. Its other steps route, authenticate and handle
 * uploads, which other code does here. Some of the parts are private. The service does not start if one is missing.
 */

import { type RequestHandler, Router } from 'express'
import { AjvOptions } from 'express-openapi-validator/dist/framework/ajv/options.js'
import type { Spec } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js'
import type { OpenApiRequest } from 'express-openapi-validator/dist/framework/types.js'
import { ResponseValidator } from 'express-openapi-validator/dist/middlewares/openapi.response.validator.js'
import { RequestParameterMutator } from 'express-openapi-validator/dist/middlewares/parsers/req.parameter.mutator.js'
import { OpenApiValidator } from 'express-openapi-validator/dist/openapi.validator.js'
import { contextOf } from '../context.ts'
import { chain } from '../middleware-chain.ts'
import { isLongText } from './normalize-input.ts'
import { schemaOf } from './schemas.ts'
import { type OperationId, spec } from './spec.ts'
import type { Finding } from './validation-errors.ts'

/** The names of the functions that validate. */
const requestStep = 'requestMiddleware'
const answerStep = 'responseMiddleware'

type Responses = Readonly<Record<string, unknown>>

/** The private part of the library that compiles the schemas of an operation's responses. */
interface ResponseCompiler {
  buildValidators?(responses: Responses, key: string): Responses
}

compileOnFirstUse(ResponseValidator.prototype as unknown as ResponseCompiler) // its types hide the method

// This step reads lists and objects in parameters. The spec has none, so the step changes nothing, 10 µs a request.
RequestParameterMutator.prototype.modifyRequest = () => {}

/** Functions that check whether a string has a format of the spec, by its name. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>

/**
 * Validates requests whose operation is known, and fills in defaults of the spec.
 *
 * @param answersOf also validates responses of this operation; one validator for all would walk all of them each time
 * @throws Error the library has changed
 */
export function openApiValidator(answersOf: OperationId | undefined, formats: Formats): RequestHandler {
  const document = specForValidator(answersOf)
  const validator = new UnoptimizedValidator({
    apiSpec: document.apiDoc,
    validateRequests: { allErrors: true },
    validateResponses: answersOf === undefined ? false : { allErrors: true },
    validateSecurity: false,
    fileUploader: false,
    formats: Object.fromEntries(
      Object.entries(formats).map(([name, test]) => [name, { type: 'string', validate: test }]),
    ),
    // path-parameters.ts may have encoded raw slashes as %2F.
    useRequestUrl: true,
  })
  // Not `middleware`, which first resolves references and compiles the schema of all specs.
  const steps = validator.installMiddleware(Promise.resolve(document))
  const all = Router().use(steps)
  const known = chain(stepsNamed(steps, answersOf === undefined ? [requestStep] : [requestStep, answerStep]))
  const operations = new Map<OperationId, NonNullable<OpenApiRequest['openapi']>>()
  return (req: OpenApiRequest, res, next) => {
    const { operation, match } = contextOf(req)
    const { method, headers } = req
    const { 'content-type': type } = headers
    // The validator does not know HEAD.
    req.method = operation.method
    // It keeps a compiled schema for each content type and its parameters for ever, also if there is no body.
    headers['content-type'] = operation.bodyType
    // The validator tries a regular expression per path, 0.1 ms a request, so the operation that it found is kept.
    const found = operations.get(operation.id)
    if (found !== undefined) req.openapi = { ...found, pathParams: { ...match.parameters } }
    const check = found === undefined ? all : known
    check(req, res, (error?: unknown) => {
      req.method = method
      if (type === undefined) delete headers['content-type']
      else headers['content-type'] = type
      // Without an operation, the validator accepts every request.
      if (req.openapi === undefined) {
        next(error ?? new Error(`The validator did not find the operation ${operation.id}`))
        return
      }
      if (found === undefined) operations.set(operation.id, req.openapi)
      next(error)
    })
  }
}

/** Compiles schemas without ajv's own optimizer. It takes a third of the time, and V8 optimizes code that runs often. */
class UnoptimizedOptions extends AjvOptions {
  override get request() {
    return { ...super.request, code: { optimize: false } }
  }
  override get response() {
    return { ...super.response, code: { optimize: false } }
  }
}

class UnoptimizedValidator extends OpenApiValidator {
  override readonly ajvOpts = new UnoptimizedOptions(this.options)
}

/**
 * Compiles the schema of a response when the first response with its status is sent. Every operation has the same large
 * schemas of errors, most never send one, and those that do share the compiled one.
 *
 * @throws Error the library has changed
 */
export function compileOnFirstUse(compiler: ResponseCompiler): void {
  const { buildValidators } = compiler
  if (buildValidators === undefined) throw new Error('express-openapi-validator should have the method buildValidators')
  const known = new Map<string, unknown>()
  compiler.buildValidators = function (responses, key) {
    const compiled = (status: string) => {
      const schema = JSON.stringify(responses[status])
      const found = known.get(schema) ?? buildValidators.call(this, { [status]: responses[status] }, key)[status]
      known.set(schema, found)
      return found
    }
    // The library uses the default for a status without JSON.
    const lazy = (status: string) => ({ enumerable: true, get: () => compiled(status) ?? compiled('default') })
    return Object.defineProperties({}, Object.fromEntries(Object.keys(responses).map((one) => [one, lazy(one)])))
  }
}

/**
 * Finds one step of each name.
 *
 * @throws Error the validator has no steps with these names, so nothing would be validated
 */
export function stepsNamed<S extends { readonly name: string }>(steps: readonly S[], names: readonly string[]): S[] {
  return names.map((name) => {
    const [step, ...others] = steps.filter((one) => one.name === name)
    if (step !== undefined && others.length === 0) return step
    const there = steps.map((one) => one.name).join(', ')
    throw new Error(`express-openapi-validator should have one step called ${name}; it has ${there}`)
  })
}

/** The findings in an error of the validator; undefined for other errors. */
export function findingsOf(error: unknown): readonly Finding[] | undefined {
  const isRefusal = error instanceof Error && 'status' in error && error.status === 400
  return isRefusal && 'errors' in error && Array.isArray(error.errors) ? error.errors : undefined
}

/**
 * The spec without the parts that the validator does not need. The validator walks the whole document for every
 * operation, and compiles each schema that a reference leads to. With this spec, a service starts with half of the
 * work.
 *
 * @param answersOf reads only this operation, with the schemas of its responses
 */
function specForValidator(answersOf?: OperationId): Spec {
  const { openapi, info, paths } = spec
  const read = Object.entries(paths)
    .map(([path, item]) => [path, readItem(item, answersOf)] as const) // a pair
    .filter(([, item]) => Object.keys(item).some((key) => key !== 'parameters'))
  const routes = read.flatMap(([path, { parameters: _, ...operations }]) =>
    Object.keys(operations).map((method) => routeOf(path, method)),
  )
  // biome-ignore lint/suspicious/noExplicitAny: JSON's own type is not the validator's, and redocly lints the spec
  return { apiDoc: { openapi, info, paths: Object.fromEntries(read) } as any, basePaths: ['/'], routes, serial: 1 } // redocly lints it
}

function routeOf(path: string, method: string): Spec['routes'][number] {
  const parameter = /\{([^}]+)\}/g
  return {
    basePath: '',
    expressRoute: path.replace(parameter, ':$1'),
    openApiRoute: path,
    method: method.toUpperCase(),
    pathParams: [...path.matchAll(parameter)].map(([, name = '']) => name),
  }
}

/** The parameters of a path and its operations. */
function readItem(item: object, answersOf: OperationId | undefined): Record<string, unknown> {
  const entries = Object.entries(item).flatMap(([key, value]) => {
    if (key === 'parameters') return [[key, lean(value)]]
    const { operationId, parameters, requestBody, responses } = value
    if (answersOf !== undefined && answersOf !== operationId) return []
    // A body that is streamed has no schema.
    const isJson = requestBody?.content['application/json'] !== undefined
    const asked = { ...(parameters && { parameters }), ...(isJson && { requestBody }) }
    return [
      [
        key,
        { ...asRecord(lean(asked)), responses: answersOf === undefined ? {} : distinct(asRecord(lean(responses))) },
      ],
    ]
  })
  return Object.fromEntries(entries)
}

/**
 * Keeps one `default` for all responses that equal 500. Each response is a schema to compile, and most are the same.
 */
function distinct({ 500: fault, ...responses }: Record<string, unknown>): Record<string, unknown> {
  const others = JSON.stringify(fault)
  const own = Object.entries(responses).filter(([, one]) => JSON.stringify(one) !== others)
  return { ...Object.fromEntries(own), default: fault }
}

function asRecord(value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value ?? {}))
}

/** Keywords for readers, and keywords that are not validated. */
const ignored: ReadonlySet<string> = new Set(['description', 'summary', 'example', 'examples', 'headers'])

/**
 * Copies a value with resolved references and without ignored keywords. A schema within itself allows anything there:
 * its handler checks it.
 *
 * @param named the fields are names, not keywords
 * @param within the references around the value
 */
function lean(value: unknown, named = false, within: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((one) => lean(one, false, within))
  if (typeof value !== 'object' || value === null) return value
  const { $ref }: { readonly $ref?: unknown } = value
  if (typeof $ref === 'string' && within.includes($ref)) return {}
  const around = typeof $ref === 'string' ? [...within, $ref] : within
  const whole = schemaOf(value)
  const entries = Object.entries(whole).filter(([key]) => named || !ignored.has(key))
  const members = Object.fromEntries(
    entries.map(([key, one]) => [key, lean(one, key === 'properties' && !named, around)]),
  )
  if (typeof members.in === 'string') requireOneValue(members)
  // `precheck` has checked it.
  return typeof members.pattern === 'string' && isLongText(whole) ? { ...members, pattern: undefined } : members
}

/** @throws Error the validator would have to read the parameter as a list or an object */
function requireOneValue({ name, schema }: Readonly<Record<string, unknown>>): void {
  const { type }: { readonly type?: unknown } = schema ?? {}
  if (type !== 'string' && type !== 'integer' && type !== 'boolean')
    throw new Error(`The parameter ${name} should be a string, an integer or a boolean`)
}
