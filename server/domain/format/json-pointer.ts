/** JSON pointers: paths to values in JSON. Source: RFC 6901. */

import { isDeepStrictEqual } from 'node:util'
import { depthLimit, exceededBound } from '../../base/json-bounds.ts'
import { parseJson } from './json-text.ts'

/** Parses JSON of at most 100 levels; undefined if the text is not that. */
export function parseBounded(text: string): unknown {
  return exceededBound(Buffer.from(text), { levels: depthLimit }) ? undefined : parseJson(text)
}

/** The names and indexes of a pointer, from the outermost; undefined if it is malformed. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The value at the steps of a pointer; undefined if there is none. JSON has no undefined. */
export function valueAt(json: unknown, steps: readonly string[]): unknown {
  let value = json
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(step)) return undefined
    if (!Object.hasOwn(value, step)) return undefined
    value = Reflect.get(value, step)
  }
  return value
}

/** True if both are the same JSON. The order of fields does not count. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other)
}
