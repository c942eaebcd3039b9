/** Computes the revision of an API description. */

import { createHash } from 'node:crypto'

interface Document {
  readonly paths: object
  readonly components: object
}

/**
 * Returns 12 hexadecimal digits that change with every operation, parameter, field and limit of the document. They do not
 * change with descriptions and examples.
 */
export function revisionOf(document: Document): string {
  return createHash('sha256').update(contractOf(document)).digest('hex').slice(0, 12)
}

/** Returns the operations and schemas of the document as JSON, without its prose. */
export function contractOf({ paths, components }: Document): string {
  return JSON.stringify({ paths, components }, (key, value: unknown) => (isProse(key, value) ? undefined : value))
}

/** A property of a schema may have the same name. Its value is a schema. */
function isProse(key: string, value: unknown): boolean {
  if (key === 'description' || key === 'summary') return typeof value === 'string'
  return key === 'x-codeSamples' || ((key === 'example' || key === 'examples') && !isSchema(value))
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('type' in value || '$ref' in value) && 'description' in value
}
