/** Finds the operation of a request in the spec, with its schemas. */

import document from '../../../spec/openapi.json' with { type: 'json' }
import { rights } from '../../../spec/rights.ts'
import type { operations } from '../../../spec/types.ts'
import type { Access } from '../../domain/actor.ts'
import { matchPath, type PathTemplate, parseTemplate, segmentsOf } from '../path-templates.ts'
import { resolve, type Schema, typesOf } from './schemas.ts'

export type OperationId = keyof operations

export interface Operation {
  readonly id: OperationId
  readonly method: string
  /** The path in the spec. */
  readonly path: string
  /** Authorization is ignored, optional or required. `metrics`: it is the token of the metrics, not of an account. */
  readonly security: 'none' | 'optional' | 'required' | 'metrics'
  /** The access that a personal access token needs. `none`: such tokens are refused. */
  readonly token: Access | 'none'
  /** False if maintenance mode refuses it: the operation changes content. */
  readonly isServedInMaintenance: boolean
  /** False if a full disk refuses it: the operation stores more and frees nothing. */
  readonly isServedOnFullDisk: boolean
  /** The status of a successful response. */
  readonly status: number
  /** The media types of that response. The first one is the default. */
  readonly types: readonly string[]
  /** `stream`: the handler reads the body, which has the type `bodyType`. */
  readonly body: 'none' | 'optional' | 'required' | 'stream'
  readonly bodyType: string
  readonly bodySchema: Schema
  /** The schemas of objects that have a property for each parameter. */
  readonly querySchema: Schema
  readonly pathSchema: Schema
  /** The parameters of the path that are integers. */
  readonly pathNumbers: ReadonlySet<string>
}

/** The operations of a path by method, and its decoded parameters. */
export interface PathMatch {
  readonly operations: ReadonlyMap<string, Operation>
  readonly parameters: Readonly<Record<string, string>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

interface PathItem {
  readonly [method: string]: OperationObject
}

interface OperationObject {
  readonly operationId: string
  readonly parameters?: readonly unknown[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, { schema: Schema }> }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Template extends PathTemplate {
  readonly operations: ReadonlyMap<string, Operation>
}

const json = 'application/json'

const methods = ['get', 'post', 'put', 'patch', 'delete']

export { document as spec }

const templates: readonly Template[] = Object.entries(document.paths).map(([path, item]) => toTemplate(path, item))

const byId = new Map(templates.flatMap(({ operations: some }) => [...some.values()].map((one) => [one.id, one])))

/** Finds an operation. @throws Error the spec has no such operation */
export function operationOf(id: OperationId): Operation {
  const operation = byId.get(id)
  if (operation === undefined) throw new Error(`The spec has no operation ${id}`)
  return operation
}

/**
 * Finds the operations of a path as sent. Undefined if the spec has no such path, or if it is not valid percent-encoded
 * UTF-8.
 */
export function findPath(path: string): PathMatch | undefined {
  const sent = segmentsOf(path)
  if (sent.length > 1 && sent.at(-1) === '') sent.pop()
  for (const template of templates) {
    const parameters = matchPath(template, sent)
    if (parameters !== undefined) return { operations: template.operations, parameters }
  }
  return undefined
}

function toTemplate(path: string, item: object): Template {
  const operationsByMethod = new Map<string, Operation>()
  // The type of the JSON file has each path separately, without a common type.
  for (const [key, value] of Object.entries(item as PathItem)) {
    if (methods.includes(key)) operationsByMethod.set(key.toUpperCase(), toOperation(key, path, value, item))
  }
  return { ...parseTemplate(path), operations: operationsByMethod }
}

function toOperation(
  method: string,
  path: string,
  operation: OperationObject,
  item: { parameters?: readonly unknown[] },
): Operation {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(
    (parameter) => resolve(parameter as Parameter), // the lint of the spec checks it
  )
  const { requestBody, responses } = operation
  const id = operation.operationId as OperationId // both are generated from openapi.yaml
  const status = Object.keys(responses).find((one) => one.startsWith('2')) ?? ''
  const { content = {} } = resolve(responses[status] as { content?: object }) // the lint of the spec checks it
  return {
    id,
    method: method.toUpperCase(),
    path,
    security: rights[id].authorization,
    token: rights[id].token,
    isServedInMaintenance: rights[id].maintenance === 'served',
    isServedOnFullDisk: rights[id].fullDisk === 'served',
    status: Number(status),
    types: Object.keys(content),
    body: bodyKind(requestBody),
    bodyType: Object.keys(requestBody?.content ?? {})[0] ?? json,
    bodySchema: requestBody?.content[json]?.schema ?? {},
    querySchema: schemaOfParameters(parameters, 'query'),
    pathSchema: schemaOfParameters(parameters, 'path'),
    pathNumbers: new Set(parameters.filter((one) => one.in === 'path' && isInteger(one)).map(({ name }) => name)),
  }
}

function isInteger({ schema }: Parameter): boolean {
  return typesOf(schema).includes('integer')
}

function bodyKind(requestBody: OperationObject['requestBody']): Operation['body'] {
  if (requestBody === undefined) return 'none'
  if (!(json in requestBody.content)) return 'stream'
  return requestBody.required === true ? 'required' : 'optional'
}

function schemaOfParameters(parameters: readonly Parameter[], place: string): Schema {
  const there = parameters.filter((parameter) => parameter.in === place)
  return { type: 'object', properties: Object.fromEntries(there.map(({ name, schema }) => [name, schema])) }
}
