/** The fields of the index, and the terms of a document in each. */

import { foldCase } from '../../fold-case.ts'
import { allTerms, contentTerms } from '../text/analyzer.ts'
import type { LanguageOf, Share } from '../text/languages.ts'
import { LANGUAGES, type Language } from '../text/stems.ts'
import { titleWords } from '../text/title-words.ts'
import { type Corpus, documentCount, documentFrequency, placeOf } from './corpus.ts'
import { postingOf } from './segment.ts'
import { rankOf } from './string-table.ts'

/**
 * The numbers of the fields.
 * - `all`: title and text without stop words
 * - `title`: the title with stop words, also for queries of only stop words
 * - `tags`: tags verbatim, and their case-insensitive keys
 * - `language`: the code of the language
 * - `words`: distinct unstemmed words of the title, only for suggestions
 */
export const FIELD = { all: 0, title: 1, tags: 2, language: 3, words: 4 } as const
export const FIELD_COUNT = 5

/**
 * Returns the term for a case-insensitive match of a tag. No tag equals it, because tags have no control characters.
 */
export function tagKey(tag: string): string {
  return `\u0001${foldCase(tag)}`
}

/** Passages have only the first two fields. */
export const PASSAGE_FIELD_COUNT = 2

/** Returns the terms by field, and the language. About 4 µs a word. @param prose the text without Markdown syntax */
export function termsOf(
  languageOf: LanguageOf,
  title: string,
  prose: string,
  tags: readonly string[],
): { language: Language; terms: string[][] } {
  const all = `${title}\n${prose}`
  const language = languageOf(all)
  const terms = [
    contentTerms(all, language),
    allTerms(title, language),
    [...tags, ...new Set(tags.map(tagKey))],
    [language],
    titleWords(title),
  ]
  return { language, terms }
}

/** Returns the terms of a passage by field. @param text with title and heading */
export function passageTermsOf(language: Language, title: string, text: string): string[][] {
  return [contentTerms(text, language), allTerms(title, language)]
}

/** Returns the language in which the document was indexed. English if there is no such document. */
export function languageIn(corpus: Corpus, id: string): Language {
  const place = placeOf(corpus, id)
  const segment = corpus.frozen[place?.i ?? -1]?.segment
  const postings = segment?.fields[FIELD.language]
  const found = LANGUAGES.find((language) => {
    if (!place || !segment || !postings) return corpus.live.documents.get(id)?.terms[FIELD.language]?.[0] === language
    const rank = rankOf(segment.terms, language)
    const { documents, starts } = postings
    return rank >= 0 && postingOf(documents, starts[rank] ?? 0, starts[rank + 1] ?? 0, place.number) >= 0
  })
  return found ?? 'en'
}

/** Returns the share of documents in each language. */
export function languageShares(corpus: Corpus): Share[] {
  const count = documentCount(corpus)
  return LANGUAGES.flatMap((language) => {
    const share = documentFrequency(corpus, FIELD.language, language) / count
    return share > 0 ? [{ language, share }] : []
  })
}
