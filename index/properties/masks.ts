/** Evaluates a filter on all rows of a table. */

import type { Condition, Filter, Subject } from './filter.ts'
import { conditionsOf } from './filter.ts'
import { textsOf } from './matching.ts'
import type { PropertyTable } from './table.ts'
import { valueTestOf } from './value-tests.ts'
import { scalarOf } from './values.ts'

/** Reads the edges of the organisation. */
export interface EdgeRows {
  /** Lists the children of a node. */
  childrenOf(parentId: string): Iterable<string>
  /** Lists a node and its descendants. */
  under(ancestorId: string): Iterable<string>
  /** Lists the nodes with a connection of the type. @param targetId only those to this node */
  connected(type: string, targetId?: string): Iterable<string>
}

/** Lists the subjects of a filter that need columns. */
export function columnSubjects(filter: Filter): Subject[] {
  return conditionsOf(filter).filter((condition) => edgeIds(condition) === undefined && !isId(condition))
}

/** Marks the rows that match: 1, and others 0. A free row never matches. */
export function maskOf(table: PropertyTable, filter: Filter, edges: EdgeRows): Uint8Array {
  const live = table.live()
  const mask = evaluate(table, filter, edges)
  return and(mask, live)
}

/** Counts the marked rows. */
export function countOf(mask: Uint8Array): number {
  let count = 0
  for (let row = 0; row < mask.length; row++) count += mask[row] ?? 0
  return count
}

function evaluate(table: PropertyTable, filter: Filter, edges: EdgeRows): Uint8Array {
  if ('all' in filter)
    return filter.all.map((one) => evaluate(table, one, edges)).reduce(and, new Uint8Array(table.size).fill(1))
  if ('any' in filter)
    return filter.any.map((one) => evaluate(table, one, edges)).reduce(or, new Uint8Array(table.size))
  return 'not' in filter ? negated(evaluate(table, filter.not, edges)) : conditionMask(table, filter, edges)
}

function conditionMask(table: PropertyTable, condition: Condition, edges: EdgeRows): Uint8Array {
  const ids = edgeIds(condition)
  if (ids !== undefined) return markIds(table, ids(edges), condition)
  const { test, isNegated } = valueTestOf(condition)
  if (isId(condition)) {
    const marks = new Uint8Array(table.size)
    for (const [row, id] of table.ids.entries()) {
      const value = id === undefined ? undefined : scalarOf(id)
      if (value !== undefined && test(value)) marks[row] = 1
    }
    return isNegated ? negated(marks) : marks
  }
  const [column] = table.columnsOf([condition])
  const marks = column?.mark(table.size, test) ?? new Uint8Array(table.size)
  return isNegated ? negated(marks) : marks
}

function isId(condition: Condition): boolean {
  return 'field' in condition && condition.field === 'id'
}

/** Returns the nodes of a condition on edges, which are read later. Undefined for other conditions. */
function edgeIds(condition: Condition): ((edges: EdgeRows) => Iterable<string>) | undefined {
  const { op, value } = condition
  if ('connection' in condition) {
    const { connection } = condition
    if (op === 'exists') return (edges) => edges.connected(connection)
    const targets = textsOf(value)
    return function* (edges) {
      for (const target of targets) yield* edges.connected(connection, target)
    }
  }
  const [node = ''] = textsOf(value)
  if (!('field' in condition)) return undefined
  if (condition.field === 'parent') return (edges) => edges.childrenOf(node)
  return condition.field === 'under' ? (edges) => edges.under(node) : undefined
}

function markIds(table: PropertyTable, ids: Iterable<string>, { op, value }: Condition): Uint8Array {
  const marks = new Uint8Array(table.size)
  for (const id of ids) {
    const row = table.rowOf(id)
    if (row !== undefined) marks[row] = 1
  }
  return op === 'exists' && value === false ? negated(marks) : marks
}

function and(one: Uint8Array, other: Uint8Array): Uint8Array {
  for (let row = 0; row < one.length; row++) one[row] = (one[row] ?? 0) & (other[row] ?? 0)
  return one
}

function or(one: Uint8Array, other: Uint8Array): Uint8Array {
  for (let row = 0; row < one.length; row++) one[row] = (one[row] ?? 0) | (other[row] ?? 0)
  return one
}

function negated(mask: Uint8Array): Uint8Array {
  for (let row = 0; row < mask.length; row++) mask[row] = 1 - (mask[row] ?? 0)
  return mask
}
