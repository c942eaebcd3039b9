/** Finds the lines of violations in `node.json`, for users who see the file. */

import { parsePointer } from '../format/json-pointer.ts'
import { tokensOf } from '../format/json-text.ts'

/** The most tokens that are read: about 20 ms. Places beyond them get the line of what is around them. */
const mostTokens = 100_000

/** A value on the way to a place. */
interface Way {
  /** The line of the value, counted from 1. */
  line: number
  readonly inner: Map<string, Way>
}

interface Frame {
  at: string | number
  /** Undefined if no place is within. */
  readonly way: Way | undefined
}

/**
 * Returns the line of each place, counted from 1. A place that is missing has the line of the closest value around it.
 * If a name appears twice, the last one counts, as in `JSON.parse`.
 *
 * @param text valid JSON
 * @param pointers JSON pointers
 */
export function linesOf(text: string, pointers: readonly string[]): number[] {
  const root = newWay()
  const ways = pointers.map((pointer) => wayTo(root, parsePointer(pointer) ?? []))
  measure(text, root)
  return ways.map((way) => way.findLast(({ line }) => line > 0)?.line ?? 1)
}

function newWay(): Way {
  return { line: 0, inner: new Map() }
}

/** Returns the values on the way to a place, from the outermost. */
function wayTo(root: Way, steps: readonly string[]): Way[] {
  const ways = [root]
  let way = root
  for (const step of steps) {
    const next = way.inner.get(step) ?? newWay()
    way.inner.set(step, next)
    ways.push(next)
    way = next
  }
  return ways
}

function measure(text: string, root: Way): void {
  const open: Frame[] = []
  let isName = false
  let line = 1
  let lineEnd = text.indexOf('\n')
  let tokens = 0
  for (const { kind, start, end } of tokensOf(text)) {
    if (++tokens > mostTokens) return
    for (; lineEnd >= 0 && lineEnd < start; lineEnd = text.indexOf('\n', lineEnd + 1)) line++
    const inside = open.at(-1)
    if (kind === '}' || kind === ']') open.pop()
    else if (kind === ',') {
      if (typeof inside?.at === 'number') inside.at++
    } else if (kind === 'text' && isName && inside) {
      inside.at = inside.way ? String(JSON.parse(text.slice(start, end))) : ''
    } else if (kind !== ':') {
      const way = inside ? inside.way?.inner.get(String(inside.at)) : root
      if (way) forget(way)
      if (way) way.line = line
      if (kind === '{' || kind === '[') open.push({ at: kind === '{' ? '' : 0, way })
    }
    isName = kind === '{' || (kind === ',' && typeof open.at(-1)?.at === 'string')
  }
}

/** Forgets the lines within an earlier value of the same name. */
function forget(way: Way): void {
  if (way.line === 0) return
  way.line = 0
  for (const inner of way.inner.values()) forget(inner)
}
