/**
 * The indexes that the search thread holds. It loads them from files, updates them from rows, seals and merges their
 * segments, and drops indexes to make room.
 */
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createKeyedMutex } from '../../../gitstore/concurrency/keyed-mutex.ts'
import { documentCount, liveCountOf } from '../../../index/search/segments/corpus.ts'
import {
  addSegments,
  applyChanges,
  createOrgIndex,
  flushIndex,
  isLarge,
  memoryOfIndex,
  mergeSegments,
  type OrgIndex,
  type SegmentPair,
} from '../../../index/search/segments/org-index.ts'
import type { Snapshots } from '../../../index/search/segments/read-snapshots.ts'
import type { OrgState, SearchRows } from '../../../index/search/segments/rows.ts'
import { ANALYZER_VERSION } from '../../../index/search/text/analyzer.ts'
import type { LanguageOf } from '../../../index/search/text/languages.ts'
import type { Follower } from './ahead.ts'
import { markUsed, type Range, readSegments, writeSegments } from './segment-files.ts'
import { createSlices, type Occasion, type RowCounts, sliceMs } from './slices.ts'

interface OpenIndex {
  readonly index: OrgIndex
  /** The ranges of its segments. */
  ranges: readonly Range[]
  isMerging: boolean
  /** True after its first query. */
  isAsked: boolean
  /** Its documents and bytes, as last counted. */
  held: Held
}

type Held = Omit<Gauges, 'opened' | 'rows'>

const nothing: Held = { documents: 0, bytes: 0 }

export interface OpenIndexes extends Follower {
  /**
   * Calls `answer` within one snapshot, with an index that is up to date with it. Returns its result, or undefined if
   * the organisation does not exist.
   *
   * @param isPatient false: answers from what is indexed; `unindexed` then counts the changed nodes that are left
   */
  ask<T>(orgId: string, answer: Answer<T>, isPatient?: () => boolean): Promise<T | undefined>
  /** @param opens true: also opens an index. It is the first to be dropped until it is queried */
  advance(orgId: string, opens?: boolean): Promise<boolean>
  /** Writes an index to files, if it has many documents that are not in one. */
  seal(orgId: string): Promise<void>
  readonly gauges: () => Gauges
}

type Answer<T> = (index: OrgIndex, rows: SearchRows, unindexed: number) => T

export interface Gauges {
  /** Nodes in the indexes. */
  readonly documents: number
  /** Estimated bytes of memory. */
  readonly bytes: number
  /** The number of indexes opened so far. */
  readonly opened: number
  /** The rows of nodes read so far. */
  readonly rows: RowCounts
}

/** The largest ratio of documents at which a segment is merged with the next one. */
const tidyFactor = 3

/** Milliseconds for which one organisation is prepared. Then the next one has its turn. */
const turnMs = 5_000
/** The fewest changes for which an index is prepared. A query reads fewer of them at once. */
export const fewestPrepared = 100

/**
 * Opens the indexes of all organisations.
 *
 * @param folder has the segments of all organisations
 * @param report is called with the errors of files that could not be read or written
 */
export function openIndexes(
  snapshots: Snapshots,
  folder: string,
  memoryBytes: number,
  languageOf: LanguageOf,
  report: (error: unknown) => void,
): OpenIndexes {
  const held = createHeldIndexes()
  const files = createIndexFiles(snapshots, folder, report)
  /** Queries of one organisation are answered one after the other. */
  const mutex = createKeyedMutex()
  const slices = createSlices()
  let opened = 0

  const ask: OpenIndexes['ask'] = (orgId, answer, isPatient = () => true) =>
    mutex.run([orgId], () => answerNow(orgId, answer, isPatient))

  const stepNow = <T>(orgId: string, occasion: Occasion, answer: Answer<T>, isPatient = () => true) => {
    const known = held.get(orgId)
    const isOver = slices.begin(occasion)
    return snapshots.read((rows) => stepOf(known, rows, languageOf, orgId, isOver, answer, isPatient))
  }

  const answerNow = async <T>(orgId: string, answer: Answer<T>, isPatient: () => boolean) => {
    for (;;) {
      const known = held.get(orgId)
      const step = stepNow(orgId, 'query', answer, isPatient)
      if (step.kind === 'missing') {
        held.drop(orgId)
        return undefined
      }
      if (step.kind === 'stale') {
        held.keep(orgId, await files.load(orgId, step.state))
        opened++
      } else if (known) {
        if (isLarge(known.index)) await seal(orgId, known)
        held.keep(orgId, known)
        if (!known.isAsked) await markUsed(join(folder, orgId))
        known.isAsked = true
      }
      held.makeRoom(memoryBytes, (id) => id === orgId || mutex.isBusy(id))
      if (step.kind === 'answered') return step.answer
      await nextTurn()
    }
  }

  const seal = (orgId: string, one: OpenIndex) => files.sealAndTidy(orgId, one, () => held.get(orgId) === one)

  const advanceNow = async (orgId: string, opens: boolean) => {
    const known = held.get(orgId)
    if (known === undefined && !opens) return false
    const step = stepNow(orgId, 'ahead', () => undefined)
    if (step.kind === 'missing') return false
    if (step.kind === 'stale' && opens) {
      held.keepLast(orgId, await files.load(orgId, step.state))
      opened++
      return true
    }
    if (step.kind === 'stale' || known === undefined) return false
    if (isLarge(known.index)) await seal(orgId, known)
    held.recount(orgId)
    held.makeRoom(memoryBytes, (id) => (id !== orgId || opens) && mutex.isBusy(id))
    return step.kind === 'behind' && held.get(orgId) === known
  }

  return {
    ask,
    seal: async (orgId) => {
      const known = held.get(orgId)
      if (known && hasMany(known)) await mutex.run([orgId], () => seal(orgId, known))
    },
    stateOf: (orgId) => {
      const index = held.get(orgId)?.index
      return index && { epoch: index.epoch, version: Math.min(index.nodes, index.tombstones) }
    },
    advance: (orgId, opens = false) => mutex.run([orgId], () => advanceNow(orgId, opens)),
    gauges: () => ({ ...held.total(), opened, rows: slices.counts() }),
  }
}

/**
 * Opens and updates an index for some seconds, and writes it to files. Returns true if more changes are left.
 *
 * @param rest is awaited after each slice
 */
export async function prepareIndex(indexes: OpenIndexes, orgId: string, rest: () => Promise<unknown>) {
  let isLeft = true
  for (const endsAt = performance.now() + turnMs; isLeft && performance.now() < endsAt; await rest())
    isLeft = await indexes.advance(orgId, true)
  await indexes.seal(orgId)
  return isLeft
}

/** Indexes in memory, the least recently used first, with their total size. */
function createHeldIndexes() {
  const open = new Map<string, OpenIndex>()
  let total = nothing

  const count = (one: OpenIndex) => {
    const before = one.held
    one.held = heldBy(one.index)
    total = {
      documents: total.documents - before.documents + one.held.documents,
      bytes: total.bytes - before.bytes + one.held.bytes,
    }
  }
  const drop = (orgId: string) => {
    const { documents, bytes } = open.get(orgId)?.held ?? nothing
    total = { documents: total.documents - documents, bytes: total.bytes - bytes }
    open.delete(orgId)
  }

  return {
    get: (orgId: string) => open.get(orgId),
    drop,
    /** Makes it the most recently used index, replaces an earlier one, and counts it again. */
    keep: (orgId: string, one: OpenIndex) => {
      drop(orgId)
      one.held = nothing
      count(one)
      open.set(orgId, one)
    },
    /** Makes it the least recently used index. */
    keepLast: (orgId: string, one: OpenIndex) => {
      drop(orgId)
      const others = [...open]
      open.clear()
      for (const [id, each] of [[orgId, one] as const, ...others]) open.set(id, each)
      count(one)
    },
    /** Counts it again, where it is in the order. */
    recount: (orgId: string) => {
      const one = open.get(orgId)
      if (one) count(one)
    },
    /**
     * Drops the least recently used indexes until the rest fits or one is left. Their rows stay, so they can be loaded
     * again.
     */
    makeRoom: (maxBytes: number, isUsed: (orgId: string) => boolean) => {
      for (const id of open.keys()) {
        if (total.bytes <= maxBytes || open.size === 1) return
        if (!isUsed(id)) drop(id)
      }
    },
    total: () => total,
  }
}

/** Loads indexes from segment files, and writes sealed and merged segments. */
function createIndexFiles(snapshots: Snapshots, folder: string, report: (error: unknown) => void) {
  /** Writes a segment file. Syncs the rows first: a file must not outlive the versions in its name. */
  const write = async (orgId: string, { index }: OpenIndex, segments: SegmentPair, range: Range) => {
    const origin = { analyzer: ANALYZER_VERSION, epoch: index.epoch, ...range }
    try {
      await snapshots.sync()
      await writeSegments(join(folder, orgId), segments, origin)
    } catch (error) {
      report(error)
    }
  }

  /** Merges segments between the queries. */
  const tidy = async (orgId: string, one: OpenIndex, isHeld: () => boolean): Promise<void> => {
    one.isMerging = true
    try {
      for (let from = firstToMerge(one); from !== undefined; from = firstToMerge(one)) {
        const { frozen } = one.index.texts
        const merged = await inSlices(mergeSegments(one.index, from), isHeld)
        if (merged === undefined) return
        const range = { from: one.ranges[from]?.from ?? 0, to: one.ranges[frozen.length - 1]?.to ?? 0 }
        one.ranges = [...one.ranges.slice(0, from), range, ...one.ranges.slice(frozen.length)]
        await write(orgId, one, merged, range)
      }
    } finally {
      one.isMerging = false
    }
  }

  return {
    load: async (orgId: string, { epoch, version }: OrgState): Promise<OpenIndex> => {
      const index = createOrgIndex(epoch)
      const wanted = { analyzer: ANALYZER_VERSION, epoch }
      const stored = await readSegments(join(folder, orgId), wanted, version).catch((error: unknown) => {
        report(error)
        return []
      })
      for (const { segments, to } of stored) {
        addSegments(index, segments)
        index.nodes = to
      }
      return {
        index,
        ranges: stored.map(({ from, to }) => ({ from, to })),
        isMerging: false,
        isAsked: false,
        held: nothing,
      }
    },
    /**
     * Seals the newest documents as a segment, and starts a merge.
     *
     * @param isHeld false if the index was dropped: a merge then stops
     */
    sealAndTidy: async (orgId: string, one: OpenIndex, isHeld: () => boolean): Promise<void> => {
      const range = { from: one.ranges.at(-1)?.to ?? 0, to: one.index.nodes }
      const sealed = flushIndex(one.index)
      one.ranges = [...one.ranges, range]
      await write(orgId, one, sealed, range)
      if (!one.isMerging) void tidy(orgId, one, isHeld)
    },
  }
}

/** Runs the work with turns of the event loop in between. Returns undefined once it is no longer wanted. */
export async function inSlices<T>(
  work: Generator<undefined, T, undefined>,
  isWanted: () => boolean = () => true,
): Promise<T | undefined> {
  let step = work.next()
  for (let since = performance.now(); !step.done; step = work.next()) {
    if (performance.now() - since < sliceMs) continue
    await nextTurn()
    if (!isWanted()) return undefined
    since = performance.now()
  }
  return step.value
}

/** True if the documents that are in no file are worth one. */
function hasMany({ index }: OpenIndex): boolean {
  return index.texts.live.documents.size >= fewestPrepared
}

function heldBy(index: OrgIndex): Held {
  return { documents: documentCount(index.texts), bytes: memoryOfIndex(index) }
}

type Step<T> =
  | { readonly kind: 'missing' }
  /** No index of this epoch is in memory. */
  | { readonly kind: 'stale'; readonly state: OrgState }
  /** Some rows are read, and more are left. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'answered'; readonly answer: T }

function stepOf<T>(
  open: OpenIndex | undefined,
  rows: SearchRows,
  languageOf: LanguageOf,
  orgId: string,
  isSliceOver: () => boolean,
  answer: Answer<T>,
  isPatient: () => boolean,
): Step<T> {
  const state = rows.orgState(orgId)
  if (state === undefined) return { kind: 'missing' }
  if (open?.index.epoch !== state.epoch || open.index.nodes > state.version) return { kind: 'stale', state }
  const isOver = () => isSliceOver() || isLarge(open.index)
  const isWhole = applyChanges(open.index, rows, orgId, state, languageOf, isOver)
  if (!isWhole && isPatient()) return { kind: 'behind' }
  const unindexed = isWhole ? 0 : rows.countChanged(orgId, open.index.nodes)
  return { kind: 'answered', answer: answer(open.index, rows, unindexed) }
}

/** The number of the segment to merge with all that follow; undefined: nothing to merge. */
function firstToMerge({ index }: OpenIndex): number | undefined {
  const { frozen } = index.texts
  const sizes = frozen.map(liveCountOf)
  let from = frozen.length - 1
  let size = sizes[from] ?? 0
  for (; from > 0 && (sizes[from - 1] ?? 0) <= tidyFactor * size; from--) size += sizes[from - 1] ?? 0
  return from < frozen.length - 1 ? Math.max(from, 0) : undefined
}
