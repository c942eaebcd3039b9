/** The fields of the index, and the terms of a document in them. */

import { allTerms, contentTerms } from '../text/analyzer.ts'
import type { LanguageOf, Share } from '../text/languages.ts'
import { LANGUAGES, type Language } from '../text/stems.ts'
import { titleWords } from '../text/title-words.ts'
import { type Corpus, documentCount, documentFrequency, placeOf } from './corpus.ts'
import { postingOf } from './segment.ts'
import { rankOf } from './string-table.ts'

/**
 * By number: title and text without stop words; the title with them, for questions of stop words alone; tags as they are,
 * and without case by their keys; the code of the language; the distinct words of the title as they stand, for suggestions alone.
 */
export const FIELD = { all: 0, title: 1, tags: 2, language: 3, words: 4 } as const
export const FIELD_COUNT = 5

/** The term by which a tag is found in any case; no tag begins so, since tags hold no control characters. */
export function tagKey(tag: string): string {
  // Upper case first: ß and ss fold together only that way.
  return `\u0001${tag.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')}`
}

/** A passage has the first two of these fields. */
export const PASSAGE_FIELD_COUNT = 2

/** By field, and the language. About 4 µs for each word. @param prose the text without the marks of Markdown */
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

/** By field. @param text with title and heading */
export function passageTermsOf(language: Language, title: string, text: string): string[][] {
  return [contentTerms(text, language), allTerms(title, language)]
}

/** The language in which the document was indexed; English where there is none. */
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

/** How many of the documents are in each language. */
export function languageShares(corpus: Corpus): Share[] {
  const count = documentCount(corpus)
  return LANGUAGES.flatMap((language) => {
    const share = documentFrequency(corpus, FIELD.language, language) / count
    return share > 0 ? [{ language, share }] : []
  })
}
