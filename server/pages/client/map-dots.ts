/** The dots of the map, their colours, and how they fit into the canvas. */

import { MultiGraph } from 'graphology'
import type Sigma from 'sigma'
import type { Schemas } from '../../../spec/client/api.ts'
import { partOfEach, partsOf, slotOf, slotsOfParts } from './areas.ts'
import { readColours, type Shades } from './map-colours.ts'
import type { Edge } from './map-node.ts'

export type GraphMap = Schemas['GraphMap']

/** The largest radius of a dot in pixels when the map opens. */
const largestAtFirst = 28
/** The most neighbours and found nodes that are named. */
const mostChosen = 300

/** A link between the keys of two nodes. `type`: '' for a node and its parent. */
export interface Link {
  readonly from: string
  readonly to: string
  readonly type: string
}

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
  private readonly ids: readonly string[]
  /** The links of the selected node, and those that are drawn for all. */
  private own: readonly Link[] = []
  private links: readonly Link[] = []
  /** The colour slot of each node; -1: outside all parts. */
  private readonly slot: Int8Array

  constructor({ areas, ids, titles, area, x, y, weight }: GraphMap) {
    const parts = partsOf(areas)
    const part = partOfEach(areas, parts)
    const slots = slotsOfParts(areas, parts)
    this.slot = Int8Array.from(area, (at) => slots[part[at] ?? -1] ?? -1)
    this.ids = ids
    this.places = new Map(ids.map((id, at) => [id, String(at)]))
    // Large maps have only the names of areas.
    const named = new Map(areas.map(({ node_id, title }) => [node_id, title]))
    for (const [at, id] of ids.entries()) {
      const label = titles[at] ?? named.get(id) ?? ''
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
        return now
      },
      { attributes: ['color', 'zIndex'] },
    )
  }

  /** Recolours all nodes after the theme has changed. */
  repaint(): void {
    this.colours = readColours()
    this.paint()
    this.drawLinks()
  }

  /** Selects a node by id, without its edges. Returns its key; '' if it is not on the map. */
  choose(id: string): string {
    this.focus = this.places.get(id) ?? ''
    this.near = new Set()
    this.own = []
    this.paint()
    this.drawLinks()
    return this.focus
  }

  /** Draws the links of the selected node. `isNamed`: take titles from them, because the map has none. */
  connect({ title }: { readonly title: string }, edges: readonly Edge[], isNamed: boolean): void {
    const { graph, focus, near } = this
    if (isNamed) graph.setNodeAttribute(focus, 'label', title)
    const own: Link[] = []
    for (const { other, type, isOut, title: name } of edges) {
      const end = this.places.get(other)
      if (end === undefined || end === focus) continue
      near.add(end)
      if (isNamed) graph.setNodeAttribute(end, 'label', name)
      own.push({ from: isOut ? focus : end, to: isOut ? end : focus, type })
    }
    this.own = own
    this.paint()
    this.drawLinks()
  }

  /** Draws these links of all nodes. Links of a selected node stay. */
  show(links: readonly Link[]): void {
    this.links = links
    this.drawLinks()
  }

  /** The keys of the nodes to name: the selected one, its neighbours, found ones. Undefined: any. */
  chosen(): readonly string[] | undefined {
    const { focus, near, found } = this
    if (focus === '' && found === undefined) return undefined
    return [...new Set([...(focus === '' ? [] : [focus]), ...near, ...(found ?? [])])].slice(0, mostChosen)
  }

  idOf(node: string): string {
    return this.ids[Number(node)] ?? ''
  }

  private drawLinks(): void {
    const { graph, colours, focus } = this
    graph.clearEdges()
    const draw = ({ from, to, type }: Link, { of, rest }: Shades) =>
      graph.addEdge(from, to, { color: type === '' ? rest : of[slotOf(type)], size: 0 })
    const others = focus === '' ? colours.line : colours.faint
    for (const link of this.links) draw(link, others)
    for (const link of this.own) draw(link, colours)
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
