/**
 * The definition of a type as the fields of its form. `base` is the definition that the form began with. A field that
 * nobody edits changes nothing of it, so members that no field shows survive.
 */

import type { AnswerOf } from '../../../http/in-process.ts'
import { factsOf, kindOf } from '../../../pages/field-kinds.ts'
import { tagsText } from '../../../pages/properties.ts'
import { columnLines } from './type-columns.ts'
import { templateText } from './type-values.ts'

export type TypeDefinition = AnswerOf<'getType'>['definition']
export type Json = Readonly<Record<string, unknown>>

/** One field of the type. All values are as a form has them. */
export interface FieldRow {
  /** The place among the fields of the base, from 0. Empty for a new field. */
  readonly origin: string
  readonly name: string
  readonly label: string
  /** The name of a kind, or `json` for a schema without one. */
  readonly kind: string
  readonly required: boolean
  readonly help: string
  /** One choice a line. */
  readonly choices: string
  readonly least: string
  readonly most: string
  /** The schema as JSON, without label and help, if it has no kind. */
  readonly json: string
  /** The value that new pages begin with. */
  readonly value: string
}

export interface ConnectionRow {
  /** The place among the connections of the base. Empty for a new one. */
  readonly origin: string
  readonly name: string
  readonly label: string
  readonly inverse: string
  /** Types with commas between them. */
  readonly to: string
  readonly min: string
  readonly max: string
}

export interface TypeFields {
  readonly title: string
  readonly plural: string
  /** One a line. */
  readonly aliases: string
  readonly enforcement: string
  readonly fields: readonly FieldRow[]
  /** True if pages may have properties without a field. */
  readonly others: boolean
  readonly connections: readonly ConnectionRow[]
  readonly otherConnections: boolean
  readonly parents: { readonly types: string; readonly min: string; readonly max: string }
  /** The text of new pages. */
  readonly text: string
  readonly tags: string
  /** One a line. */
  readonly columns: string
}

export const emptyField: FieldRow = {
  ...{ origin: '', name: '', label: '', kind: 'text', required: false, help: '', choices: '' },
  ...{ least: '', most: '', json: '', value: '' },
}

export const emptyConnection: ConnectionRow = {
  ...{ origin: '', name: '', label: '', inverse: '', to: '', min: '', max: '' },
}

/** Returns the fields that show a definition. */
export function typeFieldsOf(base: TypeDefinition): TypeFields {
  const { title = '', plural = '', aliases = [], enforcement = 'advisory', parents = {}, template = {} } = base
  const { required = [], additionalProperties } = base.schema ?? {}
  return {
    ...{ title, plural, enforcement },
    aliases: aliases.join('\n'),
    fields: fieldsIn(base).map(([name, schema], at) => ({
      ...fieldOf(name, schema),
      origin: String(at),
      required: (required as readonly unknown[]).includes(name), // the service has read it
      value: templateText(kindOf(schema), valueIn(template.properties ?? {}, name)),
    })),
    others: additionalProperties !== false,
    connections: Object.entries(base.connections ?? {}).map(([name, rule], at) => ({
      ...{ origin: String(at), name, label: rule.title ?? '', inverse: rule.inverse ?? '' },
      ...{ to: (rule.to ?? []).join(', '), min: numberText(rule.min), max: numberText(rule.max) },
    })),
    otherConnections: base.other_connections !== false,
    parents: {
      ...{ types: (parents.types ?? []).join(', '), min: numberText(parents.min), max: numberText(parents.max) },
    },
    text: template.text_content ?? '',
    tags: tagsText(template.tags ?? []),
    columns: columnLines(
      base.columns ?? [],
      fieldsIn(base).map(([name]) => name),
    ).join('\n'),
  }
}

/** Lists the fields of a definition with their schemas. */
export function fieldsIn({ schema = {} }: TypeDefinition): [name: string, schema: Json][] {
  return Object.entries((schema.properties ?? {}) as Readonly<Record<string, Json>>) // the service has read it
}

function valueIn(values: Json, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function fieldOf(name: string, schema: Json): FieldRow {
  const kind = kindOf(schema)
  const { label, help, choices, least, most } = factsOf(schema, kind)
  return {
    ...{ ...emptyField, name, label, help, kind: kind?.name ?? 'json' },
    ...{ choices: choices.join('\n'), least: numberText(least), most: numberText(most) },
    json: kind ? '' : schemaText(schema),
  }
}

/** Returns the JSON of a schema without the members that have their own controls. */
export function schemaText(schema: Json): string {
  const rest = Object.fromEntries(
    Object.entries(schema).filter(
      ([name, value]) => !['title', 'description'].includes(name) || typeof value !== 'string',
    ),
  )
  return JSON.stringify(rest, null, 2)
}

function numberText(value: number | undefined): string {
  return value === undefined ? '' : String(value)
}

/** The most rows that a form may send. A type has fewer, and the API says so. */
const mostRows = 200

/** Reads the fields of a sent form. */
export function typeFieldsIn(form: URLSearchParams): TypeFields {
  const text = (name: string) => (form.get(name) ?? '').replace(/\r\n?/g, '\n')
  const line = (name: string) => text(name).trim()
  return {
    ...{ title: line('title'), plural: line('plural'), aliases: text('aliases'), enforcement: line('enforcement') },
    fields: rowsIn(form, 'fields').map((at) => {
      const of = (name: string) => `f${at}.${name}`
      return {
        ...{ origin: line(of('origin')), name: line(of('name')), label: line(of('label')), kind: line(of('kind')) },
        ...{ required: form.has(of('required')), help: text(of('help')), choices: text(of('choices')) },
        ...{ least: line(of('least')), most: line(of('most')), json: text(of('json')), value: text(of('value')) },
      }
    }),
    others: form.has('others'),
    connections: rowsIn(form, 'connections').map((at) => {
      const of = (name: string) => line(`c${at}.${name}`)
      return {
        ...{ origin: of('origin'), name: of('name'), label: of('label'), inverse: of('inverse') },
        ...{ to: of('to'), min: of('min'), max: of('max') },
      }
    }),
    otherConnections: form.has('other_connections'),
    parents: { types: line('parents.types'), min: line('parents.min'), max: line('parents.max') },
    ...{ text: text('text'), tags: line('tags'), columns: text('columns') },
  }
}

function rowsIn(form: URLSearchParams, name: string): number[] {
  const sent = form.get(name) ?? ''
  return [...Array(/^\d{1,3}$/.test(sent) ? Math.min(Number(sent), mostRows) : 0).keys()]
}

/** True if a form can have made one text of the other. Line ends change, and some characters are lost. */
export function isSame(one: string, other: string): boolean {
  return isSameText(one.trim(), other.trim())
}

/** The same for texts in which spaces at the ends count. */
export function isSameText(one: string, other: string): boolean {
  return one === other || asSent(one) === asSent(other)
}

function asSent(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/[\0\ufffd\p{Surrogate}]/gu, '')
}
