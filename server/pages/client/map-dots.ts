/** The dots and links of the map: their colours, and how they are drawn. */

import { partOfEach, partsOf, slotOf, slotsOfParts } from './areas.ts'
import type { Camera } from './map-camera.ts'
import { readColours, type Shades } from './map-colours.ts'
import { DotGrid } from './map-grid.ts'
import type { GraphMap, Stretched } from './map-layout.ts'
import type { Edge } from './map-node.ts'

/** The most neighbours and found nodes that are named. */
const mostChosen = 300
/** Pixels: the radius up to which dots are squares, which are drawn ten times faster. */
const square = 1.2
/** Lines of one path. The time for a path grows faster than its length. */
const mostLines = 200

/** A link between two nodes. `type`: '' for a node and its parent. */
export interface Link {
  readonly from: number
  readonly to: number
  readonly type: string
}

/** The nodes, coloured by selection, neighbours and search. The number of a node is its index in the map. */
export class Dots {
  readonly map: GraphMap
  readonly grid: DotGrid
  /** Numbers of nodes by id. */
  readonly places: ReadonlyMap<string, number>
  readonly labels: string[]
  colours = readColours()
  /** The number of the selected node. */
  focus: number | undefined
  /** The number of the node under the pointer. */
  hovered: number | undefined
  /** Numbers of found nodes; undefined without a search. */
  found: ReadonlySet<number> | undefined
  private near = new Set<number>()
  /** The links of the selected node, and those that are drawn for all. */
  private own: readonly Link[] = []
  private links: readonly Link[] = []
  /** The index of each area's part, and the colour slot of each part. */
  private readonly part: readonly number[]
  private readonly slots: readonly (number | undefined)[]
  private readonly parts: readonly number[]
  private readonly stretch: Stretched
  /** Nodes by colour, in the order of drawing. */
  private groups: readonly (readonly [string, readonly number[]])[] = []

  constructor(stretched: Stretched) {
    const { map } = stretched
    const { areas, ids, titles, x, y, weight } = map
    this.map = map
    this.stretch = stretched
    this.parts = partsOf(areas)
    this.part = partOfEach(areas, this.parts)
    this.slots = slotsOfParts(areas, this.parts)
    this.places = new Map(ids.map((id, at) => [id, at]))
    // Large maps have only the names of areas.
    const named = new Map(areas.map(({ node_id, title }) => [node_id, title]))
    this.labels = ids.map((id, at) => titles[at] ?? named.get(id) ?? '')
    this.grid = new DotGrid({ x, y, size: weight })
    this.paint()
  }

  /** Recolours all nodes. Camera moves do not need it. */
  paint(): void {
    const { focus, near, found, map } = this
    const isAny = found === undefined && focus === undefined
    const isShown = (at: number) => isAny || found?.has(at) === true || near.has(at) || at === focus
    const [dim, shown] = [false, true].map((one) =>
      grouped(
        [...map.ids.keys()].filter((at) => isShown(at) === one),
        (at) => this.colourOf(at, one),
      ),
    )
    this.groups = [...(dim ?? []), ...(shown ?? [])]
  }

  colourOf(node: number, isShown = true): string {
    const { of, dim, rest, restDim } = this.colours
    const slot = this.slotOf(this.map.area[node] ?? -1)
    const shades = isShown ? of : dim
    return (slot === undefined ? undefined : shades[slot]) ?? (isShown ? rest : restDim)
  }

  /** The colour slot of an area; undefined is grey. */
  slotOf(area: number): number | undefined {
    return this.slots[this.part[area] ?? -1]
  }

  /** Recolours all nodes after the theme has changed. */
  repaint(): void {
    this.colours = readColours()
    this.paint()
  }

  /** Selects a node by id, without its edges. Returns its number, if it is on the map. */
  choose(id: string): number | undefined {
    this.focus = this.places.get(id)
    this.near = new Set()
    this.own = []
    this.paint()
    return this.focus
  }

  /** Shows the links of the selected node. Takes titles from them if the map has none. */
  connect({ title }: { readonly title: string }, edges: readonly Edge[]): void {
    const { focus, near, labels, map } = this
    if (focus === undefined) return
    const isNamed = map.titles.length === 0
    if (isNamed) labels[focus] = title
    const own: Link[] = []
    for (const { other, type, isOut, title: name } of edges) {
      const end = this.places.get(other)
      if (end === undefined || end === focus) continue
      near.add(end)
      if (isNamed) labels[end] = name
      own.push({ from: isOut ? focus : end, to: isOut ? end : focus, type })
    }
    this.own = own
    this.paint()
  }

  /** Shows these links of all nodes. Links of a selected node stay. */
  show(links: readonly Link[]): void {
    this.links = links
  }

  /** The nodes to name: the selected one, its neighbours, found ones. Undefined: any. */
  chosen(): readonly number[] | undefined {
    const { focus, near, found } = this
    if (focus === undefined && found === undefined) return undefined
    return [...new Set([...(focus === undefined ? [] : [focus]), ...near, ...(found ?? [])])].slice(0, mostChosen)
  }

  /** Draws areas, links and dots, each as a step. */
  *draw(context: CanvasRenderingContext2D, camera: Camera): Generator<undefined> {
    const { colours, focus } = this
    this.drawAreas(context, camera)
    yield
    context.lineWidth = 1
    // Many links are paler, so that the dots stay visible.
    context.globalAlpha = focus === undefined ? Math.min(1, 0.35 + 150 / this.links.length) : 1
    this.drawLinks(context, camera, this.links, focus === undefined ? colours.line : colours.faint)
    context.globalAlpha = 1
    this.drawLinks(context, camera, this.own, colours)
    yield
    for (const [colour, nodes] of this.groups) this.drawDots(context, camera, nodes, colour)
    yield
  }

  /** Draws the grounds of coloured areas. */
  private drawAreas(context: CanvasRenderingContext2D, camera: Camera): void {
    const { map, parts, stretch, colours } = this
    for (const at of parts) {
      const [area, slot] = [map.areas[at], this.slotOf(at)]
      if (!area || slot === undefined || parts.length === 1) continue
      const { x, y } = camera.toScreen(area)
      context.fillStyle = colours.ground[slot] ?? ''
      context.beginPath()
      context.ellipse(x, y, area.r * stretch.x * camera.scale, area.r * stretch.y * camera.scale, 0, 0, 2 * Math.PI)
      context.fill()
    }
  }

  private drawLinks(context: CanvasRenderingContext2D, camera: Camera, links: readonly Link[], shades: Shades): void {
    const { map } = this
    const at = (node: number) => camera.toScreen({ x: map.x[node] ?? 0, y: map.y[node] ?? 0 })
    const colourOf = ({ type }: Link) => (type === '' ? shades.rest : shades.of[slotOf(type)]) ?? ''
    for (const [colour, same] of grouped(links, colourOf)) {
      context.strokeStyle = colour
      for (let first = 0; first < same.length; first += mostLines) {
        context.beginPath()
        for (const { from, to } of same.slice(first, first + mostLines)) {
          const [start, end] = [at(from), at(to)]
          context.moveTo(start.x, start.y)
          context.lineTo(end.x, end.y)
        }
        context.stroke()
      }
    }
  }

  private drawDots(context: CanvasRenderingContext2D, camera: Camera, nodes: readonly number[], colour: string): void {
    const { x, y, weight } = this.map
    const { scale } = camera
    const { left, right, top, bottom } = camera.view()
    context.fillStyle = colour
    for (const node of nodes) {
      const [across, down, size] = [x[node] ?? 0, y[node] ?? 0, weight[node] ?? 1]
      if (across + size < left || across - size > right || down + size < top || down - size > bottom) continue
      const [at, r] = [camera.toScreen({ x: across, y: down }), size * scale]
      if (r < square) {
        context.fillRect(at.x - r, at.y - r, Math.max(2 * r, 1), Math.max(2 * r, 1))
        continue
      }
      context.beginPath()
      context.arc(at.x, at.y, r, 0, 2 * Math.PI)
      context.fill()
    }
  }
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const key = keyOf(one)
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  return groups
}
