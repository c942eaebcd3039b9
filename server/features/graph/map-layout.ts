/**
 * Lays out the map of a graph. Each node is in the disk of its first parent. d3-hierarchy packs the disks. Unless
 * the graph is large, links then move what is in the same disk.
 */
import { packSiblings } from 'd3-hierarchy'
import { type Adjacency, adjacencyOf } from '../../../index/graph/acyclic.ts'
import type { GraphEdgeRow, GraphNodeRow } from '../../../index/graph/graph-rows.ts'
import * as limits from '../../base/limits.ts'
import { type Circle, liftLinks, pulled, type SiblingLinks } from './map-forces.ts'

/**
 * Places of nodes, by position. A node comes before its descendants, which are the next `sizes[node] - 1` positions.
 * Places are whole numbers; the smallest dot has a radius of 20, and the centre of the map is at 0, 0.
 */
export interface Places {
  /** Row numbers of the nodes. */
  readonly order: Uint32Array
  /** The number of nodes in each disk, with the node itself; 1 without children. */
  readonly sizes: Uint32Array
  /** The centre and radius of the node's dot. */
  readonly x: Int32Array
  readonly y: Int32Array
  readonly weight: Int32Array
  /** `[x, y, r]` of the disk of each node with children; unused for other nodes. */
  readonly disks: Int32Array
  /** `[first, x, y, r]`: the first position of the roots without children, and the disk that they share. */
  readonly loose: Int32Array
}

/** The gap around each dot and disk, so that they do not touch after rounding. */
const gap = 4
/** Radii of dots by the number of a node's edges. There are few steps, so that another edge rarely moves anything. */
const radii = [
  { edges: 128, radius: 46 },
  { edges: 32, radius: 34 },
  { edges: 8, radius: 26 },
] as const
const smallestRadius = 20
/** The largest ratio of height to width. A higher map is turned on its side. */
const highest = 1.25

interface Forest {
  readonly size: number
  /** The number of the first parent; -1 for a root. */
  readonly parentOf: Int32Array
  /**
   * Sorted by size, largest first, then by age. Sizes are compared as powers of two, so that nodes rarely change
   * places.
   */
  readonly children: Adjacency
  readonly roots: Uint32Array
  /** The number of descendants of each node, with the node itself. */
  readonly sizes: Uint32Array
  /** Each node after its parent. */
  readonly down: Uint32Array
}

/**
 * Lays out the map. A node is placed in the oldest of its parents, because the index has no times of edges. The same
 * rows always give the same places. Takes about n·√n operations at worst, if all nodes are siblings, and never yields.
 *
 * @param edges without those that close a cycle of parents
 */
export function layOutMap(nodes: readonly Pick<GraphNodeRow, 'id'>[], edges: readonly GraphEdgeRow[]): Places {
  const { parentOf, degrees, ends } = readEdges(nodes, edges)
  const forest = growForest(parentOf)
  const { size, children, roots, down } = forest
  const weight = Int32Array.from(degrees, radiusOf)
  const radius = Float64Array.from(weight)
  // The centre of a disk, relative to the disk around it, and of a dot, relative to its node's disk.
  const [x, y] = [new Float64Array(size), new Float64Array(size)]
  const [dotX, dotY] = [new Float64Array(size), new Float64Array(size)]
  const isInner = (node: number) => (forest.sizes[node] ?? 0) > 1
  const arrange = arrangement(forest, ends)
  const radiusAt = (node: number) => radius[node] ?? 0
  const put = (node: number, { x: left, y: top }: Circle) => {
    x[node] = left
    y[node] = top
  }
  for (const node of down.slice().reverse()) {
    if (!isInner(node)) continue
    const inside = childrenOf(children, node)
    const [dot, ...disks] = arrange(node, [node, ...inside], radiusAt)
    dotX[node] = dot?.x ?? 0
    dotY[node] = dot?.y ?? 0
    for (const [at, disk] of disks.entries()) put(inside[at] ?? 0, disk)
    radius[node] = outer([...(dot ? [dot] : []), ...disks])
  }
  const inner = [...roots].filter(isInner)
  const loose = [...roots].filter((node) => !isInner(node))
  const dots = arrange(size, loose, radiusAt)
  const looseRadius = outer(dots)
  const top = arrange(size + 1, [...inner, ...(loose.length > 0 ? [size] : [])], (disk) =>
    disk === size ? looseRadius : radiusAt(disk),
  )
  for (const [at, node] of inner.entries()) put(node, top[at] ?? origin)
  const rest = top[inner.length] ?? origin
  for (const [at, node] of loose.entries()) put(node, moved(dots[at] ?? origin, rest))
  for (const node of down) {
    const parent = parentOf[node] ?? -1
    if (parent >= 0)
      put(node, moved({ x: x[node] ?? 0, y: y[node] ?? 0, r: 0 }, { x: x[parent] ?? 0, y: y[parent] ?? 0, r: 0 }))
  }
  const order = inDepth(forest, [...inner, ...loose])
  return flat({
    order,
    sizes: Uint32Array.from(order, (node) => forest.sizes[node] ?? 0),
    x: Int32Array.from(order, (node) => Math.round((x[node] ?? 0) + (dotX[node] ?? 0))),
    y: Int32Array.from(order, (node) => Math.round((y[node] ?? 0) + (dotY[node] ?? 0))),
    weight: Int32Array.from(order, (node) => weight[node] ?? 0),
    disks: disksOf(order, x, y, radius),
    loose: Int32Array.of(size - loose.length, Math.round(rest.x), Math.round(rest.y), Math.round(looseRadius)),
  })
}

/** Places the members of a disk. The disk of the loose roots is the number after the last node; all are in the next. */
type Arrange = (disk: number, members: readonly number[], radiusAt: (member: number) => number) => readonly Circle[]

function arrangement({ size, parentOf, sizes }: Forest, ends: readonly number[]): Arrange {
  const around = parentOf.map((parent, node) => (parent >= 0 ? parent : (sizes[node] ?? 0) > 1 ? size + 1 : size))
  const links: SiblingLinks = ends.length > 0 ? liftLinks(Int32Array.of(...around, size + 1, -1), ends) : new Map()
  return (disk, members, radiusAt) => {
    const circles = packed(members.map(radiusAt))
    const pairs = links.get(disk)
    if (pairs === undefined || members.length < 3) return circles
    const places = new Map(members.map((member, at) => [member, at]))
    const placed = pairs.map(([one, other]) => [places.get(one) ?? 0, places.get(other) ?? 0] as const)
    return pulled(circles, placed, members[0] === disk)
  }
}

const origin: Circle = { x: 0, y: 0, r: 0 }

function radiusOf(degree: number): number {
  return radii.find(({ edges }) => degree >= edges)?.radius ?? smallestRadius
}

/** Packs circles of these radii around 0, 0, with the first in the middle. */
function packed(radiusOfEach: readonly number[]): Circle[] {
  return packSiblings(radiusOfEach.map((radius) => ({ x: 0, y: 0, r: radius + gap })))
}

/** The radius of the circle around all circles. */
function outer(circles: readonly Circle[]): number {
  let radius = 0
  for (const { x, y, r } of circles) radius = Math.max(radius, Math.hypot(x, y) + r)
  return radius
}

function moved({ x, y, r }: Circle, by: Circle): Circle {
  return { x: x + by.x, y: y + by.y, r }
}

function readEdges(nodes: readonly Pick<GraphNodeRow, 'id'>[], edges: readonly GraphEdgeRow[]) {
  const numbers = new Map(nodes.map(({ id }, number) => [id, number]))
  const parentOf = new Int32Array(nodes.length).fill(-1)
  const degrees = new Uint32Array(nodes.length)
  // Only for graphs that links shape.
  const isSmall = nodes.length <= limits.mapForceNodes && edges.length <= limits.mapForceEdges
  const [ends, arcs]: [number[], number[]] = [[], []]
  for (const [, type, , source, target] of edges) {
    const [from, to] = [numbers.get(source), numbers.get(target)]
    if (from === undefined || to === undefined) continue
    degrees[from] = (degrees[from] ?? 0) + 1
    degrees[to] = (degrees[to] ?? 0) + 1
    if (isSmall) (type === 'parent_child' ? arcs : ends).push(from, to)
    if (type !== 'parent_child') continue
    const known = parentOf[to] ?? -1
    parentOf[to] = known < 0 ? from : Math.min(known, from)
  }
  for (let at = 0; at < arcs.length; at += 2) {
    const [from = 0, to = 0] = [arcs[at], arcs[at + 1]]
    // The first parent is around its child already.
    if (parentOf[to] !== from) ends.push(from, to)
  }
  return { parentOf, degrees, ends }
}

function growForest(parentOf: Int32Array): Forest {
  const size = parentOf.length
  const arcs: number[] = []
  const roots: number[] = []
  for (const [node, parent] of parentOf.entries()) {
    if (parent < 0) roots.push(node)
    else arcs.push(parent, node)
  }
  const children = adjacencyOf(size, Uint32Array.from(arcs), 'onward')
  const down = new Uint32Array(size)
  down.set(roots)
  for (let at = 0, length = roots.length; at < length; at++) {
    const inside = childrenOf(children, down[at] ?? 0)
    down.set(inside, length)
    length += inside.length
  }
  const sizes = new Uint32Array(size).fill(1)
  for (const node of down.slice().reverse()) {
    const parent = parentOf[node] ?? -1
    if (parent >= 0) sizes[parent] = (sizes[parent] ?? 0) + (sizes[node] ?? 0)
  }
  const power = (node: number) => Math.clz32(sizes[node] ?? 0)
  const compare = (a: number, b: number) => power(a) - power(b) || a - b
  for (let node = 0; node < size; node++)
    children.ends.subarray(children.starts[node], children.starts[node + 1]).sort(compare)
  return { size, parentOf, children, roots: Uint32Array.from(roots).sort(compare), sizes, down }
}

function childrenOf({ starts, ends }: Adjacency, node: number): number[] {
  return Array.from(ends.subarray(starts[node], starts[node + 1]))
}

/** The nodes in depth-first order: each before its descendants. */
function inDepth({ size, children }: Forest, roots: readonly number[]): Uint32Array {
  const order = new Uint32Array(size)
  const waiting = roots.toReversed()
  for (let at = 0; at < size; at++) {
    const node = waiting.pop() ?? 0
    order[at] = node
    for (const child of childrenOf(children, node).reverse()) waiting.push(child)
  }
  return order
}

function disksOf(order: Uint32Array, x: Float64Array, y: Float64Array, radius: Float64Array): Int32Array {
  const disks = new Int32Array(order.length * 3)
  for (const [at, node] of order.entries())
    disks.set([x[node] ?? 0, y[node] ?? 0, radius[node] ?? 0].map(Math.round), at * 3)
  return disks
}

/** Swaps the axes of a map that is too high. Screens are wider than high. */
function flat(places: Places): Places {
  const { x, y, disks, loose } = places
  if (extent(y) <= highest * extent(x)) return places
  const turned = disks.slice()
  for (let at = 0; at < turned.length; at += 3) turned.set([disks[at + 1] ?? 0, disks[at] ?? 0], at)
  const [first = 0, left = 0, top = 0, r = 0] = loose
  return { ...places, x: y, y: x, disks: turned, loose: Int32Array.of(first, top, left, r) }
}

function extent(places: Int32Array): number {
  let [least, most] = [0, 0]
  for (const place of places) {
    least = Math.min(least, place)
    most = Math.max(most, place)
  }
  return most - least
}
