/** For the server and the browser: which areas of a map have colours of their own, and which colours. */

import type { Schemas } from '../../../spec/client/api.ts'

export type Area = Schemas['MapArea']

/** Colours that there are, as `data-c`. */
export const slots = 12

/** The colour of a type of connection: the same on every page. */
export function slotOf(type: string): number {
  let hash = 0
  for (const letter of type) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 9_973
  return type === 'links_to' ? 0 : hash % slots
}

/**
 * The places in `areas` of those that the map is divided into, those with the most nodes first: the outermost, or where there
 * is but one, those in it, as long as there are some.
 */
export function partsOf(areas: readonly Area[]): number[] {
  const inside = (outer: number) => [...areas.keys()].filter((at) => areas[at]?.within === outer)
  const sizeOf = (at: number) => areas[at]?.nodes ?? 0
  let parts = inside(-1)
  while (parts.length === 1) {
    const next = inside(parts[0] ?? -1)
    if (next.length === 0) break
    parts = next
  }
  return parts.sort((a, b) => sizeOf(b) - sizeOf(a) || a - b)
}

/** Of each area the place in `parts` of the one that it is or lies in; -1 of what is around them. */
export function partOfEach(areas: readonly Area[], parts: readonly number[]): number[] {
  const found: number[] = []
  for (const [at, { within }] of areas.entries()) {
    const part = parts.indexOf(at)
    found.push(part >= 0 ? part : (found[within] ?? -1))
  }
  return found
}

/** What an area is called; the one without a node by what is around it. */
export function nameOfArea({ node_id, title }: Area, areas: readonly Area[]): string {
  if (node_id !== undefined) return title
  return areas.length === 1 ? 'All nodes' : 'Outside all areas'
}
