/** Detects the language of texts, and finds the terms of queries in several languages. */
import { type Word, wordsOf } from './analyzer.ts'
import { isLanguage, type Language } from './stems.ts'

/** Returns the language of a text, English unless another one is reliably detected. 0.1 to 0.3 ms. */
export type LanguageOf = (text: string) => Language

/** The share of documents in a language, 0 to 1. */
export interface Share {
  language: Language
  share: number
}

/** A term that a word of a query may have in documents. */
interface WeightedStem {
  term: string
  /** 1 for the stem in the query's language. */
  weight: number
}

/** A word of a query. `stems` are distinct. The first one is `term`, from the query's language. */
export interface QuestionWord extends Word {
  stems: readonly WeightedStem[]
}

/** The number of UTF-16 units at the beginning of a text that determine its language. */
const SAMPLE = 300

/** How much likelier than English a language must be. Short titles and names look like many languages. */
const LEAD = 0.1

/** The least share of a language, 0 to 1. Rarer ones are found only by words with the same stem in another language. */
const LEAST_SHARE = 0.05

/** The weight of stems in languages other than the query's. */
const FOREIGN_WEIGHT = 0.3

/** Loads the language detector on demand: 29 MB of heap, 0.2 s of CPU time. Its results depend only on the text. */
export async function loadLanguages(): Promise<LanguageOf> {
  const { eld } = await import('eld/extrasmall')
  return (text) => {
    const found = eld.detect(text.slice(0, SAMPLE))
    const { en = 0, [found.language]: likelihood = 0 } = found.getScores()
    return isLanguage(found.language) && found.isReliable() && likelihood - en >= LEAD ? found.language : 'en'
  }
}

/**
 * Returns the words of a query with their terms in the common languages. Common means at least 5 % of the documents.
 * The query's language is `language` if it is common, otherwise the language of most documents.
 */
export function questionTerms(text: string, language: Language, shares: readonly Share[]): QuestionWord[] {
  const usual = shares
    .filter(({ share }) => share >= LEAST_SHARE)
    .sort((a, b) => b.share - a.share || (a.language < b.language ? -1 : 1))
  const languages = usual.map((share) => share.language)
  const own = languages.includes(language) ? language : (languages[0] ?? language)
  const inOthers = languages.filter((other) => other !== own).map((other) => [...wordsOf(text, other)])
  return Array.from(wordsOf(text, own), (word, at) => {
    const others = new Set(inOthers.map((words) => words[at]?.term ?? word.term))
    others.delete(word.term)
    return {
      ...word,
      stems: [{ term: word.term, weight: 1 }, ...[...others].map((term) => ({ term, weight: FOREIGN_WEIGHT }))],
    }
  })
}
