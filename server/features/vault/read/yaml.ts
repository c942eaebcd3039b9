/** Reads a YAML 1.2 mapping as JSON values, with limits against hostile files. */
import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isCollection, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml'

/** Largest YAML in UTF-16 units. */
export const maxYaml = 65_536

/** Largest JSON in bytes. The limit of a node's properties, less the path that the import adds. */
export const maxJsonBytes = 60 * 1_024

const maxDepth = 64

export interface Mapping {
  readonly values: Readonly<Record<string, unknown>>
  /** Returns a scalar as written (`1.10` for the value 1.1); undefined for any other value. */
  sourceOf(key: string): string | undefined
}

/**
 * Reads a mapping. Dates stay strings (core schema), and integers beyond 2^53 become strings.
 *
 * Empty YAML is an empty mapping.
 *
 * @param maxBytes limit for the JSON
 * @throws Error with the reason: malformed, tagged, not a mapping, too long, too deep
 */
export function readMapping(yaml: string, maxBytes: number = maxJsonBytes): Mapping {
  try {
    return mappingOf(yaml, maxBytes)
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep()
    throw error
  }
}

/** Returns the line of a value, or of the innermost one around it. Undefined if its first step is missing. */
export function lineOfValue(yaml: string, steps: readonly (string | number)[]): number | undefined {
  const lineCounter = new LineCounter()
  const document = parseDocument(yaml, { schema: 'core', intAsBigInt: true, logLevel: 'error', lineCounter })
  for (let count = steps.length; count > 0; count--) {
    const value = document.getIn(steps.slice(0, count), true)
    if (isNode(value) && value.range) return lineCounter.linePos(value.range[0]).line
  }
  return undefined
}

function tooDeep(): Error {
  return new Error(`it is nested deeper than ${maxDepth}`)
}

function mappingOf(yaml: string, maxBytes: number): Mapping {
  const document = parseDocument(yaml, { schema: 'core', intAsBigInt: true, logLevel: 'error' })
  const error = document.errors[0] ?? document.warnings[0]
  // The parser's only limit is the stack.
  if (error?.code === 'RESOURCE_EXHAUSTION') throw tooDeep()
  if (error) throw error
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) return { values: {}, sourceOf: () => undefined }
  if (!isMap(root)) throw new Error('it is not a mapping of keys to values')
  readPlaceholders(document, yaml)
  const values = asJson(document.toJS({ maxAliasCount: 100 }), maxDepth) as Record<string, unknown> // root is a mapping
  if (Buffer.byteLength(JSON.stringify(values)) > maxBytes)
    throw new Error(`it is longer than ${maxBytes} bytes as JSON`)
  return { values, sourceOf }

  function sourceOf(key: string): string | undefined {
    const node = isMap(root) ? root.get(key, true) : undefined
    if (!isScalar(node) || node.value === null) return undefined
    return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value))
  }
}

/** A key such as `{date}`, on one line and without references. */
const placeholderKey = /^\{[^{}\n&*!#]*\}$/

/**
 * Replaces the key of each placeholder by its source: `{{date}}` is the object `{"{date}": null}`.
 *
 * YAML reads `{{date}}` of a template as an object whose key is an object. JSON has only strings as keys.
 *
 * @throws Error if another key is an object or a list
 */
function readPlaceholders(document: Document, yaml: string): void {
  visit(document, {
    Pair(_, pair, path) {
      const key = isAlias(pair.key) ? pair.key.resolve(document) : pair.key
      if (!isCollection(key)) return
      const around = path.at(-1)
      const source = key === pair.key && key.range ? yaml.slice(key.range[0], key.range[1]) : ''
      const isAlone = around !== document.contents && isMap(around) && around.flow && around.items.length === 1
      if (!isAlone || !isMap(key) || pair.value !== null || !placeholderKey.test(source))
        throw new Error('one of its keys is an object or a list')
      pair.key = document.createNode(source)
    },
  })
}

/** Returns the placeholder that YAML reads as this value, such as `{{date}}`. Undefined for other values. */
export function placeholderOf(value: unknown): string | undefined {
  const [[key, member] = ['', undefined], ...others] = Object.entries(Object(value))
  if (others.length > 0 || member !== null || !placeholderKey.test(key)) return undefined
  try {
    return isDeepStrictEqual(readMapping(`key: {${key}}`).values.key, value) ? `{${key}}` : undefined
  } catch {
    return undefined
  }
}

/** Converts to JSON values. fromEntries defines own properties, even for `__proto__`. */
function asJson(value: unknown, depth: number): unknown {
  if (depth === 0) throw tooDeep()
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'string') return asText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (Array.isArray(value)) return value.map((item) => asJson(item, depth - 1))
  if (typeof value !== 'object' || value === null) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [asText(key), asJson(member, depth - 1)]))
}

function asText(text: string): string {
  if (/\0|\p{Surrogate}/u.test(text)) throw new Error('it contains NUL or an unpaired surrogate')
  return text
}
