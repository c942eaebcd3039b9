/** Counts the distinct ancestors and descendants of every node of a DAG exactly. */
import { type Adjacency, type Arcs, adjacencyOf, withoutCycles } from './acyclic.ts'

/** Counts, indexed by node number. */
interface Counts {
  readonly parents: Uint32Array
  readonly children: Uint32Array
  readonly ancestors: Uint32Array
  readonly descendants: Uint32Array
}

export interface Counted extends Counts {
  /** Arcs left out because they close a cycle. Only a push directly to a repository on disk can create one. */
  readonly hidden: Arcs
}

/** Nodes counted in one pass. A row has 32 words, so 100,000 rows take at most 13 MB. */
const blockBits = 1_024
const words = blockBits / 32
/**
 * Rows that one step adds to the column sums. `planes` is for binary digits beyond the first three: up to 2^27 rows.
 */
const rowsPerBatch = 8
const planes = 24

/**
 * Counts the relatives of every node. Arcs lead from parent to child, and nodes are numbered in the order of their ids.
 * Takes about n·(n+e)/1,024 operations on rows of 32 words if every node leads to every other one. Sparse graphs take
 * less: 1 s for 100,000 nodes and 200,000 arcs, 0.1 s for a tree. Never yields, so it must run in its own thread.
 */
export function countRelatives(size: number, all: Arcs): Counted {
  const { order, arcs, hidden } = withoutCycles(size, all)
  const up = adjacencyOf(size, arcs, 'back')
  const down = adjacencyOf(size, arcs, 'onward')
  return {
    parents: degreesOf(size, up),
    children: degreesOf(size, down),
    ancestors: countReached(order.slice().reverse(), down),
    descendants: countReached(order, up),
    hidden,
  }
}

function degreesOf(size: number, { starts }: Adjacency): Uint32Array {
  return Uint32Array.from({ length: size }, (_, node) => (starts[node + 1] ?? 0) - (starts[node] ?? 0))
}

/**
 * Counts how many other nodes each node leads to. `order` is topological and `before` holds the predecessors. Takes
 * 1,024 nodes at a time. A row has a bit for each of them that leads to its node. The sum of a column is a count.
 */
function countReached(order: Uint32Array, before: Adjacency): Uint32Array {
  const size = order.length
  const { starts, ends } = inOrder(order, before)
  // An extra empty row fills up the last batch.
  const rows = new Uint32Array((size + 1) * words)
  const reached = new Uint8Array(size)
  const sums = new Sums(rows)
  const counts = new Uint32Array(size)
  for (let from = 0; from < size; from += blockBits) {
    const to = Math.min(from + blockBits, size)
    reached.fill(0, from)
    for (let node = from; node < size; node++) {
      const mine = node * words
      let any = false
      for (let at = starts[node] ?? 0; at < (starts[node + 1] ?? 0); at++) {
        const other = ends[at] ?? 0
        if (other < from || reached[other] === 0) continue
        const theirs = other * words
        if (any) unite(rows, mine, theirs)
        else rows.copyWithin(mine, theirs, theirs + words)
        any = true
      }
      if (node < to) {
        // A node counts as leading to itself here, so that the next node copies both from one row.
        if (!any) rows.fill(0, mine, mine + words)
        const bit = node - from
        const word = mine + (bit >>> 5)
        rows[word] = (rows[word] ?? 0) | (1 << (bit & 31))
        any = true
      }
      if (!any) continue
      reached[node] = 1
      sums.add(mine)
    }
    sums.take(size * words, (bit, sum) => {
      if (from + bit < to) counts[order[from + bit] ?? 0] = sum - 1
    })
  }
  return counts
}

function unite(rows: Uint32Array, mine: number, theirs: number): void {
  for (let word = 0; word < words; word++) rows[mine + word] = (rows[mine + word] ?? 0) | (rows[theirs + word] ?? 0)
}

/** Renumbers an adjacency by the nodes' positions in `order`. */
function inOrder(order: Uint32Array, { starts, ends }: Adjacency): Adjacency {
  const size = order.length
  const placeOf = new Uint32Array(size)
  for (let place = 0; place < size; place++) placeOf[order[place] ?? 0] = place
  const placed = { starts: new Uint32Array(size + 1), ends: new Uint32Array(ends.length) }
  let length = 0
  for (let place = 0; place < size; place++) {
    const node = order[place] ?? 0
    for (let at = starts[node] ?? 0; at < (starts[node + 1] ?? 0); at++)
      placed.ends[length++] = placeOf[ends[at] ?? 0] ?? 0
    placed.starts[place + 1] = length
  }
  return placed
}

/**
 * Column sums of rows of bits, bit-sliced. Plane k holds the k-th binary digit of each of 1,024 sums. Carry-save adders
 * add eight rows at once. Source: Harley and Seal, in Warren, Hacker's Delight, 5-1.
 */
class Sums {
  readonly #rows: Uint32Array
  readonly #low = [new Uint32Array(words), new Uint32Array(words), new Uint32Array(words)] as const
  readonly #high = new Uint32Array(words * planes)
  readonly #batch = new Uint32Array(rowsPerBatch)
  #waiting = 0

  constructor(rows: Uint32Array) {
    this.#rows = rows
  }

  /** Adds the row that starts at the word `start`. The row must not change before the next `take`. */
  add(start: number): void {
    this.#batch[this.#waiting++] = start
    if (this.#waiting === rowsPerBatch) this.#addBatch()
  }

  /** Calls `use` with every column's sum, then resets all sums to 0. `empty` is where an empty row starts. */
  take(empty: number, use: (bit: number, sum: number) => void): void {
    if (this.#waiting > 0) {
      this.#batch.fill(empty, this.#waiting)
      this.#addBatch()
    }
    for (let bit = 0; bit < blockBits; bit++) {
      const [word, shift] = [bit >>> 5, bit & 31]
      let sum = 0
      for (const [digit, plane] of this.#low.entries()) sum += (((plane[word] ?? 0) >>> shift) & 1) << digit
      for (let digit = 0; digit < planes; digit++)
        sum += (((this.#high[digit * words + word] ?? 0) >>> shift) & 1) << (digit + 3)
      use(bit, sum)
    }
    for (const plane of this.#low) plane.fill(0)
    this.#high.fill(0)
  }

  #addBatch(): void {
    this.#waiting = 0
    const rows = this.#rows
    const starts = this.#batch
    // This loop takes most of the time, so it avoids destructuring typed arrays, which uses an iterator.
    const [a, b, c, d] = [starts[0] ?? 0, starts[1] ?? 0, starts[2] ?? 0, starts[3] ?? 0]
    const [e, f, g, h] = [starts[4] ?? 0, starts[5] ?? 0, starts[6] ?? 0, starts[7] ?? 0]
    const ones = this.#low[0]
    const twos = this.#low[1]
    const fours = this.#low[2]
    const high = this.#high
    for (let word = 0; word < words; word++) {
      let one = ones[word] ?? 0
      let two = twos[word] ?? 0
      const four = fours[word] ?? 0
      let x = rows[a + word] ?? 0
      let y = rows[b + word] ?? 0
      let half = one ^ x
      const two1 = (one & x) | (half & y)
      one = half ^ y
      x = rows[c + word] ?? 0
      y = rows[d + word] ?? 0
      half = one ^ x
      const two2 = (one & x) | (half & y)
      one = half ^ y
      half = two ^ two1
      const four1 = (two & two1) | (half & two2)
      two = half ^ two2
      x = rows[e + word] ?? 0
      y = rows[f + word] ?? 0
      half = one ^ x
      const two3 = (one & x) | (half & y)
      one = half ^ y
      x = rows[g + word] ?? 0
      y = rows[h + word] ?? 0
      half = one ^ x
      const two4 = (one & x) | (half & y)
      ones[word] = half ^ y
      half = two ^ two3
      const four2 = (two & two3) | (half & two4)
      twos[word] = half ^ two4
      half = four ^ four1
      let carry = (four & four1) | (half & four2)
      fours[word] = half ^ four2
      for (let at = word; carry !== 0; at += words) {
        const digit = high[at] ?? 0
        high[at] = digit ^ carry
        carry &= digit
      }
    }
  }
}
