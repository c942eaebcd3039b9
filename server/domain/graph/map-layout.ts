/** Where the nodes of a graph lie on its map: each in the disk of its first parent, the disks packed by d3-hierarchy. */
import { packSiblings } from 'd3-hierarchy'
import { type Adjacency, adjacencyOf } from '../../../index/graph/acyclic.ts'
import type { GraphEdgeRow, GraphNodeRow } from '../../../index/graph/graph-rows.ts'

/**
 * Nodes by their position: a node stands before what lies under it, and that is the `sizes[node] - 1` next ones. Whole
 * numbers, in units of which the smallest dot has a radius of 20; the middle of the map is at 0, 0.
 */
export interface Places {
  /** Numbers of the rows. */
  readonly order: Uint32Array
  /** Nodes of the disk, itself among them: 1 of a node without children. */
  readonly sizes: Uint32Array
  /** The middle of the node's dot, and its radius. */
  readonly x: Int32Array
  readonly y: Int32Array
  readonly weight: Int32Array
  /** The disk of a node with children, `[x, y, r]` of each; unused of others. */
  readonly disks: Int32Array
  /** `[first, x, y, r]`: from this position on stand the roots without children, in a disk of their own. */
  readonly loose: Int32Array
}

/** Around each dot and disk, so that rounded ones do not meet. */
const gap = 4
/** Radius of a dot by the number of edges that meet in its node. Few steps: an edge more seldom moves anything. */
const radii = [
  { edges: 128, radius: 46 },
  { edges: 32, radius: 34 },
  { edges: 8, radius: 26 },
] as const
const smallestRadius = 20
/** A map this many times as high as wide is laid on its side. */
const highest = 1.25

interface Circle {
  x: number
  y: number
  readonly r: number
}

interface Forest {
  readonly size: number
  /** Number of the first parent; -1 of a root. */
  readonly parentOf: Int32Array
  /** Largest first by powers of two, so that they seldom change places; among those the oldest. */
  readonly children: Adjacency
  readonly roots: Uint32Array
  /** Nodes under each, itself among them. */
  readonly sizes: Uint32Array
  /** Each node after its parent. */
  readonly down: Uint32Array
}

/**
 * A node lies in the oldest of its parents: the index has no time of an edge. `edges` without those that close a cycle of
 * parents. The same rows give the same places. About n·√n operations at worst, where all are siblings; never yields.
 */
export function layOutMap(nodes: readonly Pick<GraphNodeRow, 'id'>[], edges: readonly GraphEdgeRow[]): Places {
  const { parentOf, degrees } = readEdges(nodes, edges)
  const forest = growForest(parentOf)
  const { size, children, roots, down } = forest
  const weight = Int32Array.from(degrees, radiusOf)
  const radius = Float64Array.from(weight)
  // The middle of a disk from that of the one around it; of a dot from that of its node's disk.
  const [x, y] = [new Float64Array(size), new Float64Array(size)]
  const [dotX, dotY] = [new Float64Array(size), new Float64Array(size)]
  const isInner = (node: number) => (forest.sizes[node] ?? 0) > 1
  const put = (node: number, { x: left, y: top }: Circle) => {
    x[node] = left
    y[node] = top
  }
  for (const node of down.slice().reverse()) {
    if (!isInner(node)) continue
    const inside = childrenOf(children, node)
    const [dot, ...disks] = packed([radius[node] ?? 0, ...inside.map((child) => radius[child] ?? 0)])
    dotX[node] = dot?.x ?? 0
    dotY[node] = dot?.y ?? 0
    for (const [at, disk] of disks.entries()) put(inside[at] ?? 0, disk)
    radius[node] = outer([...(dot ? [dot] : []), ...disks])
  }
  const inner = [...roots].filter(isInner)
  const loose = [...roots].filter((node) => !isInner(node))
  const dots = packed(loose.map((node) => radius[node] ?? 0))
  const looseRadius = outer(dots)
  const top = packed([...inner.map((node) => radius[node] ?? 0), ...(loose.length > 0 ? [looseRadius] : [])])
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

const origin: Circle = { x: 0, y: 0, r: 0 }

function radiusOf(degree: number): number {
  return radii.find(({ edges }) => degree >= edges)?.radius ?? smallestRadius
}

/** Circles of these radii beside each other, the first in the middle, around 0, 0. */
function packed(radiusOfEach: readonly number[]): Circle[] {
  return packSiblings(radiusOfEach.map((radius) => ({ x: 0, y: 0, r: radius + gap })))
}

/** The radius of the circle around all of them. */
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
  for (const [, type, , source, target] of edges) {
    const [from, to] = [numbers.get(source), numbers.get(target)]
    if (from === undefined || to === undefined) continue
    degrees[from] = (degrees[from] ?? 0) + 1
    degrees[to] = (degrees[to] ?? 0) + 1
    if (type !== 'parent_child') continue
    const known = parentOf[to] ?? -1
    parentOf[to] = known < 0 ? from : Math.min(known, from)
  }
  return { parentOf, degrees }
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

/** Each node before all that lies under it. */
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

/** Screens are wider than high: exchanges the axes of a map that is higher. */
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
