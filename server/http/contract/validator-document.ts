/**
 * The spec as the validator reads it soonest: it walks the whole document for every operation, and compiles each schema to
 * which a reference leads. Without what it does not need, a service starts with half of the work.
 */

import type { Spec } from 'express-openapi-validator/dist/framework/openapi.spec.loader.js'
import { isLongText } from './long-texts.ts'
import { schemaOf } from './schemas.ts'
import { type OperationId, spec } from './spec.ts'

/** What a validator of requests must know. `answersOf`: of one operation alone, with the schemas of its responses. */
export function specForValidator(answersOf?: OperationId): Spec {
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
    const asked = { ...(parameters && { parameters }), ...(requestBody && { requestBody }) }
    return [
      [
        key,
        { ...asRecord(lean(asked)), responses: answersOf === undefined ? {} : distinct(asRecord(lean(responses))) },
      ],
    ]
  })
  return Object.fromEntries(entries)
}

/** With one `default` for what 500 says too: each response is a schema to compile, and most are the same problem. */
function distinct({ 500: fault, ...responses }: Record<string, unknown>): Record<string, unknown> {
  const others = JSON.stringify(fault)
  const own = Object.entries(responses).filter(([, one]) => JSON.stringify(one) !== others)
  return { ...Object.fromEntries(own), default: fault }
}

function asRecord(value: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value ?? {}))
}

/** Words for people, and what is not validated. */
const ignored: ReadonlySet<string> = new Set(['description', 'summary', 'example', 'examples', 'headers'])

/** A copy, with what references lead to, without what is ignored. `named`: the members are names, not keywords. */
function lean(value: unknown, named = false): unknown {
  if (Array.isArray(value)) return value.map((one) => lean(one))
  if (typeof value !== 'object' || value === null) return value
  const whole = schemaOf(value)
  const entries = Object.entries(whole).filter(([key]) => named || !ignored.has(key))
  const members = Object.fromEntries(entries.map(([key, one]) => [key, lean(one, key === 'properties' && !named)]))
  // The validator would report reserved characters in each parameter, though they are harmless.
  if (members.in === 'query' && typeof members.name === 'string') return { ...members, allowReserved: true }
  // `problemsBefore` has checked it.
  return typeof members.pattern === 'string' && isLongText(whole) ? { ...members, pattern: undefined } : members
}
