/** Removes the arcs of a graph that close a cycle, and sorts its nodes topologically. */

/** Distinct arcs as `[from, to, from, to, …]`. Nodes are numbers from 0. There are no self-loops. */
export type Arcs = Uint32Array

/** Adjacency lists in one array. The neighbours of `node` are `ends[starts[node]…starts[node + 1]]`. */
export interface Adjacency {
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

export interface Acyclic {
  /** Every node once, after all of its predecessors. */
  readonly order: Uint32Array
  /** The remaining arcs, in the given order. */
  readonly arcs: Arcs
  /** The removed arcs. */
  readonly hidden: Arcs
}

/**
 * Removes back edges within each strongly connected component, deterministically. A depth-first walk starts at the
 * lowest number and takes lower numbers first. It hides each arc that leads back to a node on its current path. It
 * hides one arc of a ring, and half of the arcs if all nodes are linked both ways. O(nodes + arcs).
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

/** Groups arcs by one end. `onward` lists a node's successors, `back` its predecessors. */
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

/** Sorts topologically by Kahn's algorithm. The result is shorter than `size` if there is a cycle. */
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

/** Numbers each node's strongly connected component by Tarjan's algorithm, with an explicit stack. */
function componentsOf(size: number, { starts, ends }: Adjacency): Uint32Array {
  const components = new Uint32Array(size)
  const visitOf = new Uint32Array(size)
  const lowLink = new Uint32Array(size)
  const cursor = starts.slice()
  const open: number[] = []
  const path: number[] = []
  let [visited, component] = [0, 0]
  const enter = (node: number) => {
    visitOf[node] = ++visited
    lowLink[node] = visited
    open.push(node)
    path.push(node)
  }
  for (let root = 0; root < size; root++) {
    if (visitOf[root] !== 0) continue
    enter(root)
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const at = cursor[node] ?? 0
      if (at < (starts[node + 1] ?? 0)) {
        cursor[node] = at + 1
        const end = ends[at] ?? 0
        if (visitOf[end] === 0) enter(end)
        else if (components[end] === 0) lowLink[node] = Math.min(lowLink[node] ?? 0, visitOf[end] ?? 0)
        continue
      }
      path.pop()
      const before = path.at(-1)
      if (before !== undefined) lowLink[before] = Math.min(lowLink[before] ?? 0, lowLink[node] ?? 0)
      if (lowLink[node] !== visitOf[node]) continue
      component++
      for (let last = open.pop(); last !== undefined; last = open.pop()) {
        components[last] = component
        if (last === node) break
      }
    }
  }
  return components
}

/** Returns `from * size + to` for every back edge that a depth-first walk finds within a component. */
function backArcs(size: number, { starts, ends }: Adjacency, components: Uint32Array): ReadonlySet<number> {
  const back = new Set<number>()
  const [unseen, onPath, done] = [0, 1, 2]
  const states = new Uint8Array(size)
  const cursor = starts.slice()
  for (let root = 0; root < size; root++) {
    if (states[root] !== unseen) continue
    states[root] = onPath
    const path = [root]
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const at = cursor[node] ?? 0
      if (at >= (starts[node + 1] ?? 0)) {
        states[node] = done
        path.pop()
        continue
      }
      cursor[node] = at + 1
      const end = ends[at] ?? 0
      if (components[end] !== components[node]) continue
      if (states[end] === onPath) back.add(node * size + end)
      if (states[end] !== unseen) continue
      states[end] = onPath
      path.push(end)
    }
  }
  return back
}
