/** What a question demands of its matches beside the words that rank them: phrases, titles, tags, and words left out. */

import type { Corpus } from '../segments/corpus.ts'
import type { SearchRows } from '../segments/rows.ts'
import { FIELD, tagKey } from '../segments/terms.ts'
import { allTerms, wordsOf } from '../text/analyzer.ts'
import { proseOf } from '../text/prose.ts'
import { isUnspaced } from '../text/scripts.ts'
import { fold, LANGUAGES } from '../text/stems.ts'
import type { QuestionParts } from './query-syntax.ts'
import { both, liveOf, withTerms } from './scope.ts'
import type { Admission } from './scores.ts'

/** Words beside the phrases up to which a question is one of syntax: a longer sentence quotes, and demands nothing. */
const MOST_FREE_WORDS = 3

/** The best hits whose texts are read for phrases, and UTF-16 units of all texts: half a second. */
export const READ_FOR_PHRASES = 200
const MOST_UNITS = 4_194_304

/** The phrases that matches must have, folded. */
export function strictPhrases({ text, phrases }: QuestionParts): readonly string[] {
  const words = (part: string) => [...wordsOf(part)].length
  const free = words(text) - phrases.reduce((sum, phrase) => sum + words(phrase), 0)
  return free > MOST_FREE_WORDS ? [] : phrases.map(phraseOf)
}

export function excludedPhrases({ excluded }: QuestionParts): readonly string[] {
  return excluded.filter(isPhrase).map(phraseOf)
}

function isPhrase(part: string): boolean {
  return /\s/.test(part)
}

/** The conditions that the postings alone decide; undefined: every node is admitted. */
export function conditionsOf(corpus: Corpus, parts: QuestionParts): Admission | undefined {
  const { titles, tags, excluded, excludedTitles, excludedTags } = parts
  const excludedWords = excluded.filter((part) => !isPhrase(part))
  const withTag = (tag: string) => withTerms(corpus, FIELD.tags, new Set([tagKey(tag)]))
  return allOf([
    ...tags.map(withTag),
    ...titles.flatMap((title) => inTitle(corpus, title)),
    ...excludedWords.map((word) => negated(corpus, withWord(corpus, FIELD.all, word, 0))),
    ...excludedTags.map((tag) => negated(corpus, withTag(tag))),
    ...excludedTitles.flatMap((title) => {
      const all = allOf(inTitle(corpus, title))
      return all ? [negated(corpus, all)] : []
    }),
  ])
}

function allOf([first, ...others]: readonly Admission[]): Admission | undefined {
  return first && others.reduce(both, first)
}

/** One for each word. */
function inTitle(corpus: Corpus, title: string): Admission[] {
  return [...new Set(allTerms(title))].map((_, at) => withWord(corpus, FIELD.title, title, at))
}

/** The documents that have the word at this place of `text` in the field, by its stem in any language. */
function withWord(corpus: Corpus, field: number, text: string, at: number): Admission {
  const stems = LANGUAGES.flatMap((language) => [...new Set(allTerms(text, language))][at] ?? [])
  return withTerms(corpus, field, new Set(stems))
}

function negated(corpus: Corpus, { masks, live }: Admission): Admission {
  const all = liveOf(corpus, () => true)
  return {
    masks: masks.map((mask) => mask.map((mark) => 1 - mark)),
    live: new Set([...all].filter((n) => !live.has(n))),
  }
}

/**
 * Whether the node's title or the indexed part of its text has all of the phrases, and none that is left out. Asked from the
 * best hit on; false for those that are not read any more.
 */
export function phraseTest(rows: SearchRows, wanted: readonly string[], excluded: readonly string[]) {
  let left = MOST_UNITS
  return (id: string): boolean => {
    if (left <= 0) return false
    const source = rows.textStartOf(id)
    left -= source.length
    const text = ` ${folded(`${rows.describe(id)?.title ?? ''}\n${proseOf(source).text}`)} `
    return wanted.every((phrase) => text.includes(phrase)) && !excluded.some((phrase) => text.includes(phrase))
  }
}

/** Whole words, where its script has spaces. */
function phraseOf(text: string): string {
  const words = folded(text)
  return isUnspaced(words) ? words : ` ${words} `
}

/** Words without case and accents, with one space between them. */
function folded(text: string): string {
  return fold(text.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim())
}
