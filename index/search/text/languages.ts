/** The language of a text, and the terms of a question to documents in several languages. */
import { type Word, wordsOf } from './analyzer.ts'
import { isLanguage, type Language } from './stems.ts'

/** Which language a text is in: English unless another one is reliably so. 0.1 to 0.3 ms. */
export type LanguageOf = (text: string) => Language

/** How many of the documents, 0 to 1, are in a language. */
export interface Share {
  language: Language
  share: number
}

/** A term that a word of a question may have in documents. */
interface WeightedStem {
  term: string
  /** 1 for the stem in the question's own language. */
  weight: number
}

/** `stems` are distinct, the one of the question's own language first; it is `term`. */
export interface QuestionWord extends Word {
  stems: readonly WeightedStem[]
}

/** UTF-16 units at the beginning of a text that tell its language. */
const SAMPLE = 300

/** How much likelier than English a language must be. Titles that are short or names look like many languages. */
const LEAD = 0.1

/** Documents in a language of fewer, 0 to 1, are found only by words that have the same stem in another one. */
const LEAST_SHARE = 0.05

/** Weight of the stem in a language that the question is not in. */
const FOREIGN_WEIGHT = 0.3

/** Loads the detector of languages on demand: 29 MB of heap, 0.2 s of computing. Its answers depend on the text alone. */
export async function loadLanguages(): Promise<LanguageOf> {
  const { eld } = await import('eld/extrasmall')
  return (text) => {
    const found = eld.detect(text.slice(0, SAMPLE))
    const { en = 0, [found.language]: likelihood = 0 } = found.getScores()
    return isLanguage(found.language) && found.isReliable() && likelihood - en >= LEAD ? found.language : 'en'
  }
}

/**
 * The words of a question with their terms in the languages of at least 5 % of the documents. The question's own language
 * is `language` if it is one of these, otherwise that of most documents.
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
