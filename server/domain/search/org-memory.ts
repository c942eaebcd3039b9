/**
 * The search thread keeps values of organisations, which follow from rows. They are indexes, tables, vectors and
 * verdicts. A value is loaded when a question needs it, reads changed rows in slices, and is dropped to make room.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createKeyedMutex } from '../../../gitstore/concurrency/keyed-mutex.ts'
import type { OrgState } from '../../../index/derived/changed-nodes.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import { createSlices, type Occasion, type RowCounts } from './slices.ts'

/** One kind of value. A key is the id of an organisation, or has it. `wanted` is the part that a question needs. */
interface Kind<Value, Wanted, Rows, State> {
  /** Runs `read` on one snapshot of the rows, synchronously. */
  readonly read: <T>(read: (rows: Rows) => T) => T
  /** Undefined: the organisation does not exist. Its value is dropped. */
  readonly stateOf: (rows: Rows, key: string, wanted: Wanted) => State | undefined
  /** True if a new value must be loaded. */
  readonly isStale: (value: Value, state: State) => boolean
  readonly load: (key: string, state: State, wanted: Wanted) => Value | Promise<Value>
  /** Reads changed rows for one slice. Calls `isOver` after each, and returns true if none are left. */
  readonly catchUp: (value: Value, rows: Rows, at: Slice<Wanted, State>) => boolean
  readonly sizeOf: (value: Value) => Size
  /** Runs after each slice, before others may ask for the value. */
  readonly stepped?: (key: string, value: Value, occasion: Occasion) => Promise<void>
  /** True if the value must stay in memory. */
  readonly isUsed?: (value: Value) => boolean
  readonly dropped?: (value: Value) => void
  /** Bounds the bytes of all values after each slice. Absent: the owner calls `makeRoom`. */
  readonly maxBytes?: number
}

interface Slice<Wanted, State> {
  readonly key: string
  readonly state: State
  readonly wanted: Wanted
  readonly isOver: () => boolean
}

interface Size {
  readonly documents: number
  /** Estimated bytes of memory. */
  readonly bytes: number
}

export interface Gauges extends Size {
  /** The number of values loaded so far. */
  readonly opened: number
  /** The rows of nodes read so far. */
  readonly rows: RowCounts
}

/** @param isWhole false: rows are left, and the question does not wait for them */
type Answer<Value, Rows, T> = (value: Value, rows: Rows, isWhole: boolean) => T

type Step<State, T> =
  | { readonly kind: 'missing' }
  /** Nothing in memory follows these rows. */
  | { readonly kind: 'stale'; readonly state: State }
  /** Some rows are read, and more are left. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'answered'; readonly answer: T }

interface Held<Value> {
  readonly value: Value
  /** The size of the last count. */
  size: Size
}

const nothing: Size = { documents: 0, bytes: 0 }
const always = () => true

/** The values of all organisations. Questions about one value are answered one after the other. */
export class OrgMemory<Value, Wanted, Rows = SearchRows, State = OrgState> {
  readonly #kind: Kind<Value, Wanted, Rows, State>
  readonly #maxBytes: number
  /** The least recently used first. */
  readonly #held = new Map<string, Held<Value>>()
  readonly #mutex = createKeyedMutex()
  readonly #slices = createSlices()
  #total = nothing
  #opened = 0

  constructor(kind: Kind<Value, Wanted, Rows, State>) {
    this.#kind = kind
    this.#maxBytes = kind.maxBytes ?? Number.POSITIVE_INFINITY
  }

  get(key: string): Value | undefined {
    return this.#held.get(key)?.value
  }

  gauges(): Gauges {
    return { ...this.#total, opened: this.#opened, rows: this.#slices.counts() }
  }

  /** Runs `work` while no question about the value is answered. */
  alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run([key], work)
  }

  /**
   * Calls `answer` within one snapshot, with a value that is up to date with it. Returns its result, or undefined if the
   * organisation does not exist. After an error, the next question continues with the same value.
   *
   * @param isPatient false: the question does not wait for the rows that are left
   * @throws errors of `answer` and of the kind
   */
  ask<T>(key: string, wanted: Wanted, answer: Answer<Value, Rows, T>, isPatient = always): Promise<T | undefined> {
    return this.alone(key, async () => {
      for (;;) {
        const step = this.#kind.read((rows) => this.#step(rows, key, wanted, 'query', answer, isPatient))
        if (step.kind === 'missing') return this.#drop(key)
        if (step.kind === 'stale') await this.#load(key, step.state, wanted)
        else await this.#endSlice(key, 'query')
        this.makeRoom(this.#maxBytes)
        if (step.kind === 'answered') return step.answer
        await nextTurn()
      }
    })
  }

  /** Calls `answer` within the caller's snapshot. Undefined if the value is behind by more than a slice. */
  within<T>(key: string, wanted: Wanted, rows: Rows, answer: Answer<Value, Rows, T>): T | undefined {
    const step = this.#step(rows, key, wanted, 'query', answer, always)
    return step.kind === 'answered' ? step.answer : undefined
  }

  /**
   * Reads changed rows for one slice, before a question does. Returns true if more are left.
   *
   * @param opens true: also loads a value. It is the first to be dropped until a question needs it
   */
  advance(key: string, wanted: Wanted, opens = false): Promise<boolean> {
    return this.alone(key, async () => {
      const held = this.#held.get(key)
      if (held === undefined && !opens) return false
      const step = this.#kind.read((rows) => this.#step(rows, key, wanted, 'ahead', () => undefined, always))
      if (step.kind === 'stale' && opens) {
        const others = [...this.#held]
        await this.#load(key, step.state, wanted)
        for (const [other] of others) if (other !== key) this.#touch(other)
        return true
      }
      if (step.kind === 'missing' || step.kind === 'stale') return false
      await this.#endSlice(key, 'ahead')
      this.makeRoom(this.#maxBytes, 1, opens ? undefined : key)
      return step.kind === 'behind' && this.#held.get(key) === held
    })
  }

  /**
   * Drops values, the least recently used first, until the rest fits or `least` are left. Skips those in use.
   *
   * @param idle may be dropped, although its slice has not ended
   */
  makeRoom(maxBytes: number, least = 1, idle?: string): void {
    for (const [key, { value }] of this.#held) {
      if (this.#total.bytes <= maxBytes || this.#held.size <= least) return
      if (!this.#kind.isUsed?.(value) && (key === idle || !this.#mutex.isBusy(key))) this.#drop(key)
    }
  }

  #step<T>(
    rows: Rows,
    key: string,
    wanted: Wanted,
    occasion: Occasion,
    answer: Answer<Value, Rows, T>,
    isPatient: () => boolean,
  ): Step<State, T> {
    const state = this.#kind.stateOf(rows, key, wanted)
    if (state === undefined) return { kind: 'missing' }
    const held = this.#held.get(key)
    if (held === undefined || this.#kind.isStale(held.value, state)) return { kind: 'stale', state }
    const isWhole = this.#kind.catchUp(held.value, rows, { key, state, wanted, isOver: this.#slices.begin(occasion) })
    this.#count(held, this.#kind.sizeOf(held.value))
    if (!isWhole && isPatient()) return { kind: 'behind' }
    return { kind: 'answered', answer: answer(held.value, rows, isWhole) }
  }

  async #load(key: string, state: State, wanted: Wanted): Promise<void> {
    const held = { value: await this.#kind.load(key, state, wanted), size: nothing }
    this.#drop(key)
    this.#held.set(key, held)
    this.#count(held, this.#kind.sizeOf(held.value))
    this.#opened++
  }

  /** A question makes its value the most recently used one. */
  async #endSlice(key: string, occasion: Occasion): Promise<void> {
    const held = this.#held.get(key)
    if (held === undefined) return
    await this.#kind.stepped?.(key, held.value, occasion)
    this.#count(held, this.#kind.sizeOf(held.value))
    if (occasion === 'query') this.#touch(key)
  }

  #touch(key: string): void {
    const held = this.#held.get(key)
    if (held && this.#held.delete(key)) this.#held.set(key, held)
  }

  #drop(key: string): undefined {
    const held = this.#held.get(key)
    if (held === undefined) return
    this.#held.delete(key)
    this.#count(held, nothing)
    this.#kind.dropped?.(held.value)
  }

  #count(held: Held<Value>, size: Size): void {
    const { documents, bytes } = this.#total
    this.#total = {
      documents: documents - held.size.documents + size.documents,
      bytes: bytes - held.size.bytes + size.bytes,
    }
    held.size = size
  }
}
