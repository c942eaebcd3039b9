/** Limits the nodes and the text of one answer. */
import type { RankedNode } from '../ranking/ranking.ts'

/** UTF-8 bytes of text in one answer. */
const MOST_TEXT = 16 * 1024 * 1024

export interface Limited {
  /** `hasText` where texts were asked for and there was room. */
  nodes: { node: RankedNode; hasText: boolean }[]
  truncated: boolean
}

/**
 * At most `mostNodes` of `nodes` (best first) and, if `bytesOf` is given, 16 MiB of their text. Drops expanded nodes
 * from the first one whose text does not fit. Keeps every match; a match whose text does not fit has no text.
 */
export function withinLimits(nodes: RankedNode[], mostNodes: number, bytesOf?: (id: string) => number): Limited {
  const matches = nodes.filter(({ relation }) => relation === 'match')
  const others = nodes.filter(({ relation }) => relation !== 'match')
  const withText = new Set<string>()
  let room = MOST_TEXT
  const fits = (id: string): boolean => {
    if (!bytesOf) return true
    const bytes = bytesOf(id)
    if (bytes > room) return false
    room -= bytes
    withText.add(id)
    return true
  }
  const whole = matches.filter(({ id }) => fits(id)).length === matches.length
  const affordable = others.slice(0, Math.max(0, mostNodes - matches.length))
  const end = affordable.findIndex(({ id }) => !fits(id))
  const gone = new Set(others.slice(end < 0 ? affordable.length : end).map(({ id }) => id))
  const kept = nodes.filter(({ id }) => !gone.has(id))
  return { nodes: kept.map((node) => ({ node, hasText: withText.has(node.id) })), truncated: !whole || gone.size > 0 }
}
