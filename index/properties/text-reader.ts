/** Reads the words and names of the text forms of filters and sorts. */

import * as limits from '../limits.ts'
import { type Field, FilterError, isTooLong, mostNames, type Subject } from './filter.ts'

/** The fields by their names in text. */
const fieldNames: Readonly<Record<string, Field>> = {
  type: 'type',
  title: 'title',
  tag: 'tag',
  tags: 'tag',
  id: 'id',
  created: 'created_at',
  created_at: 'created_at',
  updated: 'updated_at',
  updated_at: 'updated_at',
  parent: 'parent',
  under: 'under',
}

/** Ends a bare word. */
const stops = ' \t\r\n()",:=!<>~'

/** A value as written. */
export interface Word {
  readonly text: string
  readonly isQuoted: boolean
}

export class TextReader {
  protected at = 0
  protected readonly text: string

  constructor(text: string) {
    this.text = text
  }

  protected readSubject(): Subject {
    if (this.skip('->')) return { connection: this.readWord('->').text }
    const isProperty = this.text[this.at] === '.'
    if (isProperty) this.at++
    const names: string[] = []
    let isQuoted = false
    for (;;) {
      const word = this.readWord('.')
      isQuoted ||= word.isQuoted
      names.push(word.text)
      if (!this.skip('.')) break
    }
    if (names.length > mostNames) throw this.fault(`A path has at most ${mostNames} names`)
    const [name = ''] = names
    if (names.length > 1) return { property: names }
    const field = isProperty || isQuoted ? undefined : Object.hasOwn(fieldNames, name) && fieldNames[name]
    return field ? { field } : { property: name }
  }

  /**
   * Reads a list with commas in between, up to the end of the text.
   *
   * @throws FilterError `between` if something else follows an item, `tooMany` if there are over `most` items
   */
  protected readList<T>(
    readItem: () => T,
    { between, most, tooMany }: { readonly between: string; readonly most: number; readonly tooMany: string },
  ): T[] {
    const items = [readItem()]
    while (this.skip(',')) items.push(readItem())
    if (this.at < this.text.length) throw this.fault(between)
    if (items.length > most) throw new FilterError('filter_too_large', tooMany)
    return items
  }

  protected readWords(): Word[] {
    const words = [this.readWord('')]
    while (this.skip(',')) words.push(this.readWord(''))
    if (words.length > limits.filterValues)
      throw new FilterError('filter_too_large', `A list has at most ${limits.filterValues} values`, { at: this.at })
    return words
  }

  /** Reads a quoted or bare word. In a bare value, the signs of conditions are part of the value. */
  protected readWord(where: '' | '.' | '->'): Word {
    const from = this.at
    const word = this.text[from] === '"' ? this.readQuoted() : this.readBare(where)
    if (isTooLong(word.text))
      throw new FilterError('filter_too_large', 'A name or a value has at most 1,000 characters', { at: from })
    return word
  }

  private readBare(where: '' | '.' | '->'): Word {
    const from = this.at
    const ends = where === '' ? ' \t\r\n(),"' : where === '.' ? `${stops}.` : stops
    while (this.at < this.text.length && !ends.includes(this.text[this.at] ?? '')) this.at++
    if (this.at === from)
      throw this.fault(
        where === ''
          ? 'A value is missing here; write `""` for an empty one'
          : 'The name of a property is missing here; put double quotes around a name that begins with a sign',
      )
    return { text: this.text.slice(from, this.at), isQuoted: false }
  }

  /** Reads up to the closing quote. Two quotes in it are one. */
  private readQuoted(): Word {
    const opening = this.at++
    const parts: string[] = []
    for (;;) {
      const closing = this.text.indexOf('"', this.at)
      if (closing < 0) throw this.fault('This quote is not closed; add another one after the text', opening)
      parts.push(this.text.slice(this.at, closing))
      this.at = closing + 1
      if (this.text[this.at] !== '"') return { text: parts.join('"'), isQuoted: true }
      this.at++
    }
  }

  /** True if a term ends at this position. */
  protected isOver(at: number): boolean {
    return at >= this.text.length || ' \t\r\n()'.includes(this.text[at] ?? '')
  }

  protected skipSpaces(): void {
    while (this.at < this.text.length && ' \t\r\n'.includes(this.text[this.at] ?? '')) this.at++
  }

  protected skip(part: string): boolean {
    if (!this.text.startsWith(part, this.at)) return false
    this.at += part.length
    return true
  }

  protected fault(message: string, at = this.at): FilterError {
    return new FilterError('filter_syntax', message, { at })
  }
}
