/** The text form of columns: `id,title,"in work",address.city`. */

import * as limits from '../limits.ts'
import { type Field, FilterError, type Subject } from './filter.ts'
import { TextReader } from './text-reader.ts'

/** Characters of the text. */
const longestText = 4_000

/** A field, or a property with the names that lead to it. */
export type Column =
  | { readonly field: Exclude<Field, 'type' | 'parent' | 'under'> }
  | { readonly property: readonly string[] }

/** Parses columns. @throws FilterError with the position */
export function parseColumns(text: string): Column[] {
  if (text.length > longestText)
    throw new FilterError('filter_too_large', `The columns have at most ${longestText} characters`)
  return new ColumnReader(text).readColumns()
}

class ColumnReader extends TextReader {
  readColumns(): Column[] {
    return this.readList(() => this.readColumn(), {
      between: 'Columns have commas between them',
      most: limits.columns,
      tooMany: `A table has at most ${limits.columns} columns`,
    })
  }

  private readColumn(): Column {
    const from = this.at
    const subject = this.readSubject()
    // The field is `tag` in conditions, where it means one of them.
    if (this.text.slice(from, this.at) === 'tags') return { field: 'tag' }
    return columnOf(subject) ?? this.refuse(from)
  }

  private refuse(from: number): never {
    throw this.fault('A column is a property, or id, title, tags, type, created or updated', from)
  }
}

/** The field `type` is the property. */
function columnOf(subject: Subject): Column | undefined {
  if ('property' in subject) return { property: [subject.property].flat() }
  if ('connection' in subject || subject.field === 'parent' || subject.field === 'under') return undefined
  return subject.field === 'type' ? { property: ['type'] } : { field: subject.field }
}
