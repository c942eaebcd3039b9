/** A type as the fixed condition of a table: filter, columns, labels and facets. */

import type { AnswerOf } from '../../http/in-process.ts'
import { readColumns, type TableColumn, valueText } from '../text/property-names.ts'
import { columnTextsOf, connectionsOf, type FieldSchema, fieldsOf } from '../text/type-labels.ts'
import { longestFilter } from './table-view.ts'

type NodeType = AnswerOf<'getType'>
type Condition = NonNullable<AnswerOf<'queryNodes'>['conditions']>[number]

/** Columns without a choice of the definition. */
const most = { fields: 6, connections: 2 } as const

/** A filter of the visitor with the condition of a type before it. */
export interface TypedFilter {
  /** The filter for the API; empty: all pages. */
  readonly text: string
  /** The position of the visitor's filter in `text`, in UTF-16 units. */
  readonly from: number
  /** UTF-16 units that the visitor's filter may have. */
  readonly longest: number
  /** Returns the conditions of the visitor, with positions in their text. */
  own(conditions: readonly Condition[]): readonly Condition[]
}

/** Puts the condition of a type before a filter. Without a type, the filter stays as it is. */
export function typedFilter(where: string, type: NodeType | undefined): TypedFilter {
  if (type === undefined) return { text: where, from: 0, longest: longestFilter, own: (conditions) => conditions }
  const condition = `type:${[type.name, ...(type.definition.aliases ?? [])].map(valueText).join(',')}`
  // Two more are for parentheses.
  const longest = Math.max(0, longestFilter - condition.length - 3)
  if (where === '') return { text: condition, from: condition.length, longest, own: () => [] }
  const isAlternatives = /(?:^|[\s)])OR(?=$|[\s(])/.test(where)
  const text = isAlternatives ? `${condition} (${where})` : `${condition} ${where}`
  const from = condition.length + (isAlternatives ? 2 : 1)
  return {
    ...{ text, from, longest },
    own: (conditions) =>
      isAlternatives
        ? [{ text: where, from: 0, to: where.length }]
        : conditions.slice(1).map((one) => ({ ...one, from: one.from - from, to: one.to - from })),
  }
}

/** Returns the columns that the definition names. Default: its first fields and connections. */
export function columnsOfType({ definition }: NodeType): TableColumn[] {
  const named = columnTextsOf(definition)
  if (named !== undefined)
    return readColumns(named).filter((column) => !('field' in column && column.field === 'title'))
  const fields = fieldsOf(definition).filter(({ schema }) => !hasType(schema, 'object'))
  return [
    ...fields.slice(0, most.fields).map(({ name }) => ({ property: [name] })),
    ...connectionsOf(definition)
      .slice(0, most.connections)
      .map(({ name }) => ({ connection: name })),
    ...(fields.length === 0 ? [{ field: 'tags' } as const] : []),
    { field: 'updated_at' },
  ]
}

/** Returns all columns that the definition has a name for. */
export function choicesOfType({ definition }: NodeType): TableColumn[] {
  return [
    ...fieldsOf(definition).map(({ name }) => ({ property: [name] })),
    ...connectionsOf(definition).map(({ name }) => ({ connection: name })),
  ]
}

/** Returns the names of properties with few values: choices, and yes or no. */
export function choiceNames({ definition }: NodeType): string[] {
  const hasChoices = (schema: FieldSchema): boolean =>
    schema.enum !== undefined || hasType(schema, 'boolean') || (schema.items !== undefined && hasChoices(schema.items))
  return fieldsOf(definition)
    .filter(({ name, schema }) => name !== '' && hasChoices(schema))
    .map(({ name }) => name)
}

function hasType({ type = [] }: FieldSchema, name: string): boolean {
  return [type].flat().includes(name)
}
