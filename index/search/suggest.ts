/** Suggests titles for what is typed so far. */
import type { Corpus, CorpusDocument, Frozen } from './corpus.ts'
import type { SearchRows } from './rows.ts'
import { inField, postingOf } from './segment.ts'
import { similarIn } from './similar.ts'
import { rankOf, ranksBeginning, type StringTable, sizeOf, stringAt, tableOf } from './string-table.ts'
import { FIELD } from './terms.ts'
import { titleWords, typedWords } from './title-words.ts'

/** As in spec/openapi.yaml; the caller has checked its shape. */
export interface SuggestQuestion {
  /** What is typed so far. */
  query: string
  limit: number
}

interface Suggestion {
  node_id: string
  title: string
}

export interface Suggestions {
  query: string
  suggestions: Suggestion[]
}

/** Titles whose nodes are read and ordered by their edges, which takes 10 µs each. */
const MOST_CANDIDATES = 100

/** A title with more words counts as one with so many, when candidates are chosen. */
const MOST_WORDS = 255

/** Code points of a word that may have a typing error, and the first words that may: each walks all words of titles. */
const MISSPELT = { shortest: 4, longest: 32, most: 8 } as const

/** What is typed, read in three ways. */
interface Typed {
  /** What titles must have a word beginning with; none begins another one. */
  readonly words: readonly string[]
  /** Of these, those that may have an error. */
  readonly misspelt: ReadonlySet<string>
  /** The words that it has as a title. */
  readonly asTitle: readonly string[]
}

/** A segment, or all that is live, with the documents that match. */
interface Part {
  /** In any order, each once; those that cannot be candidates may be missing. */
  readonly matching: readonly number[]
  /** By document: how many of the typed words have an error. */
  readonly edits: Uint8Array
  idOf(document: number): string
  /** By document: distinct words of the title. */
  readonly lengths: Uint32Array
  /** Whether the title has these words as they are. */
  hasAll(document: number, words: readonly string[]): boolean
  /** By their ids. */
  isBefore(document: number, other: number): boolean
}

interface Candidate {
  readonly id: string
  readonly edits: number
}

/**
 * The titles in which each typed word begins a word; where there is none, words of four letters and more may differ from the
 * beginning of a word by one edit. In order: the title that is typed; fewer errors; more edges; shorter (UTF-16); id.
 * Of more than 100 titles those with the fewest words are ordered. `corpus` and `rows` are of one moment; the answer does not
 * depend on the parts of the corpus. @throws what better-sqlite3 throws
 */
export function suggest(corpus: Corpus, rows: SearchRows, { query, limit }: SuggestQuestion): Suggestions {
  const typed = typedWords(query)
  if (typed.length === 0) return { query, suggestions: [] }
  const words = longest(typed)
  const asTitle = titleWords(query)
  const find = (misspelt: ReadonlySet<string>) => candidates(partsOf(corpus, { words, misspelt, asTitle }), asTitle)
  const strictly = find(new Set())
  const misspelt = new Set(words.filter(mayBeMisspelt).slice(0, MISSPELT.most))
  const found = strictly.length > 0 || misspelt.size === 0 ? strictly : find(misspelt)
  const typedTitle = typed.join(' ')
  const described = found.flatMap(({ id, edits }) => {
    const node = rows.titleOf(id)
    if (node === undefined) return []
    const isTyped = typedWords(node.title).join(' ') === typedTitle
    return [{ id, ...node, edits: isTyped ? -1 : edits }]
  })
  described.sort(
    (a, b) => a.edits - b.edits || b.edges - a.edges || a.title.length - b.title.length || (a.id < b.id ? -1 : 1),
  )
  return { query, suggestions: described.slice(0, limit).map(({ id, title }) => ({ node_id: id, title })) }
}

/** Without those that begin another one: a title that has that one has them, too. */
function longest(words: readonly string[]): string[] {
  const sorted = [...new Set(words)].sort()
  const beginnings = new Set(sorted.filter((word, n) => sorted[n + 1]?.startsWith(word)))
  return [...new Set(words)].filter((word) => !beginnings.has(word))
}

function mayBeMisspelt(word: string): boolean {
  const { length } = [...word]
  return length >= MISSPELT.shortest && length <= MISSPELT.longest
}

/** The first by: the words that are typed and no others; errors; number of words; id. */
function candidates(parts: readonly Part[], asTitle: readonly string[]): Candidate[] {
  const counts = new Uint32Array((MISSPELT.most + 1) * (MOST_WORDS + 1) + 1)
  const kinds = parts.map((part) => {
    const ofPart = new Uint16Array(part.matching.length)
    for (let n = 0; n < ofPart.length; n++) {
      const kind = kindOf(part, part.matching[n] ?? 0, asTitle)
      ofPart[n] = kind
      counts[kind] = (counts[kind] ?? 0) + 1
    }
    return ofPart
  })
  let last = 0
  for (let sum = counts[0] ?? 0; last < counts.length - 1 && sum < MOST_CANDIDATES; sum += counts[++last] ?? 0);
  const surely: Candidate[] = []
  const perhaps: Candidate[] = []
  for (const [i, part] of parts.entries()) {
    const candidate = (document: number) => ({ id: part.idOf(document), edits: part.edits[document] ?? 0 })
    const first = firstOf(part)
    const ofPart = kinds[i] ?? new Uint16Array(0)
    for (let n = 0; n < ofPart.length; n++) {
      const kind = ofPart[n] ?? 0
      const document = part.matching[n] ?? 0
      if (kind < last) surely.push(candidate(document))
      else if (kind === last) first.add(document)
    }
    perhaps.push(...first.documents.map(candidate))
  }
  perhaps.sort((a, b) => (a.id < b.id ? -1 : 1))
  return [...surely, ...perhaps.slice(0, MOST_CANDIDATES - surely.length)]
}

/** Keeps the documents with the first ids of those that it is given, in their order. */
function firstOf({ isBefore }: Part) {
  const documents: number[] = []
  const add = (document: number): void => {
    let at = documents.length
    while (at > 0 && isBefore(document, documents[at - 1] ?? 0)) at--
    if (at === MOST_CANDIDATES) return
    documents.splice(at, 0, document)
    if (documents.length > MOST_CANDIDATES) documents.pop()
  }
  return { documents, add }
}

/** The place of the document among the candidates. */
function kindOf(part: Part, document: number, asTitle: readonly string[]): number {
  const length = part.lengths[document] ?? 0
  if (length === asTitle.length && part.hasAll(document, asTitle)) return 0
  return 1 + (part.edits[document] ?? 0) * (MOST_WORDS + 1) + Math.min(length, MOST_WORDS)
}

function partsOf({ frozen, live }: Corpus, typed: Typed): Part[] {
  return [...frozen.map((part) => frozenPart(part, typed)), livePart([...live.documents.values()], typed)]
}

function frozenPart({ segment, dead }: Frozen, { words, misspelt, asTitle }: Typed): Part {
  const { terms, ids } = segment
  const { documents, starts } = segment.fields[FIELD.words] ?? neverEmpty()
  const lengths = segment.lengths[FIELD.words] ?? neverEmpty()
  /** How many of the typed words each title has. */
  const found = new Uint16Array(sizeOf(ids))
  const edits = new Uint8Array(sizeOf(ids))
  const matching: number[] = []
  const shortest = shortestOf()
  /** The documents with the terms of these ranks that have the first `n` words, with an error in the next one or without. */
  const mark = (from: number, to: number, n: number, error: 0 | 1) => {
    const isLast = n + 1 === words.length
    const end = starts[to] ?? 0
    for (let at = starts[from] ?? 0; at < end; at++) {
      const document = documents[at] ?? 0
      const length = lengths[document] ?? 0
      // A title of as many words may be the one that is typed.
      if (isLast && length > shortest.limit && length !== asTitle.length) continue
      if (found[document] !== n || dead[document] === 1) continue
      found[document] = n + 1
      const errors = (edits[document] ?? 0) + error
      edits[document] = errors
      if (!isLast) continue
      matching.push(document)
      if (errors === 0) shortest.add(length)
    }
  }
  for (const [n, word] of words.entries()) {
    const { from, to } = ranksBeginning(terms, word)
    mark(from, to, n, 0)
    if (!misspelt.has(word)) continue
    const similar = similarIn(terms, word, 1, 'beginning', inField(segment, FIELD.words))
    for (const { rank } of similar) mark(rank, rank + 1, n, 1)
  }
  const rankOfTitle = new Map(asTitle.map((word) => [word, rankOf(terms, word)]))
  const has = (document: number, rank = -1) =>
    rank >= 0 && postingOf(documents, starts[rank] ?? 0, starts[rank + 1] ?? 0, document) >= 0
  return {
    matching,
    edits,
    idOf: (document) => stringAt(ids, document),
    lengths,
    hasAll: (document, all) => all.every((word) => has(document, rankOfTitle.get(word))),
    isBefore: (document, other) => document < other,
  }
}

/** The number of words up to which 100 titles without an error have been counted: of longer ones none is a candidate. */
function shortestOf() {
  const counts = new Uint32Array(MOST_WORDS)
  let sum = 0
  const shortest = { limit: Number.POSITIVE_INFINITY, add }
  return shortest

  /** Counts those that are below the limit, and lowers it while the others are enough. */
  function add(length: number): void {
    if (length >= MOST_WORDS || length > shortest.limit) return
    counts[length] = (counts[length] ?? 0) + 1
    sum++
    if (shortest.limit === Number.POSITIVE_INFINITY && sum >= MOST_CANDIDATES) shortest.limit = MOST_WORDS - 1
    for (
      let longest = counts[shortest.limit] ?? 0;
      sum - longest >= MOST_CANDIDATES;
      longest = counts[shortest.limit] ?? 0
    ) {
      sum -= longest
      shortest.limit--
    }
  }
}

function neverEmpty(): never {
  throw new Error('A segment lacks the words of titles')
}

/** As a segment of them would be. */
function livePart(documents: readonly CorpusDocument[], { words, misspelt }: Typed): Part {
  const titles = documents.map(({ terms }) => terms[FIELD.words] ?? [])
  const edits = new Uint8Array(documents.length)
  const known = misspelt.size === 0 ? undefined : sortedTable(titles.flat())
  let matching = [...documents.keys()]
  for (const word of words) {
    const similar = known && misspelt.has(word) ? similarTo(known, word) : undefined
    matching = matching.filter((document) => {
      const title = titles[document] ?? []
      if (title.some((one) => one.startsWith(word))) return true
      if (!similar || !title.some((one) => similar.has(one))) return false
      edits[document] = (edits[document] ?? 0) + 1
      return true
    })
  }
  return {
    matching,
    edits,
    idOf: (document) => documents[document]?.id ?? '',
    lengths: Uint32Array.from(titles, (title) => title.length),
    hasAll: (document, all) => all.every((word) => titles[document]?.includes(word)),
    isBefore: (document, other) => (documents[document]?.id ?? '') < (documents[other]?.id ?? ''),
  }
}

function similarTo(known: StringTable, word: string): Set<string> {
  return new Set(similarIn(known, word, 1, 'beginning').map(({ rank }) => stringAt(known, rank)))
}

function sortedTable(words: readonly string[]): StringTable {
  return tableOf([...new Set(words)].map((word) => Buffer.from(word)).sort(Buffer.compare))
}
