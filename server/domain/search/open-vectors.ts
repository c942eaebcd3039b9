/**
 * The vectors of nodes that the search thread holds. They follow the rows of `vectors.sqlite`, and are dropped to make
 * room.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createKeyedMutex } from '../../../gitstore/concurrency/keyed-mutex.ts'
import { createNodeVectors, type NodeVectors } from '../../../index/search/meaning/node-vectors.ts'
import type { StoredModel, VectorRows } from '../../../index/vectors/read-rows.ts'

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
}

/** Rows that are read in one turn of the event loop. */
const rowsATurn = 1_000

/** @param report is called if the memory for vectors is full. Searches of that organisation are then by words */
export function openVectors(rows: VectorRows, report: (error: unknown) => void): OpenVectors {
  /** The least recently used first. */
  const open = new Map<string, Held>()
  /** The vectors of one organisation are read by one question at a time. */
  const mutex = createKeyedMutex()

  const drop = (orgId: string) => {
    open.get(orgId)?.vectors.free()
    open.delete(orgId)
  }

  const update = async (orgId: string, modelId: string): Promise<Held | undefined> => {
    const model = rows.modelOf(modelId)
    const state = model && rows.stateOf(orgId, model.number)
    const known = open.get(orgId)
    if (model === undefined || state === undefined || model.dimensions === 0) {
      if (known?.users === 0) drop(orgId)
      return undefined
    }
    const isKnown = known?.modelId === modelId && known.incarnation === state.incarnation
    // Questions that still use it free it.
    if (!isKnown && known?.users === 0) known.vectors.free()
    const held = isKnown ? known : newHeld(modelId, model, state.incarnation)
    open.delete(orgId)
    open.set(orgId, held)
    try {
      await readChanges(rows, orgId, held)
    } catch (error) {
      if (held.users === 0) drop(orgId)
      if (!(error instanceof RangeError)) throw error
      report(error)
      return undefined
    }
    return held
  }

  return {
    during: async (orgId, modelId, work) => {
      const held = await mutex.run([orgId], async () => {
        const updated = await update(orgId, modelId)
        if (updated) updated.users++
        return updated
      })
      if (held === undefined) return work(undefined)
      try {
        const { model, dimensions, vectors, empty } = held
        return await work({ model, dimensions, vectors, settled: vectors.size + empty.size })
      } finally {
        held.users--
        if (held.users === 0 && open.get(orgId) !== held) held.vectors.free()
      }
    },
    makeRoom: (maxBytes) => {
      let total = bytesOf(open.values())
      for (const [orgId, { users, vectors }] of open) {
        if (total <= maxBytes) return
        if (users > 0 || mutex.isBusy(orgId)) continue
        total -= vectors.bytes
        drop(orgId)
      }
    },
    bytes: () => bytesOf(open.values()),
  }
}

function newHeld(modelId: string, { number, dimensions }: StoredModel, incarnation: string): Held {
  const vectors = createNodeVectors(dimensions)
  return { modelId, model: number, dimensions, incarnation, vectors, empty: new Set(), seq: 0, users: 0 }
}

function bytesOf(held: Iterable<Held>): number {
  let sum = 0
  for (const { vectors } of held) sum += vectors.bytes
  return sum
}

/** Reads the rows that have changed, in slices. @throws DatabaseError; RangeError if the memory is full */
async function readChanges(rows: VectorRows, orgId: string, held: Held): Promise<void> {
  const { model, vectors, empty } = held
  for (;;) {
    const changed = rows.nodesSince(orgId, model, held.seq, rowsATurn)
    for (const { id, seq, isGone, vector } of changed) {
      const hasVector = !isGone && vector.length > 0
      if (hasVector) vectors.set(id, vector)
      else vectors.delete(id)
      if (hasVector || isGone) empty.delete(id)
      else empty.add(id)
      held.seq = seq
    }
    if (changed.length < rowsATurn) return
    await nextTurn()
  }
}
