/** The dots of the map, their colours, and how they fit into the canvas. */

import { MultiGraph } from 'graphology'
import type Sigma from 'sigma'
import type { Schemas } from '../../../spec/client/api.ts'
import { partOfEach, partsOf, slotOf, slots } from './areas.ts'
import { readColours } from './map-colours.ts'
import type { Edge } from './map-node.ts'

export type GraphMap = Schemas['GraphMap']

/** The largest radius of a dot in pixels when the map opens. */
const largestAtFirst = 40

/** The nodes as a graph, coloured by selection, neighbours and search. The key of a node is its index in the map. */
export class Dots {
  readonly graph: MultiGraph = new MultiGraph()
  /** Keys of nodes by id. */
  readonly places: ReadonlyMap<string, string>
  colours = readColours()
  /** The key of the selected node; '' without one. */
  focus = ''
  /** Keys of found nodes; undefined without a search. */
  found: ReadonlySet<string> | undefined
  private near = new Set<string>()
  /** The colour slot of each node; -1: outside all parts. */
  private readonly slot: Int8Array

  constructor({ areas, ids, titles, area, x, y, weight }: GraphMap) {
    const parts = partsOf(areas)
    const part = partOfEach(areas, parts)
    this.slot = Int8Array.from(area, (at) => Math.max(part[at] ?? -1, -1) % slots)
    this.places = new Map(ids.map((id, at) => [id, String(at)]))
    // The names of these are drawn above the canvas.
    const named = new Set(areas.map(({ node_id }) => node_id))
    for (const [at, id] of ids.entries()) {
      const label = named.has(id) ? '' : (titles[at] ?? '')
      this.graph.addNode(at, { x: x[at] ?? 0, y: -(y[at] ?? 0), size: weight[at] ?? 1, label, zIndex: 0 })
    }
    this.paint()
  }

  /** Recolours all nodes. Camera moves do not need it. */
  paint(): void {
    const { colours, focus, near, found } = this
    const isShown = (node: string) =>
      (found === undefined && focus === '') || found?.has(node) === true || near.has(node) || node === focus
    this.graph.updateEachNodeAttributes(
      (node, now) => {
        const shown = isShown(node)
        const mine = this.slot[Number(node)] ?? -1
        now.color = mine < 0 ? (shown ? colours.rest : colours.restDim) : (shown ? colours.of : colours.dim)[mine]
        now.zIndex = node === focus ? 2 : shown ? 1 : 0
        now.forceLabel = node === focus || (near.has(node) && near.size < 30)
        return now
      },
      { attributes: ['color', 'zIndex', 'forceLabel'] },
    )
  }

  /** Recolours all nodes after the theme has changed. */
  repaint(): void {
    this.colours = readColours()
    this.paint()
  }

  /** Selects a node by id, without its edges. Returns its key; '' if it is not on the map. */
  choose(id: string): string {
    this.focus = this.places.get(id) ?? ''
    this.near = new Set()
    this.graph.clearEdges()
    this.paint()
    return this.focus
  }

  /** Draws the edges of the selected node. `isNamed`: take titles from them, because the map has none. */
  connect({ title: own }: { readonly title: string }, edges: readonly Edge[], isNamed: boolean): void {
    const { graph, colours, focus, near } = this
    if (isNamed) graph.setNodeAttribute(focus, 'label', own)
    for (const { other, type, isOut, title } of edges) {
      const end = this.places.get(other)
      if (end === undefined || end === focus) continue
      near.add(end)
      if (isNamed) graph.setNodeAttribute(end, 'label', title)
      const color = type === '' ? colours.rest : colours.of[slotOf(type)]
      graph.addEdge(isOut ? focus : end, isOut ? end : focus, { color, size: 0 })
    }
    this.paint()
  }
}

/** Fits all dots into the view. If there are only a few, adds space around them, so that none is too large. */
export function fitDots(sigma: Sigma, graph: MultiGraph): void {
  const none: [number, number] = [Infinity, -Infinity]
  const ends = { x: none, y: none }
  let largest = 0
  graph.forEachNode((_, { x, y, size }) => {
    ends.x = [Math.min(ends.x[0], x - size), Math.max(ends.x[1], x + size)]
    ends.y = [Math.min(ends.y[0], y - size), Math.max(ends.y[1], y + size)]
    largest = Math.max(largest, size)
  })
  show(sigma, ends)
  const wider = (largest * pixelsOfUnit(sigma)) / largestAtFirst
  if (wider > 1) show(sigma, { x: widened(ends.x, wider), y: widened(ends.y, wider) })
}

function show(sigma: Sigma, box: { readonly x: [number, number]; readonly y: [number, number] }): void {
  sigma.setCustomBBox(box)
  // The box applies only when nodes are processed again; a redraw alone would keep their positions.
  sigma.refresh()
}

function widened([from, to]: [number, number], by: number): [number, number] {
  const [middle, half] = [(from + to) / 2, ((to - from) / 2) * by]
  return [middle - half, middle + half]
}

export function pixelsOfUnit(sigma: Sigma): number {
  return Math.abs(sigma.graphToViewport({ x: 1_000, y: 0 }).x - sigma.graphToViewport({ x: 0, y: 0 }).x) / 1_000
}
