/**
 * A small MiniSearch index of the documents that changed since the last segment. Scores must equal MiniSearch's,
 * however a corpus is divided. That needs MiniSearch's private counts and lengths, which only this file accesses.
 */
import MiniSearch from 'minisearch'
import type { LivePostings, Unsorted } from './segment.ts'

/** The terms of one document by field, in order, with repetitions. */
export interface CorpusDocument {
  readonly id: string
  readonly terms: readonly (readonly string[])[]
  /** The time of the last change, in milliseconds since 1970. */
  readonly time: number
}

/** The documents that changed since the last segment. */
export interface MemTable {
  readonly mini: MiniSearch<CorpusDocument>
  readonly documents: Map<string, CorpusDocument>
  /** The number of terms in all documents, with repetitions. */
  size: number
  /** The number of additions and removals. */
  changes: number
  /** Sums of document lengths, by field. */
  readonly totalLengths: number[]
}

// Protected members of MiniSearch 7.2.0 (pinned). TypeScript allows access in brackets, and checks types.
const LENGTHS = '_fieldLength'
const SHORT_IDS = '_idToShortId'
const IDS = '_documentIds'
const POSTINGS = '_index'
const NEXT_ID = '_nextId'

let isChecked = false

export function createLive(fieldCount: number): MemTable {
  if (!isChecked) {
    const mini = newMini(['0'])
    mini.add(PROBE)
    requireMembers(mini)
    isChecked = true
  }
  const fields = Array.from({ length: fieldCount }, (_, field) => String(field))
  return { mini: newMini(fields), documents: new Map(), size: 0, changes: 0, totalLengths: fields.map(() => 0) }
}

function newMini(fields: string[]): MiniSearch<CorpusDocument> {
  return new MiniSearch<CorpusDocument>({
    fields,
    storeFields: [],
    autoVacuum: false,
    extractField: (document, field) => (field === 'id' ? document.id : (document.terms[Number(field)] as unknown)), // terms
    stringifyField: (terms) => terms as string, // the terms from extractField
    tokenize: (terms) => terms as unknown as string[], // the terms from extractField
    processTerm: (term) => term,
  })
}

/** The test document for `requireMembers`. */
export const PROBE: CorpusDocument = { id: 'probe', terms: [['whale', 'whale', 'sea']], time: 0 }

/** Checks of each member, for an index that holds only `PROBE`. */
const EXPECTED: Readonly<Record<string, (mini: MiniSearch<CorpusDocument>) => boolean>> = {
  [NEXT_ID]: (mini) => mini[NEXT_ID] === 1,
  [IDS]: (mini) => mini[IDS].size === 1 && mini[IDS].get(0) === PROBE.id,
  [SHORT_IDS]: (mini) => mini[SHORT_IDS].get(PROBE.id) === 0,
  [LENGTHS]: (mini) => mini[LENGTHS].get(0)?.[0] === 2,
  [POSTINGS]: (mini) =>
    [...mini[POSTINGS]].length === 2 &&
    mini[POSTINGS].get('whale')?.get(0)?.get(0) === 2 &&
    mini[POSTINGS].fuzzyGet('whole', 1).get('whale')?.[1] === 1 &&
    [...mini[POSTINGS].atPrefix('wh').keys()].join() === 'whale',
}

/** Checks MiniSearch's members. @throws Error that names the missing or changed members, and says what to do */
export function requireMembers(mini: MiniSearch<CorpusDocument>): void {
  const wrong = Object.keys(EXPECTED).filter((name) => !isAsExpected(mini, name))
  if (wrong.length === 0) return
  throw new Error(
    `The search cannot read this version of MiniSearch: ${wrong.join(', ')} is missing or has changed. ` +
      'Install minisearch 7.2.0, or adapt index/search/segments/live-index.ts to the new version.',
  )
}

function isAsExpected(mini: MiniSearch<CorpusDocument>, name: string): boolean {
  try {
    return EXPECTED[name]?.(mini) === true
  } catch {
    // The member has another type, without such a method.
    return false
  }
}

/** Adds a document. The live index must not have one with its id. */
export function addLive(live: MemTable, document: CorpusDocument): void {
  live.mini.add(document)
  live.documents.set(document.id, document)
  countLive(live, document, 1)
}

export function removeLive(live: MemTable, id: string): void {
  const known = live.documents.get(id)
  if (!known) return
  countLive(live, known, -1)
  // `discard` would leave postings, so scores would be wrong until a vacuum.
  live.mini.remove(known)
  live.documents.delete(id)
}

function countLive(live: MemTable, { id, terms }: CorpusDocument, sign: 1 | -1): void {
  live.changes++
  live.size += sign * terms.reduce((sum, list) => sum + list.length, 0)
  for (const field of live.totalLengths.keys())
    live.totalLengths[field] = (live.totalLengths[field] ?? 0) + sign * liveLength(live, shortIdOf(live, id), field)
}

/** Returns MiniSearch's number of a live document, or -1 if there is no such document. */
export function shortIdOf({ mini }: MemTable, id: string): number {
  return mini[SHORT_IDS].get(id) ?? -1
}

/** Returns the id of the document with MiniSearch's number. */
export function liveIdOf({ mini }: MemTable, shortId: number): string {
  return String(mini[IDS].get(shortId))
}

/** Returns the number of distinct terms of a live document in the field. */
export function liveLength({ mini }: MemTable, shortId: number, field: number): number {
  return mini[LENGTHS].get(shortId)?.[field] ?? 0
}

export function livePostings({ mini }: MemTable, term: string): LivePostings | undefined {
  return mini[POSTINGS].get(term)
}

/** Returns the live terms within an edit distance, with their distances. */
export function similarLive({ mini }: MemTable, term: string, distance: number): [string, number][] {
  return [...mini[POSTINGS].fuzzyGet(term, distance)].map(([similar, [, edits]]): [string, number] => [similar, edits])
}

/** Returns live terms that begin with a word, at most `limit`. */
export function beginningLive({ mini }: MemTable, word: string, limit: number): string[] {
  const found: string[] = []
  for (const term of mini[POSTINGS].atPrefix(word).keys()) {
    if (found.length === limit) break
    found.push(term)
  }
  return found
}

/** Returns the contents of the live index, for `flattenIndex`. */
export function unsortedOf({ mini, documents }: MemTable): Unsorted {
  return {
    ids: mini[IDS],
    idsEnd: mini[NEXT_ID],
    lengths: mini[LENGTHS],
    postings: mini[POSTINGS],
    timeOf: (id) => documents.get(id)?.time ?? 0,
  }
}
