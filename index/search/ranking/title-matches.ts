/** The titles that match what is typed, in each part of a corpus. */
import type { Corpus, SegmentView } from '../segments/corpus.ts'
import type { MemTable } from '../segments/live-index.ts'
import { inField, postingOf } from '../segments/segment.ts'
import { rankOf, ranksBeginning, type StringTable, sizeOf, stringAt, tableOf } from '../segments/string-table.ts'
import { FIELD } from '../segments/terms.ts'
import { similarIn } from './similar.ts'

/** Titles that are ordered by the edges of their nodes, whose count takes 5 µs each. */
export const MOST_CANDIDATES = 100

/** A title with more words counts as one with so many, when candidates are chosen. */
export const MOST_WORDS = 255

/** What is typed, read in three ways. */
export interface Typed {
  /** What titles must have a word beginning with; none begins another one. */
  readonly words: readonly string[]
  /** Of these, those that may have an error. */
  readonly misspelt: ReadonlySet<string>
  /** The words that it has as a title. */
  readonly asTitle: readonly string[]
}

/** A segment, or all that is live, with the documents that match. Valid until the next call of `partsOf`. */
export interface Part {
  /** In any order, each once; those that cannot be candidates may be missing. */
  readonly matching: Uint32Array
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

/** What is noted of each document of the segments: a question has no memory of its own for them, which would be collected. */
interface Notes {
  /** How many of the typed words its title has. */
  readonly found: Uint16Array
  readonly edits: Uint8Array
  /** Room for the numbers of those that match. */
  readonly matching: Uint32Array
}

let notes = notesFor(0)

function notesFor(size: number): Notes {
  return { found: new Uint16Array(size), edits: new Uint8Array(size), matching: new Uint32Array(size) }
}

export function partsOf({ frozen, live }: Corpus, typed: Typed): Part[] {
  const size = frozen.reduce((sum, { segment }) => sum + sizeOf(segment.ids), 0)
  if (notes.edits.length < size) notes = notesFor(size)
  notes.found.fill(0, 0, size)
  notes.edits.fill(0, 0, size)
  let from = 0
  const parts = frozen.map((part) => {
    const to = from + sizeOf(part.segment.ids)
    const { found, edits, matching } = notes
    const ofPart = {
      found: found.subarray(from, to),
      edits: edits.subarray(from, to),
      matching: matching.subarray(from, to),
    }
    from = to
    return frozenPart(part, ofPart, typed)
  })
  return [...parts, livePart(live, typed)]
}

function frozenPart({ segment, dead }: SegmentView, { found, edits, matching }: Notes, typed: Typed): Part {
  const { words, misspelt, asTitle } = typed
  const { terms, ids } = segment
  const { documents, starts } = segment.fields[FIELD.words] ?? neverEmpty()
  const lengths = segment.lengths[FIELD.words] ?? neverEmpty()
  let count = 0
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
      matching[count++] = document
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
    matching: matching.subarray(0, count),
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
function livePart(live: MemTable, { words, misspelt }: Typed): Part {
  const documents = [...live.documents.values()]
  const titles = documents.map(({ terms }) => terms[FIELD.words] ?? [])
  const edits = new Uint8Array(documents.length)
  let matching = [...documents.keys()]
  for (const word of words) {
    const similar = misspelt.has(word) ? similarTo(wordsOf(live), word) : undefined
    matching = matching.filter((document) => {
      const title = titles[document] ?? []
      if (title.some((one) => one.startsWith(word))) return true
      if (!similar || !title.some((one) => similar.has(one))) return false
      edits[document] = (edits[document] ?? 0) + 1
      return true
    })
  }
  return {
    matching: Uint32Array.from(matching),
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

/** The words of live titles, as they were after so many changes: sorting those of 1,000 takes 3 ms. */
const liveWords = new WeakMap<MemTable, { readonly changes: number; readonly table: StringTable }>()

function wordsOf(live: MemTable): StringTable {
  const known = liveWords.get(live)
  if (known?.changes === live.changes) return known.table
  const words = new Set([...live.documents.values()].flatMap(({ terms }) => terms[FIELD.words] ?? []))
  const table = tableOf([...words].map((word) => Buffer.from(word)).sort(Buffer.compare))
  liveWords.set(live, { changes: live.changes, table })
  return table
}
