/** Takes the arcs that close a cycle out of a graph, and puts its nodes in an order in which every arc leads onward. */

/** `[from, to, from, to, …]`: distinct arcs between nodes that are numbers from 0; none from a node to itself. */
export type Arcs = Uint32Array

/** For every node the nodes at the other ends of its arcs: those of `node` are `ends[starts[node]…starts[node + 1]]`. */
export interface Adjacency {
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

export interface Acyclic {
  /** Every node once, each after all that lead to it. */
  readonly order: Uint32Array
  /** What is left of the arcs, in the order in which they were given. */
  readonly arcs: Arcs
  /** Those that were taken out. */
  readonly hidden: Arcs
}

/**
 * Which arcs are hidden depends on nothing outside their knot, a greatest set of nodes that all lead to one another: a
 * depth-first walk of it, from its lowest number on and to lower numbers first, hides each arc that leads back to a node
 * of the way that it has come. One for a ring, half for nodes that are all linked both ways. O(nodes + arcs).
 */
export function withoutCycles(size: number, arcs: Arcs): Acyclic {
  const order = orderOf(size, arcs)
  if (order.length === size) return { order, arcs, hidden: new Uint32Array() }
  const next = adjacencyOf(size, arcs, 'onward')
  for (let node = 0; node < size; node++) next.ends.subarray(next.starts[node], next.starts[node + 1]).sort()
  const back = backArcs(size, next, componentsOf(size, next))
  const [kept, hidden]: [number[], number[]] = [[], []]
  for (let at = 0; at < arcs.length; at += 2) {
    const [from, to] = [arcs[at] ?? 0, arcs[at + 1] ?? 0]
    if (back.has(from * size + to)) hidden.push(from, to)
    else kept.push(from, to)
  }
  const rest = Uint32Array.from(kept)
  return { order: orderOf(size, rest), arcs: rest, hidden: Uint32Array.from(hidden) }
}

/** By either end of the arcs: `onward` has those that a node leads to, `back` those that lead to it. */
export function adjacencyOf(size: number, arcs: Arcs, direction: 'onward' | 'back'): Adjacency {
  const [here, there] = direction === 'onward' ? [0, 1] : [1, 0]
  const starts = new Uint32Array(size + 1)
  for (let at = 0; at < arcs.length; at += 2) {
    const node = (arcs[at + here] ?? 0) + 1
    starts[node] = (starts[node] ?? 0) + 1
  }
  for (let node = 0; node < size; node++) starts[node + 1] = (starts[node + 1] ?? 0) + (starts[node] ?? 0)
  const free = starts.slice()
  const ends = new Uint32Array(arcs.length / 2)
  for (let at = 0; at < arcs.length; at += 2) {
    const node = arcs[at + here] ?? 0
    const place = free[node] ?? 0
    ends[place] = arcs[at + there] ?? 0
    free[node] = place + 1
  }
  return { starts, ends }
}

/** Kahn's algorithm; shorter than `size` where there is a cycle. */
function orderOf(size: number, arcs: Arcs): Uint32Array {
  const { starts, ends } = adjacencyOf(size, arcs, 'onward')
  const waiting = new Uint32Array(size)
  for (const end of ends) waiting[end] = (waiting[end] ?? 0) + 1
  const order = new Uint32Array(size)
  let length = 0
  for (let node = 0; node < size; node++) if (waiting[node] === 0) order[length++] = node
  for (let done = 0; done < length; done++) {
    const node = order[done] ?? 0
    for (let at = starts[node] ?? 0; at < (starts[node + 1] ?? 0); at++) {
      const end = ends[at] ?? 0
      const left = (waiting[end] ?? 0) - 1
      waiting[end] = left
      if (left === 0) order[length++] = end
    }
  }
  return order.subarray(0, length)
}

/** For every node the number of its knot: Tarjan's algorithm, with a stack of its own instead of recursion. */
function componentsOf(size: number, { starts, ends }: Adjacency): Uint32Array {
  const knots = new Uint32Array(size)
  const met = new Uint32Array(size)
  const lowest = new Uint32Array(size)
  const cursor = starts.slice()
  const open: number[] = []
  const way: number[] = []
  let [meetings, knot] = [0, 0]
  const enter = (node: number) => {
    met[node] = ++meetings
    lowest[node] = meetings
    open.push(node)
    way.push(node)
  }
  for (let root = 0; root < size; root++) {
    if (met[root] !== 0) continue
    enter(root)
    for (let node = way.at(-1); node !== undefined; node = way.at(-1)) {
      const at = cursor[node] ?? 0
      if (at < (starts[node + 1] ?? 0)) {
        cursor[node] = at + 1
        const end = ends[at] ?? 0
        if (met[end] === 0) enter(end)
        else if (knots[end] === 0) lowest[node] = Math.min(lowest[node] ?? 0, met[end] ?? 0)
        continue
      }
      way.pop()
      const before = way.at(-1)
      if (before !== undefined) lowest[before] = Math.min(lowest[before] ?? 0, lowest[node] ?? 0)
      if (lowest[node] !== met[node]) continue
      knot++
      for (let last = open.pop(); last !== undefined; last = open.pop()) {
        knots[last] = knot
        if (last === node) break
      }
    }
  }
  return knots
}

/** `from * size + to` of every arc within a knot that leads back to a node of the depth-first walk's present way. */
function backArcs(size: number, { starts, ends }: Adjacency, knots: Uint32Array): ReadonlySet<number> {
  const back = new Set<number>()
  const [unseen, onWay, done] = [0, 1, 2]
  const states = new Uint8Array(size)
  const cursor = starts.slice()
  for (let root = 0; root < size; root++) {
    if (states[root] !== unseen) continue
    states[root] = onWay
    const way = [root]
    for (let node = way.at(-1); node !== undefined; node = way.at(-1)) {
      const at = cursor[node] ?? 0
      if (at >= (starts[node + 1] ?? 0)) {
        states[node] = done
        way.pop()
        continue
      }
      cursor[node] = at + 1
      const end = ends[at] ?? 0
      if (knots[end] !== knots[node]) continue
      if (states[end] === onWay) back.add(node * size + end)
      if (states[end] !== unseen) continue
      states[end] = onWay
      way.push(end)
    }
  }
  return back
}
