/** The verdict of ajv, which interprets all of JSON Schema. It is only right for schemas that are not hostile. */

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type FormatName, formatNames } from '../../server/domain/types/formats.ts'
import type { Schema } from '../../server/domain/types/vocabulary.ts'
import { objectOf } from './arbitraries.ts'

const ajv = new Ajv2020({ allErrors: true, strict: false, ownProperties: true, validateSchema: true })
addFormats.default(ajv, ['date', 'date-time', 'uri', 'email'])

/** ajv ignores a field `__proto__`, so that it gets another name. */
const renamed = '__other__'

/** Returns `value` with other names for `__proto__`, at all levels. */
function withoutProto(value: unknown): unknown {
  if (value === '__proto__') return renamed
  if (Array.isArray(value)) return value.map(withoutProto)
  if (typeof value !== 'object' || value === null) return value
  return objectOf(
    Object.entries(value).map(([name, one]) => [name === '__proto__' ? renamed : name, withoutProto(one)] as const),
  )
}

/** Returns the pointers of the values with errors, in order and once. A node always has a `type`. */
export function ajvPointers(schema: Schema, value: object): string[] {
  const whole = { ...schema, properties: objectOf([['type', {}], ...Object.entries(schema.properties ?? {})]) }
  const validate = ajv.compile(withoutProto(whole) as object)
  validate(withoutProto(value))
  ajv.removeSchema()
  return [...new Set((validate.errors ?? []).map(({ instancePath }) => instancePath))].sort()
}

const formatChecks = new Map(formatNames.map((format) => [format, ajv.compile({ type: 'string', format })]))

/** True if ajv says that a text has the format. */
export function ajvHolds(format: FormatName, text: string): boolean {
  return formatChecks.get(format)?.(text) === true
}

/** True if ajv says that this is a schema. */
export function isValidSchema(schema: Schema): boolean {
  return ajv.validateSchema(withoutProto(schema) as object) === true
}
