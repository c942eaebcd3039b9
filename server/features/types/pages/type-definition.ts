/** The definition that the form of a type describes. Members that no field shows stay as they are, in their order. */

import {
  type FieldFacts,
  type FieldKind,
  type FieldSchema,
  factsOf,
  findKind,
  kindOf,
  schemaOf,
} from '../../../pages/field-kinds.ts'
import { tagsIn } from '../../../pages/properties.ts'
import { columnText, readColumns } from '../../../pages/text/property-names.ts'
import { columnLines, columnOf } from './type-columns.ts'
import {
  type ConnectionRow,
  emptyConnection,
  emptyField,
  type FieldRow,
  fieldsIn,
  isSame,
  isSameText,
  type Json,
  type TypeDefinition,
  type TypeFields,
  typeFieldsOf,
} from './type-fields.ts'
import { linesOf, numberIn, templateValue } from './type-values.ts'

/** Sentences by the name of their control. Without a control, the name is ''. */
export type Faults = ReadonlyMap<string, readonly string[]>

/** Finds the name of a type by its name, title or alias. */
export type TypeNames = (text: string) => string

/** Returns the definition, or the reasons why the fields describe none. */
export function definitionOf(
  base: TypeDefinition,
  fields: TypeFields,
  nameOf: TypeNames,
): { readonly definition: TypeDefinition; readonly faults: Faults } {
  const reader = new Reader(base, fields, nameOf)
  return { definition: reader.read(), faults: reader.faults }
}

/** A row with its name in the form, such as `f2`. */
type Placed<Row> = readonly [row: Row, at: string]

class Reader {
  readonly faults = new Map<string, string[]>()
  private readonly base: TypeDefinition
  private readonly sent: TypeFields
  private readonly fields: readonly Placed<FieldRow>[]
  private readonly connections: readonly Placed<ConnectionRow>[]
  /** The fields of the base, as the form first showed them. */
  private readonly shown: TypeFields
  private readonly nameOf: TypeNames

  constructor(base: TypeDefinition, sent: TypeFields, nameOf: TypeNames) {
    this.base = base
    this.sent = sent
    this.shown = typeFieldsOf(base)
    this.nameOf = nameOf
    this.fields = this.filledRows(sent.fields, emptyField, 'f')
    this.connections = this.filledRows(sent.connections, emptyConnection, 'c')
  }

  read(): TypeDefinition {
    const { base, sent, shown } = this
    const definition = new Members(base)
    const line = (name: 'title' | 'plural') => {
      if (!isSame(sent[name], shown[name])) definition.put(name, sent[name] || undefined)
    }
    line('title')
    line('plural')
    if (!isSame(sent.aliases, shown.aliases)) definition.put('aliases', listOrNone(linesOf(sent.aliases)))
    if (sent.enforcement !== '' && sent.enforcement !== shown.enforcement)
      definition.put('enforcement', sent.enforcement)
    definition.put('schema', this.readSchema())
    definition.put('connections', this.readConnections())
    if (sent.otherConnections !== shown.otherConnections)
      definition.put('other_connections', sent.otherConnections ? undefined : false)
    definition.put('parents', this.readEdgeRule('types', sent.parents, shown.parents, base.parents, 'parents'))
    definition.put('template', this.readTemplate())
    definition.put('columns', this.readColumns())
    return definition.json as TypeDefinition // the service checks it
  }

  private fail(control: string, says: string): undefined {
    this.faults.set(control, [...(this.faults.get(control) ?? []), says])
  }

  private readSchema(): Json | undefined {
    const { base, sent, shown, fields } = this
    const schema = new Members(base.schema)
    schema.put('properties', Object.fromEntries(fields.map(([row, at]) => [row.name, this.readField(row, at)])))
    schema.put('required', this.readRequired(base.schema?.required))
    if (sent.others !== shown.others) schema.put('additionalProperties', sent.others ? undefined : false)
    return schema.json
  }

  /** Returns the names of required fields. Names that are not those of a field stay. */
  private readRequired(listed: unknown): readonly string[] | undefined {
    const rows = new Map(this.fields.map(([{ name, required }]) => [name, required]))
    const before: readonly string[] = Array.isArray(listed) ? listed : []
    const kept = before.flatMap((name) => this.renamed(name) ?? []).filter((name) => rows.get(name) ?? true)
    const added = [...rows].filter(([name, required]) => required && !kept.includes(name)).map(([name]) => name)
    const required = [...kept, ...added]
    return required.length > 0 || before.length === 0
      ? listed === undefined
        ? listOrNone(required)
        : required
      : undefined
  }

  /** Returns the rows that have something. Reports names that are missing or occur twice. */
  private filledRows<Row extends { readonly name: string; readonly origin: string }>(
    rows: readonly Row[],
    empty: Row,
    prefix: 'f' | 'c',
  ): Placed<Row>[] {
    const names = new Set<string>()
    const noun = prefix === 'f' ? 'field' : 'link'
    const origins = this.originNames(prefix)
    return rows.flatMap((row, n) => {
      if (JSON.stringify({ ...row, kind: '' }) === JSON.stringify({ ...empty, kind: '' })) return []
      const known = origins[Number(row.origin || -1)]
      const name = known !== undefined && isSame(known, row.name) ? known : row.name
      if (name === '') this.fail(`${prefix}${n}.name`, `Enter a name, or remove this ${noun}.`)
      else if (names.has(name)) this.fail(`${prefix}${n}.name`, `Another ${noun} has this name. Enter another one.`)
      names.add(name)
      return [[{ ...row, name }, `${prefix}${n}`]]
    })
  }

  private originNames(prefix: 'f' | 'c'): string[] {
    return prefix === 'f' ? fieldsIn(this.base).map(([name]) => name) : Object.keys(this.base.connections ?? {})
  }

  /** Returns the name that a field of the base has now. Undefined if it was removed. */
  private renamed(name: string): string | undefined {
    const at = this.originNames('f').indexOf(name)
    if (at < 0) return name
    return this.fields.find(([{ origin }]) => origin === String(at))?.[0].name
  }

  private readField(row: FieldRow, at: string): Json {
    const before = fieldsIn(this.base)[Number(row.origin || -1)]?.[1] ?? {}
    const shown = this.shown.fields.find(({ origin }) => origin !== '' && origin === row.origin)
    const kind = findKind(row.kind)
    if (kind === undefined) return this.readJson(row, shown, before, at)
    return schemaOf(kind, this.readFacts(kind, row, shown, before, at), before)
  }

  private readFacts(
    kind: FieldKind,
    row: FieldRow,
    shown: FieldRow | undefined,
    before: FieldSchema,
    at: string,
  ): FieldFacts {
    const of = kindOf(before)
    const known = factsOf(before, of)
    // A number of characters means nothing as a number of items.
    const isOtherRange = shown !== undefined && kind.range?.unit !== of?.range?.unit
    const limit = (name: 'least' | 'most') => {
      if (shown !== undefined && isSame(row[name], shown[name])) return isOtherRange ? undefined : known[name]
      if (row[name] === '' || kind.range === undefined) return undefined
      const number = numberIn(row[name])
      return number ?? this.fail(`${at}.${name}`, 'Enter a number.')
    }
    return {
      ...this.readWords(row, shown, known),
      choices: kind.choices ? this.readChoices(kind, row, shown, known, at) : [],
      ...{ least: limit('least'), most: limit('most') },
    }
  }

  private readWords(row: FieldRow, shown: FieldRow | undefined, known: Pick<FieldFacts, 'label' | 'help'>) {
    return {
      label: isSame(row.label, shown?.label ?? '') ? known.label : row.label,
      help: isSame(row.help, shown?.help ?? '') ? known.help : row.help.trim(),
    }
  }

  private readChoices(
    kind: FieldKind,
    row: FieldRow,
    shown: FieldRow | undefined,
    known: FieldFacts,
    at: string,
  ): FieldFacts['choices'] {
    if (shown?.kind === row.kind && isSame(row.choices, shown.choices)) return known.choices
    const lines = linesOf(row.choices)
    if (lines.length === 0) this.fail(`${at}.choices`, 'Enter at least one choice, one a line.')
    if (kind.choices === 'texts') return lines
    return lines.map((line) => {
      const number = numberIn(line)
      if (number === undefined) this.fail(`${at}.choices`, `“${line.slice(0, 40)}” is not a number.`)
      return number ?? line
    })
  }

  /** Reads a field whose schema is JSON. */
  private readJson(row: FieldRow, shown: FieldRow | undefined, before: Json, at: string): Json {
    const known = factsOf(before, undefined)
    const { label, help } = this.readWords(row, shown, known)
    const isKept = shown?.kind === 'json' && isSame(row.json, shown.json)
    const schema = new Members(isKept ? before : {})
    if (!isKept) {
      const json = objectIn(row.json)
      if (json === undefined) this.fail(`${at}.json`, 'This must be a JSON object, such as {"type": "string"}.')
      if (label !== '') schema.put('title', label)
      if (help !== '') schema.put('description', help)
      for (const [name, value] of Object.entries(json ?? {})) schema.set(name, value)
      return schema.json ?? {}
    }
    if (label !== known.label) schema.put('title', label || undefined)
    if (help !== known.help) schema.put('description', help || undefined)
    return schema.json ?? {}
  }

  private readConnections(): Json | undefined {
    const rules = new Members(undefined)
    for (const [row, at] of this.connections) {
      const shown = this.shown.connections.find(({ origin }) => origin !== '' && origin === row.origin)
      rules.set(row.name, this.readConnection(row, shown, at))
    }
    return rules.json
  }

  private readConnection(row: ConnectionRow, shown: ConnectionRow | undefined, at: string): Json {
    const before = Object.values(this.base.connections ?? {})[Number(row.origin || -1)]
    const rule = new Members(before ?? {})
    if (!isSame(row.label, shown?.label ?? '')) rule.put('title', row.label || undefined)
    if (!isSame(row.inverse, shown?.inverse ?? '')) rule.put('inverse', row.inverse || undefined)
    const { to, min, max } = row
    const ends = this.readEdgeRule(
      'to',
      { types: to, min, max },
      { types: shown?.to ?? '', min: shown?.min ?? '', max: shown?.max ?? '' },
      rule.json,
      at,
    )
    return ends ?? {}
  }

  /** Reads the types and numbers of connections or parents. @param member the name of the list of types */
  private readEdgeRule(
    member: 'types' | 'to',
    sent: TypeFields['parents'],
    shown: TypeFields['parents'],
    before: Json | undefined,
    at: string,
  ): Json | undefined {
    const rule = new Members(before)
    if (!isSame(sent.types, shown.types)) {
      const types = sent.types.split(/[,\n]/).map((one) => one.trim())
      rule.put(member, listOrNone(types.filter((one) => one !== '').map(this.nameOf)))
    }
    for (const name of ['min', 'max'] as const) {
      if (isSame(sent[name], shown[name])) continue
      const number = sent[name] === '' ? undefined : numberIn(sent[name])
      if (sent[name] !== '' && number === undefined) this.fail(`${at}.${name}`, 'Enter a whole number.')
      rule.put(name, number)
    }
    return rule.json
  }

  private readTemplate(): Json | undefined {
    const { base, sent, shown } = this
    const template = new Members(base.template)
    if (!isSameText(sent.text, shown.text)) template.put('text_content', sent.text || undefined)
    if (!isSame(sent.tags, shown.tags)) template.put('tags', listOrNone(tagsIn(sent.tags)))
    template.put('properties', this.readValues(base.template?.properties ?? {}))
    return template.json
  }

  private readValues(before: Json): Json | undefined {
    const values = new Map<string, unknown>()
    for (const [name, value] of Object.entries(before)) {
      const now = this.renamed(name)
      if (now !== undefined) values.set(now, value)
    }
    for (const [row, at] of this.fields) {
      const shown = this.shown.fields.find(({ origin }) => origin !== '' && origin === row.origin)
      const kind = findKind(row.kind)
      const isKept = isSame(row.value, shown?.value ?? '') && (shown === undefined || shown.kind === row.kind)
      if (isKept || kind === undefined) continue
      const value = row.value.trim() === '' ? undefined : templateValue(kind, row.value)
      if (value !== undefined) values.set(row.name, value)
      else if (row.value.trim() === '') values.delete(row.name)
      else this.fail(`${at}.value`, `This is not a value of the kind “${kind.title}”.`)
    }
    return values.size === 0 ? undefined : Object.fromEntries(values)
  }

  /** Reads the columns. A column follows the name of its field or link, and is removed with it. */
  private readColumns(): readonly string[] | undefined {
    const { base, sent, shown } = this
    const isKept = isSame(sent.columns, shown.columns)
    const columns = isKept ? (base.columns ?? []) : linesOf(sent.columns).map((line) => this.columnAt(line))
    const now = columns.flatMap((column) => this.columnNow(column) ?? [])
    return now.length === 0 && !(isKept && columns.length === 0 && base.columns) ? undefined : now
  }

  /** Returns the column of a line: that of the base, or of a name. */
  private columnAt(line: string): string {
    const { columns = [] } = this.base
    const at = columnLines(columns, this.originNames('f')).findIndex((shown) => isSame(shown, line))
    const rows = <Row>(placed: readonly Placed<Row>[]) => placed.map(([row]) => row)
    return columns[at] ?? columnOf(line, rows(this.fields), rows(this.connections))
  }

  private columnNow(column: string): string | undefined {
    if (column.startsWith('->')) {
      const name = column.slice(2)
      const at = this.originNames('c').indexOf(name)
      if (at < 0 || this.connections.some(isCalled(name))) return column
      const row = this.connections.find(([{ origin }]) => origin === String(at))?.[0]
      return row && `->${row.name}`
    }
    const [read] = readColumns(column)
    if (read === undefined || !('property' in read)) return column
    const [name = '', ...rest] = read.property
    const renamed = this.renamed(name)
    if (renamed === name || this.fields.some(isCalled(name))) return column
    return renamed === undefined ? undefined : columnText({ property: [renamed, ...rest] })
  }
}

/** Members of an object in their order. */
class Members {
  private readonly before: Json | undefined
  private readonly members: Map<string, unknown>

  constructor(before: Json | undefined) {
    this.before = before
    this.members = new Map(Object.entries(before ?? {}))
  }

  /** Sets or removes a member. An empty object and an absent one are the same, and neither replaces the other. */
  put(name: string, value: unknown): void {
    if (!isNothing(value)) this.members.set(name, value)
    else if (!isNothing(this.members.get(name))) this.members.delete(name)
  }

  set(name: string, value: unknown): void {
    this.members.set(name, value)
  }

  /** Undefined if there is nothing, and was nothing before. */
  get json(): Json | undefined {
    return this.members.size === 0 && this.before === undefined ? undefined : Object.fromEntries(this.members)
  }
}

function isNothing(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0)
  )
}

function isCalled(name: string): (placed: Placed<{ readonly name: string }>) => boolean {
  return ([row]) => row.name === name
}

function listOrNone<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list
}

function objectIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}
