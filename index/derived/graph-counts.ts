/** Exact numbers of distinct ancestors and descendants for every node of a DAG. */
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Arc {
  readonly parent: string
  readonly child: string
}

interface Counts {
  readonly parents: number
  readonly children: number
  readonly ancestors: number
  readonly descendants: number
}

/** Nodes marked in one pass: 32 words of a row, so that 100,000 rows stay within 13 MB. */
const blockBits = 1_024
const words = blockBits / 32
/** Row operations between two turns of the event loop: about 10 ms. */
const turn = 200_000

export interface Counted {
  readonly counts: ReadonlyMap<string, Counts>
  /** Arcs left out because they close a cycle, which only mirrors of different moments can hold. */
  readonly hidden: readonly Arc[]
}

/**
 * Marks, block by block, which of 1,024 nodes lie above each node, in topological order, and adds the marks up.
 * n·(n+e)/1,024 row operations of 32 words; yields to the event loop. Arcs to nodes that are not in `ids` do not count.
 */
export async function countRelatives(ids: readonly string[], arcs: readonly Arc[]): Promise<Counted> {
  const at = new Map(ids.map((id, position) => [id, position]))
  const known = arcs.filter((arc) => at.has(arc.parent) && at.has(arc.child))
  const { order, parentsOf, childrenOf, hidden } = sortTopologically(ids.length, known, at)
  const ancestors = new Uint32Array(ids.length)
  const descendants = new Uint32Array(ids.length)
  const rows = new Uint32Array(ids.length * words)
  let operations = 0
  for (let from = 0; from < ids.length; from += blockBits) {
    rows.fill(0)
    for (const node of order) {
      const mine = node * words
      for (const parent of parentsOf[node] ?? []) {
        const theirs = parent * words
        for (let word = 0; word < words; word++)
          rows[mine + word] = (rows[mine + word] ?? 0) | (rows[theirs + word] ?? 0)
        const bit = parent - from
        if (bit >= 0 && bit < blockBits) rows[mine + (bit >>> 5)] = (rows[mine + (bit >>> 5)] ?? 0) | (1 << (bit & 31))
        operations++
      }
      ancestors[node] = (ancestors[node] ?? 0) + addBits(rows, mine, from, descendants)
      if (++operations >= turn) {
        operations = 0
        await nextTurn()
      }
    }
  }
  const counts = new Map<string, Counts>()
  for (const [id, node] of at) {
    counts.set(id, {
      parents: parentsOf[node]?.length ?? 0,
      children: childrenOf[node]?.length ?? 0,
      ancestors: ancestors[node] ?? 0,
      descendants: descendants[node] ?? 0,
    })
  }
  return { counts, hidden }
}

/** Counts the marks of a row, and each for the node that it stands for. */
function addBits(rows: Uint32Array, start: number, from: number, descendants: Uint32Array): number {
  let total = 0
  for (let word = 0; word < words; word++) {
    let bits = rows[start + word] ?? 0
    while (bits !== 0) {
      const bit = 31 - Math.clz32(bits & -bits)
      const node = from + word * 32 + bit
      descendants[node] = (descendants[node] ?? 0) + 1
      total++
      bits &= bits - 1
    }
  }
  return total
}

interface Sorted {
  readonly order: readonly number[]
  readonly parentsOf: readonly number[][]
  readonly childrenOf: readonly number[][]
  readonly hidden: readonly Arc[]
}

/** Kahn's algorithm; where a cycle is left, the greatest of its arcs is hidden, until none is. */
function sortTopologically(size: number, arcs: readonly Arc[], at: ReadonlyMap<string, number>): Sorted {
  const parentsOf: number[][] = Array.from({ length: size }, () => [])
  const childrenOf: number[][] = Array.from({ length: size }, () => [])
  for (const { parent, child } of arcs) {
    const [above, below] = [at.get(parent) ?? 0, at.get(child) ?? 0]
    parentsOf[below]?.push(above)
    childrenOf[above]?.push(below)
  }
  const waiting = parentsOf.map((parents) => parents.length)
  const order: number[] = []
  for (const [node, parents] of waiting.entries()) if (parents === 0) order.push(node)
  for (let next = 0; next < order.length; next++) {
    for (const child of childrenOf[order[next] ?? 0] ?? []) {
      waiting[child] = (waiting[child] ?? 0) - 1
      if (waiting[child] === 0) order.push(child)
    }
  }
  if (order.length === size) return { order, parentsOf, childrenOf, hidden: [] }
  const left = new Set([...waiting.keys()].filter((node) => (waiting[node] ?? 0) > 0))
  const closing = arcs.filter(
    (arc) => left.has(at.get(arc.parent) ?? -1) && left.has(at.get(arc.child) ?? -1) && reaches(arc, childrenOf, at),
  )
  const greatest = closing.reduce((a, b) => (key(a) > key(b) ? a : b))
  const rest = sortTopologically(
    size,
    arcs.filter((arc) => arc !== greatest),
    at,
  )
  return { ...rest, hidden: [greatest, ...rest.hidden] }
}

/** Whether the arc lies on a cycle. */
function reaches({ parent, child }: Arc, childrenOf: readonly number[][], at: ReadonlyMap<string, number>): boolean {
  const goal = at.get(parent)
  const seen = new Set([at.get(child) ?? -1])
  for (const node of seen) {
    if (node === goal) return true
    for (const next of childrenOf[node] ?? []) seen.add(next)
  }
  return false
}

function key({ parent, child }: Arc): string {
  return `${child} ${parent}`
}
