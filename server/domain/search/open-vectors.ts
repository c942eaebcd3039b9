/**
 * The vectors of nodes that the search thread holds. They follow the rows of `vectors.sqlite`, and are dropped to make
 * room.
 */
import { createNodeVectors, type NodeVectors } from '../../../index/search/meaning/node-vectors.ts'
import type { StoredModel, VectorRows } from '../../../index/vectors/read-rows.ts'
import { OrgMemory } from './org-memory.ts'

/** The vectors of one organisation and model. */
export interface OrgVectors {
  /** The model's number in the rows. */
  readonly model: number
  readonly dimensions: number
  readonly vectors: NodeVectors
  /** The number of nodes whose texts were embedded, also those without a vector. */
  readonly settled: number
}

export interface OpenVectors {
  /**
   * Runs `work` with vectors that are up to date with the rows. They are kept until it ends. Undefined if the
   * organisation has none of this model.
   *
   * @throws DatabaseError, and errors of `work`
   */
  during<T>(orgId: string, modelId: string, work: (held: OrgVectors | undefined) => Promise<T>): Promise<T>
  /** Drops vectors, the least recently used first, until the rest fits or is in use. */
  makeRoom(maxBytes: number): void
  /** Estimates the memory in bytes. */
  readonly bytes: () => number
}

interface Held {
  readonly modelId: string
  readonly model: number
  readonly dimensions: number
  readonly incarnation: string
  readonly vectors: NodeVectors
  /** Nodes without a vector. */
  readonly empty: Set<string>
  seq: number
  users: number
  /** True if the memory was full when rows were last read. */
  isFull: boolean
}

/** Rows that are read in one turn of the event loop. */
const rowsATurn = 1_000

/** @param report is called if the memory for vectors is full. Searches of that organisation are then by words */
export function openVectors(rows: VectorRows, report: (error: unknown) => void): OpenVectors {
  const memory: OrgMemory<Held, string, VectorRows, RowState> = new OrgMemory({
    read: (read) => read(rows),
    stateOf: (_, orgId, modelId) => {
      const model = rows.modelOf(modelId)
      const state = model && rows.stateOf(orgId, model.number)
      return model && state && model.dimensions > 0 ? { ...model, modelId, incarnation: state.incarnation } : undefined
    },
    isStale: (held, { modelId, incarnation }) =>
      held.modelId !== modelId || held.incarnation !== incarnation || (held.isFull && held.users === 0),
    load: (_, state) => newHeld(state),
    catchUp: (held, _, { key }) => {
      try {
        held.isFull = false
        return readChanges(rows, key, held)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        report(error)
        held.isFull = true
        freeUnused(held)
        return true
      }
    },
    sizeOf: ({ vectors: { size, bytes } }) => ({ documents: size, bytes }),
    isUsed: ({ users }) => users > 0,
    // Questions that still use it free it.
    dropped: freeUnused,
  })

  return {
    during: async (orgId, modelId, work) => {
      const held = await memory.ask(orgId, modelId, (one) => {
        if (one.isFull) return undefined
        one.users++
        return one
      })
      if (held === undefined) return work(undefined)
      try {
        const { model, dimensions, vectors, empty } = held
        return await work({ model, dimensions, vectors, settled: vectors.size + empty.size })
      } finally {
        held.users--
        if (memory.get(orgId) !== held) freeUnused(held)
      }
    },
    makeRoom: (maxBytes) => memory.makeRoom(maxBytes, 0),
    bytes: () => memory.gauges().bytes,
  }
}

/** The rows that vectors follow. */
interface RowState extends StoredModel {
  readonly modelId: string
  readonly incarnation: string
}

function newHeld({ modelId, number, dimensions, incarnation }: RowState): Held {
  const vectors = createNodeVectors(dimensions)
  const read = { empty: new Set<string>(), seq: 0, users: 0, isFull: false }
  return { modelId, model: number, dimensions, incarnation, vectors, ...read }
}

function freeUnused({ users, vectors }: Held): void {
  if (users === 0) vectors.free()
}

/** Reads the rows of one turn that have changed. Returns true if none are left. @throws DatabaseError; RangeError */
function readChanges(rows: VectorRows, orgId: string, held: Held): boolean {
  const { model, vectors, empty } = held
  const changed = rows.nodesSince(orgId, model, held.seq, rowsATurn)
  for (const { id, seq, isGone, vector } of changed) {
    const hasVector = !isGone && vector.length > 0
    if (hasVector) vectors.set(id, vector)
    else vectors.delete(id)
    if (hasVector || isGone) empty.delete(id)
    else empty.add(id)
    held.seq = seq
  }
  return changed.length < rowsATurn
}
