/** Finds the titles that match a typed text, in each part of a corpus. */

import * as limits from '../../limits.ts'
import type { Corpus, SegmentView } from '../segments/corpus.ts'
import type { MemTable } from '../segments/live-index.ts'
import { inField, postingOf } from '../segments/segment.ts'
import { rankOf, ranksBeginning, type StringTable, sizeOf, stringAt, tableOf } from '../segments/string-table.ts'
import { FIELD } from '../segments/terms.ts'
import { similarIn } from './similar.ts'

/** The limit of a title's word count in the choice of candidates. Longer titles count as this long. */
export const MOST_WORDS = 255

/** A typed text, interpreted in three ways. */
export interface Typed {
  /** The prefixes that titles must have a word for. No prefix is a prefix of another one. */
  readonly words: readonly string[]
  /** The words that may have a typing error. */
  readonly misspelt: ReadonlySet<string>
  /** The words of the text as a title. */
  readonly asTitle: readonly string[]
}

/** A segment, or the live index, with the matching documents. Valid until the next call of `partsOf`. */
export interface Part {
  /** Matching documents in any order, each once. Documents that cannot be candidates may be missing. */
  readonly matching: Uint32Array
  /** The number of typed words with an error, by document. */
  readonly edits: Uint8Array
  idOf(document: number): string
  /** The number of distinct words of the title, by document. */
  readonly lengths: Uint32Array
  /** True if the title has exactly these words. */
  hasAll(document: number, words: readonly string[]): boolean
  /** Compares documents by id. */
  isBefore(document: number, other: number): boolean
}

/** Working memory for the documents of all segments. Queries share it, to avoid garbage. */
interface Notes {
  /** The number of typed words that the title has. */
  readonly found: Uint16Array
  readonly edits: Uint8Array
  /** Space for the numbers of matching documents. */
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
  /**
   * Marks documents with the first `n` words that also have a term of these ranks.
   *
   * @param error 1 if it has a typing error
   */
  const mark = (from: number, to: number, n: number, error: 0 | 1) => {
    const isLast = n + 1 === words.length
    const end = starts[to] ?? 0
    for (let at = starts[from] ?? 0; at < end; at++) {
      const document = documents[at] ?? 0
      const length = lengths[document] ?? 0
      // A title with the same number of words may be the typed one.
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

/**
 * Tracks the number of words within which there are 100 titles without an error. Longer titles cannot be candidates.
 */
function shortestOf() {
  const counts = new Uint32Array(MOST_WORDS)
  let sum = 0
  const shortest = { limit: Number.POSITIVE_INFINITY, add }
  return shortest

  /** Counts a title within the limit. Lowers the limit while enough titles remain. */
  function add(length: number): void {
    if (length >= MOST_WORDS || length > shortest.limit) return
    counts[length] = (counts[length] ?? 0) + 1
    sum++
    if (shortest.limit === Number.POSITIVE_INFINITY && sum >= limits.suggestedTitles) shortest.limit = MOST_WORDS - 1
    for (
      let longest = counts[shortest.limit] ?? 0;
      sum - longest >= limits.suggestedTitles;
      longest = counts[shortest.limit] ?? 0
    ) {
      sum -= longest
      shortest.limit--
    }
  }
}

function neverEmpty(): never {
  throw new Error('A segment has no field of title words')
}

/** Matches the titles of the live index. */
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

/** A cache of the words of live titles, valid for a number of changes. Sorting the words of 1,000 titles takes 3 ms. */
const liveWords = new WeakMap<MemTable, { readonly changes: number; readonly table: StringTable }>()

function wordsOf(live: MemTable): StringTable {
  const known = liveWords.get(live)
  if (known?.changes === live.changes) return known.table
  const words = new Set([...live.documents.values()].flatMap(({ terms }) => terms[FIELD.words] ?? []))
  const table = tableOf([...words].map((word) => Buffer.from(word)).sort(Buffer.compare))
  liveWords.set(live, { changes: live.changes, table })
  return table
}
