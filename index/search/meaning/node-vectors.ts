/** Compares a question's vector with the vectors of all nodes of an organisation. */
import { heapOfBest } from '../ranking/scores.ts'
import { BLOCK, bytesOfBlock, dotProducts, freeBlock, takeBlock, widthOf } from './vector-scan.ts'

/** A node whose vector resembles the question's. */
interface SimilarNode {
  readonly id: string
  /** The cosine of the two vectors, in units of 2^-20. */
  readonly similarity: number
  /** The similarity less the mean of all nodes, by their deviation. */
  readonly z: number
}

export interface Similarities {
  /** Returns the most similar nodes, best first, equal ones by id. The last ones may be more than `limit`, if equal. */
  nearest(limit: number): readonly SimilarNode[]
}

/** Vectors of nodes that a question's vector can be compared with. */
export interface ComparableVectors {
  /** The number of nodes with a vector. */
  readonly size: number
  /** Returns undefined for fewer than 10 nodes, and if all of them are equally similar. */
  compare(question: Int8Array): Similarities | undefined
}

/** The node vectors of an organisation. All have the same number of dimensions. */
export interface NodeVectors extends ComparableVectors {
  /** Estimated bytes of memory. */
  readonly bytes: number
  /** Adds or replaces a vector. @throws RangeError for other dimensions, for zeros, and if the memory is full */
  set(id: string, vector: Int8Array): void
  delete(id: string): void
  get(id: string): Int8Array | undefined
  /**
   * Returns the vectors of a branch or an earlier time, for one question. They are valid until a vector changes.
   *
   * @param changed the vectors of nodes that differ; undefined for a node without one
   * @param gone nodes that do not exist there
   */
  withOthers(changed: ReadonlyMap<string, Int8Array | undefined>, gone: Iterable<string>): ComparableVectors
  /** Removes all vectors and returns their memory. */
  free(): void
}

/** The fewest nodes whose mean and deviation say anything. */
export const FEWEST_NODES = 10

/** Similarities are integers in this unit. Sums of integers do not depend on the order of nodes. */
export const SIMILARITY_UNITS = 2 ** 20

/** The similarity of a node that does not count. */
const HIDDEN = -(2 ** 31)

/** Estimated bytes of a node's id and of its entry in the map. */
const ENTRY_BYTES = 200

export function createNodeVectors(dimensions: number): NodeVectors {
  const table = createTable(dimensions)
  const { ids, rows } = table
  return {
    get size() {
      return ids.length
    },
    get bytes() {
      return table.bytes() + ids.length * ENTRY_BYTES
    },
    set(id, vector) {
      checkVector(vector, dimensions)
      table.set(id, vector)
    },
    delete: table.delete,
    get(id) {
      const row = rows.get(id)
      return row === undefined ? undefined : table.bytesOf(row).slice(0, dimensions)
    },
    compare(question) {
      checkVector(question, dimensions)
      return ids.length === 0 ? undefined : summarise(ids, table.similarities(question, 0))
    },
    withOthers(changed, gone) {
      const hidden = new Set([...changed.keys(), ...gone])
      const others = [...changed].flatMap(([id, vector]) => (vector === undefined ? [] : [{ id, vector }]))
      for (const { vector } of others) checkVector(vector, dimensions)
      const hiddenRows = [...hidden].flatMap((id) => rows.get(id) ?? [])
      return {
        size: ids.length - hiddenRows.length + others.length,
        compare(question) {
          checkVector(question, dimensions)
          const found = table.similarities(question, others.length)
          for (const row of hiddenRows) found[row] = HIDDEN
          for (const [n, { vector }] of others.entries()) found[ids.length + n] = similarityOf(question, vector)
          return summarise([...ids, ...others.map(({ id }) => id)], found)
        },
      }
    },
    free: table.free,
  }
}

/** Stores vectors in blocks of the scanner's memory, in rows without gaps. */
function createTable(dimensions: number) {
  const width = widthOf(dimensions)
  const inBlock = Math.floor(BLOCK / width)
  const blocks: number[] = []
  const ids: string[] = []
  const rows = new Map<string, number>()
  let lengths = new Float64Array(0)
  const bytesOf = (row: number) => {
    const start = (row % inBlock) * width
    return bytesOfBlock(blocks[Math.floor(row / inBlock)] ?? 0).subarray(start, start + width)
  }
  const append = (id: string): number => {
    const row = ids.length
    if (row === blocks.length * inBlock) {
      blocks.push(takeBlock())
      lengths = enlarged(lengths, blocks.length * inBlock)
    }
    ids.push(id)
    rows.set(id, row)
    return row
  }
  return {
    ids,
    rows,
    bytesOf,
    bytes: () => blocks.length * BLOCK + lengths.byteLength,
    set(id: string, vector: Int8Array): void {
      const row = rows.get(id) ?? append(id)
      bytesOf(row).set(vector)
      lengths[row] = lengthOf(vector)
    },
    /** Moves the last row into the gap. */
    delete(id: string): void {
      const row = rows.get(id)
      if (row === undefined) return
      const last = ids.length - 1
      const lastId = ids[last] ?? ''
      bytesOf(row).set(bytesOf(last))
      lengths[row] = lengths[last] ?? 0
      ids[row] = lastId
      ids.pop()
      rows.set(lastId, row)
      rows.delete(id)
      if (last > (blocks.length - 1) * inBlock) return
      freeBlock(blocks.pop() ?? 0) // there is one
      lengths = lengths.slice(0, blocks.length * inBlock)
    },
    /** Returns the similarity of each row, and space for `more`. */
    similarities(question: Int8Array, more: number): Int32Array<ArrayBuffer> {
      const length = lengthOf(question)
      const products = dotProducts(question, blocks, width, ids.length)
      const found = new Int32Array(ids.length + more)
      // Iterators would take three times as long.
      for (let row = 0; row < products.length; row++)
        found[row] = inUnits(products[row] ?? 0, length, lengths[row] ?? 0)
      return found
    },
    free(): void {
      for (const block of blocks.splice(0)) freeBlock(block)
      ids.length = 0
      rows.clear()
      lengths = new Float64Array(0)
    },
  }
}

function enlarged(lengths: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(size)
  larger.set(lengths)
  return larger
}

function checkVector(vector: Int8Array, dimensions: number): void {
  if (vector.length !== dimensions)
    throw new RangeError(`A vector has ${vector.length} dimensions, but its model has ${dimensions}`)
  if (!vector.some((value) => value !== 0)) throw new RangeError('A vector has only zeros, so it has no direction')
}

function lengthOf(vector: Int8Array): number {
  return Math.sqrt(product(vector, vector))
}

function product(one: Int8Array, other: Int8Array): number {
  let sum = 0
  for (let n = 0; n < one.length; n++) sum += (one[n] ?? 0) * (other[n] ?? 0)
  return sum
}

/** Returns the cosine of two vectors, in units of 2^-20. */
export function similarityOf(question: Int8Array, vector: Int8Array): number {
  return inUnits(product(question, vector), lengthOf(question), lengthOf(vector))
}

function inUnits(dot: number, length: number, other: number): number {
  return Math.floor((dot / (length * other)) * SIMILARITY_UNITS + 0.5)
}

/** @param found the similarity of each node, or `HIDDEN` */
function summarise(ids: readonly string[], found: Int32Array): Similarities | undefined {
  const { count, mean, deviation } = distributionOf(found)
  if (count < FEWEST_NODES || deviation === 0) return undefined
  return {
    nearest(limit) {
      const heap = heapOfBest(limit)
      // The heap keeps numbers from 0, and similarities begin at -SIMILARITY_UNITS.
      for (let row = 0; row < found.length; row++) {
        const similarity = found[row] ?? HIDDEN
        if (similarity !== HIDDEN) heap.add(similarity + SIMILARITY_UNITS)
      }
      const least = count < limit ? -SIMILARITY_UNITS : heap.least() - SIMILARITY_UNITS
      const nodes: SimilarNode[] = []
      for (let row = 0; row < found.length; row++) {
        const similarity = found[row] ?? HIDDEN
        if (similarity !== HIDDEN && similarity >= least)
          nodes.push({ id: ids[row] ?? '', similarity, z: (similarity - mean) / deviation })
      }
      return nodes.sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
    },
  }
}

/** The number of similarities whose squares add up to less than 2^53. */
const EXACT = 4_096

/** Computes mean and deviation. All sums are exact, so that the order does not matter. */
function distributionOf(found: Int32Array): { count: number; mean: number; deviation: number } {
  let count = 0
  let sum = 0
  let squares = 0n
  for (let from = 0; from < found.length; from += EXACT) {
    let part = 0
    const end = Math.min(from + EXACT, found.length)
    for (let row = from; row < end; row++) {
      const similarity = found[row] ?? HIDDEN
      if (similarity === HIDDEN) continue
      count++
      sum += similarity
      part += similarity * similarity
    }
    squares += BigInt(part)
  }
  const spread = BigInt(count) * squares - BigInt(sum) ** 2n
  return { count, mean: sum / count, deviation: Math.sqrt(Number(spread)) / count }
}
