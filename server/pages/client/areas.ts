/** Areas of a map that have their own colours, and those colours. Shared by server and browser. */

import type { Schemas } from '../../../spec/client/api.ts'

export type Area = Schemas['MapArea']

/** Number of colours, which `data-c` selects. */
export const slots = 12

/**
 * Slots of areas, which are distinct in light and dark: at least 0.07 in Oklab. Further areas are grey, so that no
 * colour means two areas.
 */
const areaSlots = [0, 1, 2, 3, 4, 7, 10] as const

/** Returns the colour slot of each part, by its index. Undefined is grey, for small and unnamed parts. */
export function slotsOfParts(areas: readonly Area[], parts: readonly number[]): (number | undefined)[] {
  let next = 0
  const isColoured = (part: number) => parts.length === 1 || areas[part]?.node_id !== undefined
  return parts.map((part) => (isColoured(part) ? areaSlots[next++] : undefined))
}

/** Returns the colour slot of a connection type, the same on every page. */
export function slotOf(type: string): number {
  let hash = 0
  for (const letter of type) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 9_973
  return type === 'links_to' ? 0 : hash % slots
}

/**
 * Returns the indexes of the parts of the map, largest first. Parts are the outermost areas. If there is only one, they are
 * the areas inside it, and so on.
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

/** Returns for each area the index in `parts` of its part; -1 outside all parts. */
export function partOfEach(areas: readonly Area[], parts: readonly number[]): number[] {
  const found: number[] = []
  for (const [at, { within }] of areas.entries()) {
    const part = parts.indexOf(at)
    found.push(part >= 0 ? part : (found[within] ?? -1))
  }
  return found
}

/** Returns the name of an area. The area without a node is named by what it contains. */
export function nameOfArea({ node_id, title }: Area, areas: readonly Area[]): string {
  if (node_id !== undefined) return title
  return areas.length === 1 ? 'All pages' : 'Outside all areas'
}
