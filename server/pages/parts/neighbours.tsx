/** The nodes linked from and to a node, as lists and a small drawing. */

import type { AnswerOf } from '../../http/in-process.ts'
import { slotOf } from '../client/areas.ts'
import type { Urls } from '../urls.ts'

type Connection = AnswerOf<'getNode'>['connections'][number]

export interface Neighbour {
  readonly id: string
  readonly title: string
  /** The types of the connections to it. */
  readonly types: readonly string[]
}

export interface Neighbours {
  readonly from: readonly Neighbour[]
  readonly to: readonly Neighbour[]
}

/** Groups connections by node on each side, sorted by title. */
export function neighboursOf(node: string, connections: readonly Connection[]): Neighbours {
  const from = connections.filter(({ target, source }) => target === node && source !== node)
  const to = connections.filter(
    ({ source, target, target_title }) => source === node && target !== node && target_title !== '',
  )
  return {
    from: grouped(from.map(({ source, source_title, type }) => ({ id: source, title: source_title, type }))),
    to: grouped(to.map(({ target, target_title, type }) => ({ id: target, title: target_title, type }))),
  }
}

function grouped(edges: readonly { id: string; title: string; type: string }[]): Neighbour[] {
  const byId = new Map<string, { id: string; title: string; types: string[] }>()
  for (const { id, title, type } of edges) {
    const known = byId.get(id) ?? { id, title, types: [] }
    if (!known.types.includes(type)) known.types.push(type)
    byId.set(id, known)
  }
  return [...byId.values()].sort((a, b) => a.title.localeCompare(b.title, 'en') || (a.id < b.id ? -1 : 1))
}

/** Nodes of a list that are not folded away. */
const shownFirst = 8

interface ListProps {
  readonly title: string
  readonly nodes: readonly Neighbour[]
  readonly urls: Urls
  readonly org: string
}

export function NeighbourList({ title, nodes, urls, org }: ListProps) {
  if (nodes.length === 0) return null
  const item = ({ id, title: name, types }: Neighbour) => (
    <li>
      <a href={urls.node(org, id, name)}>
        <span class="dot" data-c={slotOf(types[0] ?? '')} />
        <span>
          {name}{' '}
          <span class="why">
            {types
              .filter((type) => !isPlain(type))
              .map(words)
              .join(', ')}
          </span>
        </span>
      </a>
    </li>
  )
  const rest = nodes.slice(shownFirst)
  return (
    <section>
      <h2>{title}</h2>
      <ul>{nodes.slice(0, shownFirst).map(item)}</ul>
      {rest.length > 0 && (
        <details>
          <summary>and {rest.length} more</summary>
          <ul>{rest.map(item)}</ul>
        </details>
      )}
    </section>
  )
}

/** True for the types of plain links, whose type is not shown. */
export function isPlain(type: string): boolean {
  return type === 'links_to' || type === 'related_to'
}

/** Returns a type in words. */
export function words(type: string): string {
  return type.replaceAll('_', ' ')
}

/** Maximum nodes on each side of the drawing. `size` has its measures. */
const drawn = 6
const size = { width: 256, row: 24, top: 22, middle: 128, left: 98, right: 158, label: 15 } as const

export function NeighbourDrawing({ title, from, to }: Neighbours & { readonly title: string }) {
  const [linking, linked] = [from, to].map((nodes) => new Set(nodes.map(({ id }) => id)))
  // A node that links both ways is drawn once, on the right.
  const left = from.filter(({ id }) => !linked?.has(id))
  const rows = Math.max(1, Math.min(drawn, Math.max(left.length, to.length)))
  const height = (rows - 1) * size.row + 2 * size.top
  const middle = height / 2
  if (from.length + to.length === 0) return null
  const side = (nodes: readonly Neighbour[], x: number, isLeft: boolean) => {
    const some = nodes.slice(0, drawn)
    const first = middle - ((some.length - 1) * size.row) / 2
    const bend = (x + size.middle) / 2
    return some.map(({ id, title: name, types }, at) => {
      const isBoth = !isLeft && linking?.has(id)
      const y = first + at * size.row
      return (
        <g>
          <path
            d={`M${x} ${y} C ${bend} ${y} ${bend} ${middle} ${size.middle} ${middle}`}
            marker-start={isLeft ? undefined : 'url(#arrow)'}
            marker-end={isLeft || isBoth ? 'url(#arrow)' : undefined}
          />
          <circle cx={x} cy={y} r="3.5" class="dot" data-c={slotOf(types[0] ?? '')} />
          <text x={isLeft ? x - 8 : x + 8} y={y + 3.5} text-anchor={isLeft ? 'end' : 'start'}>
            {short(name)}
          </text>
        </g>
      )
    })
  }
  const label = `${title}, linked from ${from.length} and to ${to.length} pages`
  return (
    <section>
      <h2>Local graph</h2>
      <svg class="local" viewBox={`0 0 ${size.width} ${height}`} role="img" aria-label={label}>
        <marker
          id="arrow"
          viewBox="0 0 6 6"
          refX="13"
          refY="3"
          markerWidth="6"
          markerHeight="6"
          orient="auto-start-reverse"
        >
          <path d="M0 0 6 3 0 6z" />
        </marker>
        {side(left, size.left, true)}
        {side(to, size.right, false)}
        <circle class="me-n" cx={size.middle} cy={middle} r="6" />
      </svg>
    </section>
  )
}

function short(name: string): string {
  const letters = [...name]
  return letters.length <= size.label
    ? name
    : `${letters
        .slice(0, size.label - 1)
        .join('')
        .trimEnd()}…`
}
