/** JSON pointers: paths to values in JSON. Source: RFC 6901. */

import { isDeepStrictEqual } from 'node:util'
import { exceededBound } from '../../base/json-bounds.ts'
import * as limits from '../../base/limits.ts'
import { parseJson, tokensOf } from './json-text.ts'

/** Parses JSON of at most 100 levels; undefined if the text is not that. */
export function parseBounded(text: string): unknown {
  return exceededBound(Buffer.from(text), { levels: limits.jsonLevels }) ? undefined : parseJson(text)
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

interface TextRange {
  readonly from: number
  to: number
}

/**
 * The text of the value at the steps, or of the closest value around it. If a name appears twice, the last one counts,
 * as in `JSON.parse`.
 *
 * @param text valid JSON
 */
export function rangeOfValue(text: string, steps: readonly string[]): TextRange {
  /** The values at the first steps: the whole text, then those within. */
  const found: TextRange[] = []
  const open: { at: string | number; range: TextRange | undefined }[] = []
  let isName = false
  for (const { kind, start, end } of tokensOf(text)) {
    const inside = open.at(-1)
    if (kind === '}' || kind === ']') {
      isName = false
      const range = open.pop()?.range
      if (range) range.to = end
    } else if (kind === ',') {
      if (typeof inside?.at === 'number') inside.at++
      else isName = true
    } else if (kind === 'text' && isName && inside) {
      inside.at = JSON.parse(text.slice(start, end)) as string // a token of kind text is a string
      isName = false
    } else if (kind !== ':') {
      const isOnWay =
        open.length <= steps.length && open.every(({ at, range }, n) => range !== undefined && String(at) === steps[n])
      const range = isOnWay ? { from: start, to: end } : undefined
      if (range) found.splice(open.length, found.length, range)
      if (kind === '{' || kind === '[') open.push({ at: kind === '{' ? '' : 0, range })
      isName = kind === '{'
    }
  }
  return found.at(-1) ?? { from: 0, to: text.length }
}
