/** A YAML 1.2 mapping as JSON values, within bounds that keep a hostile file cheap. */
import { isMap, isScalar, parseDocument } from 'yaml'

/** Characters of the YAML. */
export const maxYaml = 65_536

/** Bytes of the JSON: what a node's properties may have, but for the path that the import adds. */
export const maxJsonBytes = 60 * 1_024

const maxDepth = 64

export interface Mapping {
  readonly values: Readonly<Record<string, unknown>>
  /** A scalar as it was written (`1.10`, where the value is 1.1); undefined if it is none. */
  sourceOf(key: string): string | undefined
}

/**
 * Dates stay the text they are (core schema), whole numbers beyond 2^53 become text, nothing at all an empty mapping.
 *
 * @param maxBytes of the JSON
 * @throws Error saying why JSON cannot hold it: malformed, tagged, no mapping, too long, too deep
 */
export function readMapping(yaml: string, maxBytes: number = maxJsonBytes): Mapping {
  try {
    return mappingOf(yaml, maxBytes)
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep()
    throw error
  }
}

function tooDeep(): Error {
  return new Error(`it is nested deeper than ${maxDepth}`)
}

function mappingOf(yaml: string, maxBytes: number): Mapping {
  const document = parseDocument(yaml, { schema: 'core', intAsBigInt: true, logLevel: 'error' })
  const error = document.errors[0] ?? document.warnings[0]
  // The parser has no limit of its own but the stack's.
  if (error?.code === 'RESOURCE_EXHAUSTION') throw tooDeep()
  if (error) throw error
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) return { values: {}, sourceOf: () => undefined }
  if (!isMap(root)) throw new Error('it is not a mapping of keys to values')
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

/** Own properties throughout, `__proto__` too: fromEntries defines, it does not assign. */
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
  if (/\0|\p{Surrogate}/u.test(text)) throw new Error('it holds NUL or half a character')
  return text
}
