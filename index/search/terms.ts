/** The fields of the index, and the terms of a document in them. */
import { allTerms, contentTerms } from './analyzer.ts'
import type { SearchedField } from './scores.ts'

/** By number: title and text without stop words; the title with them, for questions of stop words alone; tags as they are. */
export const FIELD = { all: 0, title: 1, tags: 2 } as const
export const FIELD_COUNT = 3

/** `title`: a question of stop words alone, which only titles keep. */
export type SearchedIn = 'all' | 'title'

const inTitle: SearchedField = { field: FIELD.title, boost: 0.3 }

export const SEARCHED: Readonly<Record<SearchedIn, readonly SearchedField[]>> = {
  all: [{ field: FIELD.all, boost: 1 }, inTitle],
  title: [inTitle],
}

/** By field. About 4 µs for each word. */
export function termsOf(title: string, text: string, tags: readonly string[]): string[][] {
  return [contentTerms(`${title}\n${text}`), allTerms(title), [...tags]]
}
