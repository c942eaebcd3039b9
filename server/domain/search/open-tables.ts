/**
 * The tables of properties that the search thread holds. They are made from the rows of nodes when a question names a
 * property first, and follow the changes. Nothing of them is on disk.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createKeyedMutex } from '../../../gitstore/concurrency/keyed-mutex.ts'
import type { Column } from '../../../index/properties/column.ts'
import type { Subject } from '../../../index/properties/filter.ts'
import { toMatched } from '../../../index/properties/query.ts'
import { PropertyTable } from '../../../index/properties/table.ts'
import type { Snapshots } from '../../../index/search/segments/read-snapshots.ts'
import type { OrgState, SearchRows } from '../../../index/search/segments/rows.ts'
import type { Follower } from './ahead.ts'
import { createSlices, type RowCounts } from './slices.ts'

export interface OpenTables extends Follower {
  /**
   * Calls `answer` within one snapshot, with a table that is up to date with it. So are its columns of these subjects.
   * Returns the result, or undefined if the organisation does not exist.
   */
  ask<T>(
    orgId: string,
    subjects: readonly Subject[],
    answer: (table: PropertyTable, rows: SearchRows) => T,
  ): Promise<T | undefined>
  /**
   * Calls `answer` within the caller's snapshot. Undefined if the table is behind by more than a slice: call `ask`, and
   * try again.
   */
  within<T>(
    orgId: string,
    subjects: readonly Subject[],
    rows: SearchRows,
    answer: (table: PropertyTable) => T,
  ): T | undefined
  /** Drops tables, the least recently used first, until the rest fits or one is left. */
  makeRoom(maxBytes: number): void
  /** Estimates the memory in bytes. */
  readonly bytes: () => number
  /** The rows of nodes read so far. */
  readonly rows: () => RowCounts
}

/** Opens the tables of all organisations. */
export function openTables(snapshots: Snapshots): OpenTables {
  /** The least recently used first. */
  const open = new Map<string, PropertyTable>()
  /** Questions of one organisation are answered one after the other. */
  const mutex = createKeyedMutex()
  const slices = createSlices()

  const keep = (orgId: string, table: PropertyTable) => {
    open.delete(orgId)
    open.set(orgId, table)
  }

  const answerNow = async <T>(
    orgId: string,
    subjects: readonly Subject[],
    answer: (table: PropertyTable, rows: SearchRows) => T,
  ): Promise<T | undefined> => {
    for (;;) {
      const known = open.get(orgId)
      const step = snapshots.read((rows) => stepOf(known, rows, orgId, subjects, slices.begin('query'), answer))
      if (step.kind === 'missing') {
        open.delete(orgId)
        return undefined
      }
      if (step.kind === 'stale') keep(orgId, new PropertyTable(step.epoch))
      else if (known !== undefined) keep(orgId, known)
      if (step.kind === 'answered') return step.answer
      await nextTurn()
    }
  }

  const advanceNow = async (orgId: string) => {
    const table = open.get(orgId)
    if (table === undefined) return false
    return snapshots.read((rows) => {
      const state = rows.orgState(orgId)
      // Only a question replaces a table.
      if (state === undefined || isStale(table, state)) return false
      return !catchUp(table, table.heldColumns(), rows, orgId, state, slices.begin('ahead'))
    })
  }

  const bytes = () => [...open.values()].reduce((sum, table) => sum + table.bytes, 0)
  return {
    ask: (orgId, subjects, answer) => mutex.run([orgId], () => answerNow(orgId, subjects, answer)),
    within: (orgId, subjects, rows, answer) => {
      const step = stepOf(open.get(orgId), rows, orgId, subjects, slices.begin('query'), answer)
      return step.kind === 'answered' ? step.answer : undefined
    },
    stateOf: (orgId) => {
      const table = open.get(orgId)
      return table && { epoch: table.epoch, version: Math.min(table.tombstones, versionOf(table, table.heldColumns())) }
    },
    advance: (orgId) => mutex.run([orgId], () => advanceNow(orgId)),
    bytes,
    rows: slices.counts,
    makeRoom: (maxBytes) => {
      let total = bytes()
      for (const [orgId, table] of open) {
        if (total <= maxBytes || open.size === 1) return
        if (mutex.isBusy(orgId)) continue
        total -= table.bytes
        open.delete(orgId)
      }
    },
  }
}

type Step<T> =
  | { readonly kind: 'missing' }
  /** No table of this epoch is in memory. */
  | { readonly kind: 'stale'; readonly epoch: string }
  /** Some rows are read, and more are left. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'answered'; readonly answer: T }

function stepOf<T>(
  table: PropertyTable | undefined,
  rows: SearchRows,
  orgId: string,
  subjects: readonly Subject[],
  isSliceOver: () => boolean,
  answer: (table: PropertyTable, rows: SearchRows) => T,
): Step<T> {
  const state = rows.orgState(orgId)
  if (state === undefined) return { kind: 'missing' }
  if (table === undefined || isStale(table, state)) return { kind: 'stale', epoch: state.epoch }
  const columns = table.columnsOf(subjects)
  return catchUp(table, columns, rows, orgId, state, isSliceOver)
    ? { kind: 'answered', answer: answer(table, rows) }
    : { kind: 'behind' }
}

/** True if the table must be replaced. */
function isStale(table: PropertyTable, state: OrgState): boolean {
  return table.epoch !== state.epoch || table.version > state.version || table.isWasteful
}

/** Returns the version up to which the table and these columns have all changes. */
function versionOf(table: PropertyTable, columns: readonly Column[]): number {
  return Math.min(table.version, ...columns.map((column) => column.version))
}

/** Returns false when a slice is over and rows are left. */
function catchUp(
  table: PropertyTable,
  columns: readonly Column[],
  rows: SearchRows,
  orgId: string,
  { version }: OrgState,
  isSliceOver: () => boolean,
): boolean {
  const from = versionOf(table, columns)
  if (from === version && table.tombstones === version) return true
  for (const row of rows.propertiesAfter(orgId, from)) {
    table.set(toMatched(row), row.changed, columns)
    if (isSliceOver()) return false
  }
  for (const { node_id } of rows.tombstonesAfter(orgId, table.tombstones)) table.remove(node_id)
  table.version = version
  table.tombstones = version
  for (const column of columns) column.settle(version)
  return true
}
