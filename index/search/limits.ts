import { MOST_NODES, type RankedNode } from './ranking.ts'

/** UTF-8 bytes of text in one answer. */
const MOST_TEXT = 16 * 1024 * 1024

export interface Limited {
  /** `text` where it was asked for and there was room. */
  nodes: { node: RankedNode; text?: string }[]
  truncated: boolean
}

/**
 * At most 500 of `nodes` (best first) and, if `textOf` is given, 16 MiB of their text. From the first expanded node without
 * room on, expanded nodes go. A match never does: it has its room first, and if its text finds none, it stays without.
 */
export function withinLimits(nodes: RankedNode[], textOf?: (id: string) => string): Limited {
  const matches = nodes.filter(({ relation }) => relation === 'match')
  const others = nodes.filter(({ relation }) => relation !== 'match')
  const texts = new Map<string, string>()
  let room = MOST_TEXT
  const fits = (id: string): boolean => {
    if (!textOf) return true
    const text = textOf(id)
    const size = Buffer.byteLength(text)
    if (size > room) return false
    room -= size
    texts.set(id, text)
    return true
  }
  const whole = matches.filter(({ id }) => fits(id)).length === matches.length
  const affordable = others.slice(0, MOST_NODES - matches.length)
  const end = affordable.findIndex(({ id }) => !fits(id))
  const gone = new Set(others.slice(end < 0 ? affordable.length : end).map(({ id }) => id))
  const kept = nodes.filter(({ id }) => !gone.has(id))
  return {
    nodes: kept.map((node) => {
      const text = texts.get(node.id)
      return text === undefined ? { node } : { node, text }
    }),
    truncated: !whole || gone.size > 0,
  }
}
