/** The text form of a sort: `-due,title`. */

import * as limits from '../limits.ts'
import { FilterError } from './filter.ts'
import type { SortKey } from './sorting.ts'
import { TextReader } from './text-reader.ts'

/** Characters of the text. */
const longestText = 1_000

/** The fields that one node can have several of, or that are edges. */
const unsorted: readonly string[] = ['parent', 'under']

/** Parses a sort. `-` begins a descending key. @throws FilterError with the position */
export function parseSort(text: string): SortKey[] {
  if (text.length > longestText)
    throw new FilterError('filter_too_large', `A sort has at most ${longestText} characters`)
  return new SortReader(text).readKeys()
}

class SortReader extends TextReader {
  readKeys(): SortKey[] {
    return this.readList(() => this.readKey(), {
      between: 'The keys of a sort have commas between them',
      most: limits.sortKeys,
      tooMany: `A sort has at most ${limits.sortKeys} keys`,
    })
  }

  private readKey(): SortKey {
    const from = this.at
    const isDescending = this.skip('-')
    const subject = this.readSubject()
    if ('connection' in subject || ('field' in subject && unsorted.includes(subject.field)))
      throw this.fault('A list is sorted by a property, or by type, title, tag, id, created or updated', from)
    return { subject, isDescending }
  }
}
