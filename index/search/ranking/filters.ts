/** The syntax of queries, and their filters: phrases, titles, tags, and excluded words. */
import type { Corpus } from '../segments/corpus.ts'
import type { SearchRows } from '../segments/rows.ts'
import { FIELD, tagKey } from '../segments/terms.ts'
import { allTerms, wordsOf } from '../text/analyzer.ts'
import { proseOf } from '../text/prose.ts'
import { isUnspaced } from '../text/scripts.ts'
import { fold, LANGUAGES } from '../text/stems.ts'
import { allOf, liveOf, withTerms } from './scope.ts'
import type { DocumentFilter } from './scores.ts'

/** `plain`: a query has only words. */
export type QuerySyntax = 'operators' | 'plain'

/** The parts of a query. Each list is in the order of the query. */
export interface QuestionParts {
  /** The words for ranking: free words and the words of phrases, separated by spaces. */
  readonly text: string
  /** From `"…"`: phrases that documents must contain verbatim. */
  readonly phrases: readonly string[]
  /** From `-word` and `-"…"`: words and phrases that exclude a document. */
  readonly excluded: readonly string[]
  /** From `title:word` and `title:"…"`: words that the title must have. */
  readonly titles: readonly string[]
  /** From `tag:word` and `tag:"…"`: tags that a document must have. */
  readonly tags: readonly string[]
  /** From `-title:word` and `-title:"…"`: titles with all of these words are excluded. */
  readonly excludedTitles: readonly string[]
  /** From `-tag:word` and `-tag:"…"`: tags that exclude a document. */
  readonly excludedTags: readonly string[]
}

type List = Exclude<keyof QuestionParts, 'text'>

/** The lists by prefix of the quote or word. */
const LISTS = {
  '': 'phrases',
  '-': 'excluded',
  'title:': 'titles',
  'tag:': 'tags',
  '-title:': 'excludedTitles',
  '-tag:': 'excludedTags',
} as const satisfies Record<string, List>

/** Matches a letter or digit, which makes a word. A bare `-`, `""` or `title:` is text. */
const HAS_WORD = /[\p{L}\p{N}]/u

/** The maximum number of filters of each kind. Further ones count as words. */
const MOST_OF_A_KIND = 16

/** Prefixes, longest first. */
const PREFIXES = ['-title:', '-tag:', '-', 'title:', 'tag:'] as const

/**
 * Parses a query. Anything that is not syntax is text, such as a lone quote, `C++ -`, `a-b`, `--`, `http://x`, and
 * `title:` before a space. With the syntax `plain`, all of it is text. Prefixes are lower-case. Never throws. Linear.
 */
export function parseQuestion(question: string, syntax: QuerySyntax = 'operators'): QuestionParts {
  const parts: Record<List, string[]> = {
    phrases: [],
    excluded: [],
    titles: [],
    tags: [],
    excludedTitles: [],
    excludedTags: [],
  }
  if (syntax === 'plain') return { text: question, ...parts }
  const free: string[] = []
  const lastQuote = question.lastIndexOf('"')
  for (let at = nextWord(question, 0); at < question.length; at = nextWord(question, at)) {
    const prefix = prefixAt(question, at)
    const from = at + prefix.length
    const closing = question[from] === '"' && from < lastQuote ? question.indexOf('"', from + 1) : -1
    const end = closing < 0 ? wordEnd(question, from) : closing + 1
    const value = closing < 0 ? question.slice(from, end) : question.slice(from + 1, closing).trim()
    const isWord = HAS_WORD.test(value)
    const list = parts[LISTS[prefix]]
    const hasRoom = list.length < MOST_OF_A_KIND
    const isSyntax = hasRoom && isWord && (closing >= 0 || (prefix !== '' && /^[\p{L}\p{N}]/u.test(value)))
    if (isSyntax) list.push(value)
    if (!isSyntax) free.push(question.slice(at, end))
    else if (prefix === '') free.push(value)
    at = end
  }
  return { text: free.join(' '), ...parts }
}

function prefixAt(question: string, at: number): keyof typeof LISTS {
  return PREFIXES.find((prefix) => question.startsWith(prefix, at)) ?? ''
}

function nextWord(text: string, at: number): number {
  return searchFrom(/\S/g, text, at)
}

function wordEnd(text: string, at: number): number {
  return searchFrom(/\s/g, text, at)
}

/** Returns the position of the next match, or the end of the text. */
function searchFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  return expression.exec(text)?.index ?? text.length
}

/**
 * If a query has more words outside its phrases, it is a sentence with quotations. Its phrases are not filters then.
 */
const MOST_FREE_WORDS = 3

/** Limits on reading for phrases: best hits, and UTF-16 units of all texts. About half a second. */
export const READ_FOR_PHRASES = 200
const MOST_UNITS = 4_194_304

/** Returns the phrases that matches must contain, folded. */
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

/** Returns the conditions that need only postings. Undefined if every node is admitted. */
export function conditionsOf(corpus: Corpus, parts: QuestionParts): DocumentFilter | undefined {
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

/** Returns a filter for each word of a title. */
function inTitle(corpus: Corpus, title: string): DocumentFilter[] {
  return [...new Set(allTerms(title))].map((_, at) => withWord(corpus, FIELD.title, title, at))
}

/** Filters documents with a word of `text` in the field. Any language's stem matches. */
function withWord(corpus: Corpus, field: number, text: string, at: number): DocumentFilter {
  const stems = LANGUAGES.flatMap((language) => [...new Set(allTerms(text, language))][at] ?? [])
  return withTerms(corpus, field, new Set(stems))
}

function negated(corpus: Corpus, { masks, live }: DocumentFilter): DocumentFilter {
  const all = liveOf(corpus, () => true)
  return {
    masks: masks.map((mask) => mask.map((mark) => 1 - mark)),
    live: new Set([...all].filter((n) => !live.has(n))),
  }
}

/**
 * Returns a test that a node has all wanted phrases and no excluded ones. It reads the title and the indexed text. It
 * must be called in order of rank, best first. It is false for nodes beyond the reading limit.
 */
export function phraseTest(rows: SearchRows, wanted: readonly string[], excluded: readonly string[]) {
  let left = MOST_UNITS
  let isOver = false
  const test = (id: string): boolean => {
    isOver ||= left <= 0
    if (isOver) return false
    const source = rows.textStartOf(id)
    left -= source.length
    const text = ` ${folded(`${rows.describe(id)?.title ?? ''}\n${proseOf(source).text}`)} `
    return wanted.every((phrase) => text.includes(phrase)) && !excluded.some((phrase) => text.includes(phrase))
  }
  return {
    test,
    /** True if the test has been called beyond the reading limit. */
    isOver: () => isOver,
  }
}

/** Folds a phrase. Matches only whole words if its script has spaces. */
function phraseOf(text: string): string {
  const words = folded(text)
  return isUnspaced(words) ? words : ` ${words} `
}

/** Folds words to lower case without accents, separated by one space. */
function folded(text: string): string {
  return fold(text.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim())
}
