/** Reads the syntax of a question: phrases, words left out, titles and tags. */

/** What a question asks for. Each list is in the order of the question. */
export interface QuestionParts {
  /** The free words, and the words of phrases, separated by spaces; these are ranked. */
  readonly text: string
  /** From `"…"`: what documents must have word for word. */
  readonly phrases: readonly string[]
  /** From `-word` and `-"…"`: a document with any of these is no answer. */
  readonly excluded: readonly string[]
  /** From `title:word` and `title:"…"`: words that the title must have. */
  readonly titles: readonly string[]
  /** From `tag:word` and `tag:"…"`: tags that a document must have. */
  readonly tags: readonly string[]
  /** From `-title:word` and `-title:"…"`: a title with all of its words is that of no answer. */
  readonly excludedTitles: readonly string[]
  /** From `-tag:word` and `-tag:"…"`: tags that no answer has. */
  readonly excludedTags: readonly string[]
}

type List = Exclude<keyof QuestionParts, 'text'>

/** By what stands before the quote or word. */
const LISTS = {
  '': 'phrases',
  '-': 'excluded',
  'title:': 'titles',
  'tag:': 'tags',
  '-title:': 'excludedTitles',
  '-tag:': 'excludedTags',
} as const satisfies Record<string, List>

/** A letter or digit makes it a word: `-`, `""` and `title:` alone are text. */
const HAS_WORD = /[\p{L}\p{N}]/u

/** Of each list the first count; what follows is words. */
const MOST_OF_A_KIND = 16

/** The longest first. */
const PREFIXES = ['-title:', '-tag:', '-', 'title:', 'tag:'] as const

/**
 * Reads a question. What is no syntax is text, as it stands: a lone quote, `C++ -`, `a-b`, `--`, `http://x`, `title:` before
 * a space. Prefixes are in small letters. Never throws; linear.
 */
export function parseQuestion(question: string): QuestionParts {
  const parts: Record<List, string[]> = {
    phrases: [],
    excluded: [],
    titles: [],
    tags: [],
    excludedTitles: [],
    excludedTags: [],
  }
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

/** Where the next match begins, the text's end if there is none. */
function searchFrom(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from
  return expression.exec(text)?.index ?? text.length
}
