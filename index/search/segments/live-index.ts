/**
 * The documents that have changed since the last segment, in a small MiniSearch index. Scores are equal to MiniSearch's for any
 * parts of a corpus, so they need its counts and lengths, which it keeps to itself: only this file reaches into it.
 */
import MiniSearch from 'minisearch'
import type { LivePostings, Unsorted } from './segment.ts'

/** The terms of one document: by field, in their order, with repetitions. */
export interface CorpusDocument {
  readonly id: string
  readonly terms: readonly (readonly string[])[]
  /** Milliseconds since 1970. */
  readonly time: number
}

/** What has changed since the last segment. */
export interface MemTable {
  readonly mini: MiniSearch<CorpusDocument>
  readonly documents: Map<string, CorpusDocument>
  /** Terms of all documents, with repetitions. */
  size: number
  /** How many documents have been added and removed. */
  changes: number
  /** By field. */
  readonly totalLengths: number[]
}

// Protected members of MiniSearch 7.2.0 (pinned); TypeScript allows and checks access through such names.
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
    extractField: (document, field) => (field === 'id' ? document.id : (document.terms[Number(field)] as unknown)), // terms pass through as they are
    stringifyField: (terms) => terms as string, // as extractField gives them
    tokenize: (terms) => terms as unknown as string[], // as extractField gives them
    processTerm: (term) => term,
  })
}

/** The document by which `requireMembers` judges. */
export const PROBE: CorpusDocument = { id: 'probe', terms: [['whale', 'whale', 'sea']], time: 0 }

/** What each member must say of an index that holds `PROBE` alone. */
const EXPECTED: Readonly<Record<string, (mini: MiniSearch<CorpusDocument>) => boolean>> = {
  [NEXT_ID]: (mini) => mini[NEXT_ID] === 1,
  [IDS]: (mini) => mini[IDS].size === 1 && mini[IDS].get(0) === PROBE.id,
  [SHORT_IDS]: (mini) => mini[SHORT_IDS].get(PROBE.id) === 0,
  [LENGTHS]: (mini) => mini[LENGTHS].get(0)?.[0] === 2,
  [POSTINGS]: (mini) =>
    [...mini[POSTINGS]].length === 2 &&
    mini[POSTINGS].get('whale')?.get(0)?.get(0) === 2 &&
    mini[POSTINGS].fuzzyGet('whole', 1).get('whale')?.[1] === 1,
}

/** @throws Error that names the members which are missing or of another kind, and says what to do */
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
    // Of another kind: it has no such method.
    return false
  }
}

/** The live index has no document of that id. */
export function addLive(live: MemTable, document: CorpusDocument): void {
  live.mini.add(document)
  live.documents.set(document.id, document)
  countLive(live, document, 1)
}

export function removeLive(live: MemTable, id: string): void {
  const known = live.documents.get(id)
  if (!known) return
  countLive(live, known, -1)
  // `discard` leaves postings, and scores would drift until a vacuum.
  live.mini.remove(known)
  live.documents.delete(id)
}

function countLive(live: MemTable, { id, terms }: CorpusDocument, sign: 1 | -1): void {
  live.changes++
  live.size += sign * terms.reduce((sum, list) => sum + list.length, 0)
  for (const field of live.totalLengths.keys())
    live.totalLengths[field] = (live.totalLengths[field] ?? 0) + sign * liveLength(live, shortIdOf(live, id), field)
}

/** MiniSearch's number of a live document; -1 if it has none. */
export function shortIdOf({ mini }: MemTable, id: string): number {
  return mini[SHORT_IDS].get(id) ?? -1
}

/** The document with MiniSearch's number. */
export function liveIdOf({ mini }: MemTable, shortId: number): string {
  return String(mini[IDS].get(shortId))
}

/** The distinct terms of a live document in the field. */
export function liveLength({ mini }: MemTable, shortId: number, field: number): number {
  return mini[LENGTHS].get(shortId)?.[field] ?? 0
}

export function livePostings({ mini }: MemTable, term: string): LivePostings | undefined {
  return mini[POSTINGS].get(term)
}

/** Live terms within so many edits, with their distances. */
export function similarLive({ mini }: MemTable, term: string, distance: number): [string, number][] {
  return [...mini[POSTINGS].fuzzyGet(term, distance)].map(([similar, [, edits]]): [string, number] => [similar, edits])
}

/** All that is live, to be laid flat. */
export function unsortedOf({ mini, documents }: MemTable): Unsorted {
  return {
    ids: mini[IDS],
    idsEnd: mini[NEXT_ID],
    lengths: mini[LENGTHS],
    postings: mini[POSTINGS],
    timeOf: (id) => documents.get(id)?.time ?? 0,
  }
}
