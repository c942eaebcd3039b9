/** The search index of one organisation: documents, their texts, and the edges between them. */
import { createSearchGraph, type SearchEdge, type SearchGraph, setHeldEdges, setPresent } from './expansion.ts'
import { beginningOf, CUTS, createRoom, type Room, setEdgeShare, setShare, takenAt, takenWith } from './room.ts'
import type { Steps } from './steps.ts'
import { termsOf } from './terms.ts'
import { createTextIndex, removeText, setText, type TextIndex } from './text-index.ts'

export interface SearchDocument {
  id: string
  title: string
  /** The whole text, or at least the beginning of it that the first of CUTS leaves. */
  text: string
  /** Bytes of UTF-8 of the whole text; left out: those of `text`. */
  bytes?: number
  tags: string[]
  /** ISO 8601. */
  updatedAt: string
  /** Left out while main has no commit. */
  commitId?: string
}

/** `text` is the indexed part. */
type IndexedDocument = SearchDocument & { bytes: number }

/** Answers depend on the content, not on the order of the edits. */
export interface SearchIndex {
  documents: Map<string, IndexedDocument>
  texts: TextIndex
  graph: SearchGraph
  /** Which of CUTS its texts are cut at. */
  readonly cut: number
  /** Bytes of heap that it may take. */
  readonly limitBytes: number
  room: Room
  /** The index has exceeded its limit: it is empty, measures documents and answers nothing. */
  overfull: boolean
}

/** Bytes of heap, estimated: 100,000 pages of 80 words with three edges each fit, or 1,000,000 distinct words. */
const orgLimitBytes = 768 * 1_048_576

/** The factor by which the index may exceed the estimate of its terms. */
const tolerance = 1.25

interface SearchIndexOptions {
  cut?: number
  limitBytes?: number
  /** Any text that authors of documents do not know. */
  key?: string
}

export function createSearchIndex(options: SearchIndexOptions = {}): SearchIndex {
  const { cut = 0, limitBytes = orgLimitBytes, key = '' } = options
  const room = createRoom(key)
  return {
    documents: new Map(),
    texts: createTextIndex(),
    graph: createSearchGraph(),
    cut,
    limitBytes,
    room,
    overfull: false,
  }
}

/** Adds or replaces. A page of text costs about 0.7 ms, nothing if title and text are as they were. */
export function* setDocument(index: SearchIndex, document: SearchDocument): Steps {
  const { id, title } = document
  const read = beginningOf(document.text, CUTS[0])
  const ends = CUTS.map((limitBytes) => beginningOf(read, limitBytes).length)
  const text = ends[index.cut] === read.length ? read : beginningOf(read, CUTS[index.cut] ?? 0)
  const before = index.documents.get(id)
  const isKnown = before?.title === title && before.text === read
  if (!index.overfull) {
    index.documents.set(id, { ...document, text, bytes: document.bytes ?? Buffer.byteLength(document.text) })
    setPresent(index.graph, id, true)
  }
  if (isKnown) return
  const terms = yield* termsOf(title, read)
  yield* setShare(index.room, id, ends, terms)
  emptyIfOverfull(index)
  if (index.overfull) return
  yield* setText(index.texts, { id, title, text }, text === read ? terms : yield* termsOf(title, text))
  emptyIfOverfull(index)
}

/** Replaces all edges that `holder` holds. An edge is visible while both ends have documents. */
export function setEdges(index: SearchIndex, holder: string, edges: SearchEdge[]): void {
  setEdgeShare(index.room, holder, edges.length)
  emptyIfOverfull(index)
  if (!index.overfull) setHeldEdges(index.graph, holder, edges)
}

/** Removes the document and the edges that it holds; hides the edges of others to it until it returns. */
export function* removeNode(index: SearchIndex, id: string): Steps {
  yield* setShare(index.room, id)
  setEdgeShare(index.room, id, 0)
  index.documents.delete(id)
  yield* removeText(index.texts, id)
  setHeldEdges(index.graph, id, [])
  setPresent(index.graph, id, false)
}

/** The first cut at which the index fits; undefined: none, since there are too many titles or edges. */
export function fittingCut({ room, limitBytes }: SearchIndex): number | undefined {
  const cut = CUTS.findIndex((_, at) => takenAt(room, at) <= limitBytes)
  return cut < 0 ? undefined : cut
}

/** Estimated bytes of heap. */
export function heapOf({ room, cut, texts, overfull }: SearchIndex): number {
  return overfull ? 500 * room.shares.size : takenWith(room, cut, texts.numTerms)
}

function emptyIfOverfull(index: SearchIndex): void {
  const { room, cut, limitBytes, overfull } = index
  if (overfull || (takenAt(room, cut) <= limitBytes && heapOf(index) <= tolerance * limitBytes)) return
  Object.assign(index, createSearchIndex({ cut, limitBytes }), { room, overfull: true })
}
