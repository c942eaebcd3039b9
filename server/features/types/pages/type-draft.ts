/** A type as its form sends it, and the acts that change only its rows. */

import { definitionOf, type Faults, type TypeNames } from './type-definition.ts'
import {
  type ConnectionRow,
  emptyConnection,
  emptyField,
  type FieldRow,
  fieldsIn,
  schemaText,
  type TypeDefinition,
  typeFieldsIn,
  typeFieldsOf,
} from './type-fields.ts'
import type { TypeDraft } from './type-form.tsx'
import { shapedDefinition } from './type-shape.ts'

/** Returns the form of a definition. */
export function formView(base: TypeDefinition): TypeDraft['view'] {
  return { as: 'form', base, fields: typeFieldsOf(base) }
}

export function jsonView(definition: TypeDefinition): TypeDraft['view'] {
  return { as: 'json', json: JSON.stringify(definition, null, 2) }
}

/** Reads a sent form. Undefined if it is not one of ours. @param known the name of the type, if it is not new */
export function draftIn(form: URLSearchParams, known: string | undefined): TypeDraft | undefined {
  const text = (name: string) => form.get(name) ?? ''
  const broken = /^\d{1,9}$/.test(text('broken')) ? Number(text('broken')) : undefined
  const draft = { known, name: text('name').trim(), version: text('version'), broken }
  if (text('as') === 'json') return { ...draft, view: { as: 'json', json: text('json').replace(/\r\n?/g, '\n') } }
  const base = shapedDefinition(text('base'))
  if (base === undefined) return undefined
  const sent = typeFieldsIn(form)
  return { ...draft, view: { as: 'form', base, fields: { ...sent, fields: sent.fields.map(withJson(base)) } } }
}

/** Shows the schema of a field for which its kind was exchanged for JSON. */
function withJson(base: TypeDefinition): (row: FieldRow) => FieldRow {
  const schemas = fieldsIn(base)
  return (row) => {
    const [, schema] = schemas[Number(row.origin || -1)] ?? []
    const isEmpty = row.kind === 'json' && row.json.trim() === ''
    return isEmpty && schema ? { ...row, json: schemaText(schema) } : row
  }
}

/** Returns the draft after an act that adds, moves or removes a row. Undefined for other acts. */
export function afterRowAct(draft: TypeDraft, act: string): TypeDraft | undefined {
  const { view } = draft
  const [, verb = '', noun = '', at = ''] = /^(add|up|down|remove)-(field|link)(?::(\d{1,3}))?$/.exec(act) ?? []
  if (verb === '' || view.as === 'json') return undefined
  const { fields, connections } = view.fields
  const changed =
    noun === 'field'
      ? { fields: changedRows<FieldRow>(fields, emptyField, verb, Number(at)) }
      : { connections: changedRows<ConnectionRow>(connections, emptyConnection, verb, Number(at)) }
  return { ...draft, view: { ...view, fields: { ...view.fields, ...changed } } }
}

function changedRows<Row>(rows: readonly Row[], empty: Row, verb: string, at: number): readonly Row[] {
  if (verb === 'add') return [...rows, empty]
  const others = rows.filter((_, n) => n !== at)
  if (verb === 'remove' || at >= rows.length) return others
  return others.toSpliced(Math.max(0, verb === 'up' ? at - 1 : at + 1), 0, ...rows.slice(at, at + 1))
}

/** Returns the definition of a draft. JSON goes to the API as it is, unless it is not JSON. */
export function definitionIn(
  { view }: TypeDraft,
  nameOf: TypeNames,
): { readonly definition: TypeDefinition; readonly faults: Faults } {
  if (view.as === 'form') return definitionOf(view.base, view.fields, nameOf)
  try {
    return { definition: JSON.parse(view.json) as TypeDefinition, faults: new Map() } // the API checks it
  } catch {
    const says = 'This must be JSON: names in quotes, and no comma after the last member.'
    return { definition: { title: '' }, faults: new Map([['json', [says]]]) }
  }
}

/** Makes the name of a type from its title. Empty if the title has no letter from a to z. */
export function slugOf(title: string): string {
  return title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-$/g, '')
    .slice(0, 64)
    .replace(/-$/, '')
}

/** Returns the name of a draft. A new type without one gets it from the title. */
export function nameIn({ known, name }: TypeDraft, { title }: TypeDefinition): string {
  return known ?? (name !== '' ? name : typeof title === 'string' ? slugOf(title) : '')
}
