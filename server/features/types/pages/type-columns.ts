/** The columns of a type as lines of its form. A line has the plain name of a field, or the label that people know. */

import { columnText, readColumns } from '../../../pages/text/property-names.ts'

/** A field or a link as its row has it. */
interface Labelled {
  readonly name: string
  readonly label: string
}

/** Returns the line of each column. The name of a field has no quotes there. @param names the names of fields */
export function columnLines(columns: readonly string[], names: readonly string[]): string[] {
  return columns.map((column) => {
    const name = quotedName(column)
    // Another column may be this text, such as the path `a.b` if a field has the name “a.b”.
    return name !== undefined && names.includes(name) && !columns.includes(name) ? name : column
  })
}

/** Returns the name in a quoted column, if it can be a line. */
function quotedName(column: string): string | undefined {
  const [read, ...others] = column.includes('"') ? readColumns(column) : []
  if (read === undefined || others.length > 0 || !('property' in read)) return undefined
  const [name = '', ...inner] = read.property
  return inner.length > 0 || name !== name.trim() || name.startsWith('->') ? undefined : name
}

/** Returns the column for a line. A line that names nothing is returned as it is, and the API refuses it. */
export function columnOf(line: string, fields: readonly Labelled[], links: readonly Labelled[]): string {
  if (line.startsWith('->')) {
    const text = line.slice(2).trim()
    return `->${findName(text, links) ?? text}`
  }
  const name = findName(line, fields)
  return name === undefined ? line : columnText({ property: [name] })
}

/** Finds the name that equals a text, or else the only one with this label. */
function findName(text: string, rows: readonly Labelled[]): string | undefined {
  if (rows.some(({ name }) => name === text)) return text
  const [labelled, ...others] = rows.filter(({ label }) => label === text)
  return others.length === 0 ? labelled?.name : undefined
}
