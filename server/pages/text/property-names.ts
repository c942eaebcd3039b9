/** Names of properties and fields in the text form of filters, sorts and columns: `status,"in work",address.city`. */

/** The fields that a table shows, by their names in text. */
const fields = {
  id: 'id',
  title: 'title',
  tag: 'tags',
  tags: 'tags',
  created: 'created_at',
  created_at: 'created_at',
  updated: 'updated_at',
  updated_at: 'updated_at',
} as const

type TableField = (typeof fields)[keyof typeof fields]

/** A field, the names that lead to a property, or a type of connections. */
export type TableColumn =
  | { readonly field: TableField }
  | { readonly property: readonly string[] }
  | { readonly connection: string }

/** Reads names with commas between them. Never fails: the API refuses names that are not valid. */
export function readColumns(text: string): TableColumn[] {
  const parts = text.match(/(?:"(?:[^"]|"")*"?|[^",])+/g) ?? []
  return parts.map(readColumn)
}

/** Returns the text of a column, which `readColumns` reads. The API reads it unless it is a connection. */
export function columnText(column: TableColumn): string {
  if ('field' in column) return column.field
  if ('connection' in column) return `->${quotedUnlessBare(column.connection)}`
  const [only = '', ...others] = column.property
  return others.length === 0 ? nameText(only) : column.property.map(quotedUnlessBare).join('.')
}

/** Returns the text of a property name, as a filter and a sort have it. */
export function nameText(name: string): string {
  return Object.hasOwn(fields, name) || ['parent', 'under'].includes(name) ? `"${name}"` : quotedUnlessBare(name)
}

/** Returns the text of a value. Quoted texts are equal only to texts. */
export function valueText(value: string | number | boolean): string {
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** Writes another name for a property in a filter or a sort. */
export function renamedIn(text: string, name: string, other: string): string {
  const forms = [name, quoted(name)].map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  const place = new RegExp(`(?<=^|[\\s(,-])\\.?(?:${forms.join('|')})(?=$|[.,:=!<>~])`, 'g')
  return text.replace(place, () => nameText(other))
}

function readColumn(text: string): TableColumn {
  if (text.startsWith('->')) return { connection: unquoted(text.slice(2)) }
  const known = Object.hasOwn(fields, text) ? fields[text as keyof typeof fields] : undefined // hasOwn has checked it
  if (known !== undefined) return { field: known }
  const names = text.replace(/^\./, '').match(/"(?:[^"]|"")*"?|[^".]+/g) ?? []
  return { property: names.map(unquoted) }
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.replace(/^"|"$/g, '').replaceAll('""', '"') : text
}

function quotedUnlessBare(name: string): string {
  return /^[^\s()",:=!<>~.-][^\s()",:=!<>~.]*$/.test(name) ? name : quoted(name)
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
