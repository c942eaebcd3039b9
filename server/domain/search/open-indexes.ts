/**
 * The indexes that the search thread holds. It loads them from files, updates them from rows, seals and merges their
 * segments, and drops indexes to make room.
 */
import { join } from 'node:path'
import type { OrgState } from '../../../index/derived/changed-nodes.ts'
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
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import { ANALYZER_VERSION } from '../../../index/search/text/analyzer.ts'
import type { LanguageOf } from '../../../index/search/text/languages.ts'
import type { RowReader } from './ahead.ts'
import { type Gauges, OrgMemory } from './org-memory.ts'
import { markUsed, type Range, readSegments, writeSegments } from './segment-files.ts'
import { inSlices } from './slices.ts'

interface OpenIndex {
  readonly index: OrgIndex
  /** The ranges of its segments. */
  ranges: readonly Range[]
  isMerging: boolean
  /** True after its first query. */
  isAsked: boolean
}

export interface OpenIndexes extends RowReader {
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
  const files = createIndexFiles(snapshots, folder, report)
  const memory: OrgMemory<OpenIndex, void> = new OrgMemory({
    read: snapshots.read,
    stateOf: (rows, orgId) => rows.orgState(orgId),
    isStale: ({ index }, { epoch, version }) => index.epoch !== epoch || index.nodes > version,
    load: files.load,
    catchUp: ({ index }, rows, { key, state, isOver }) =>
      applyChanges(index, rows, key, state, languageOf, () => isOver() || isLarge(index)),
    sizeOf: ({ index }) => ({ documents: documentCount(index.texts), bytes: memoryOfIndex(index) }),
    stepped: async (orgId, one, occasion) => {
      if (isLarge(one.index)) await seal(orgId, one)
      if (occasion === 'ahead') return
      if (!one.isAsked) await markUsed(join(folder, orgId))
      one.isAsked = true
    },
    maxBytes: memoryBytes,
  })
  const seal = (orgId: string, one: OpenIndex) => files.sealAndTidy(orgId, one, () => memory.get(orgId) === one)

  return {
    ask: (orgId, answer, isPatient) =>
      memory.ask(
        orgId,
        undefined,
        ({ index }, rows, isWhole) => answer(index, rows, isWhole ? 0 : rows.countChanged(orgId, index.nodes)),
        isPatient,
      ),
    seal: async (orgId) => {
      const known = memory.get(orgId)
      if (known && hasMany(known)) await memory.alone(orgId, () => seal(orgId, known))
    },
    stateOf: (orgId) => {
      const index = memory.get(orgId)?.index
      return index && { epoch: index.epoch, version: Math.min(index.nodes, index.tombstones) }
    },
    advance: (orgId, opens) => memory.advance(orgId, undefined, opens),
    gauges: () => memory.gauges(),
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
      return { index, ranges: stored.map(({ from, to }) => ({ from, to })), isMerging: false, isAsked: false }
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

/** True if the documents that are in no file are worth one. */
function hasMany({ index }: OpenIndex): boolean {
  return index.texts.live.documents.size >= fewestPrepared
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
