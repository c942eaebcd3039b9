/**
 * The tables of properties that the search thread holds. They are made from the rows of nodes when a question names a
 * property first, and follow the changes. Nothing of them is on disk.
 */

import type { OrgState } from '../../../index/derived/changed-nodes.ts'
import type { Column } from '../../../index/properties/column.ts'
import type { Subject } from '../../../index/properties/filter.ts'
import { toMatched } from '../../../index/properties/query.ts'
import { PropertyTable } from '../../../index/properties/table.ts'
import type { Snapshots } from '../../../index/search/segments/read-snapshots.ts'
import type { SearchRows } from '../../../index/search/segments/rows.ts'
import type { RowReader } from './ahead.ts'
import { type Gauges, OrgMemory } from './org-memory.ts'

export interface OpenTables extends RowReader {
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
  readonly gauges: () => Gauges
}

/** Opens the tables of all organisations. */
export function openTables(snapshots: Snapshots): OpenTables {
  const memory: OrgMemory<PropertyTable, ColumnsOf> = new OrgMemory({
    read: snapshots.read,
    stateOf: (rows, orgId) => rows.orgState(orgId),
    isStale,
    load: (_, { epoch }) => new PropertyTable(epoch),
    catchUp: (table, rows, { key, state, wanted, isOver }) => catchUp(table, wanted(table), rows, key, state, isOver),
    sizeOf: ({ size, bytes }) => ({ documents: size, bytes }),
  })
  return {
    ask: (orgId, subjects, answer) => memory.ask(orgId, (table) => table.columnsOf(subjects), answer),
    within: (orgId, subjects, rows, answer) => memory.within(orgId, (table) => table.columnsOf(subjects), rows, answer),
    stateOf: (orgId) => {
      const table = memory.get(orgId)
      return table && { epoch: table.epoch, version: Math.min(table.tombstones, versionOf(table, table.heldColumns())) }
    },
    advance: (orgId) => memory.advance(orgId, (table) => table.heldColumns()),
    makeRoom: (maxBytes) => memory.makeRoom(maxBytes),
    gauges: () => memory.gauges(),
  }
}

/** The columns that a question needs. */
type ColumnsOf = (table: PropertyTable) => readonly Column[]

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
