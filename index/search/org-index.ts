/** The index of one organisation, and how it follows the rows. */
import { type Corpus, createCorpus, memoryOf, removeDocument, setDocument } from './corpus.ts'
import type { LanguageOf } from './languages.ts'
import { type OrgState, type SearchRows, wholeLetters } from './rows.ts'
import { FIELD_COUNT, termsOf } from './terms.ts'

export interface OrgIndex {
  readonly epoch: string
  readonly texts: Corpus
  /** The organisation's versions up to which changed and deleted nodes are indexed. */
  nodes: number
  tombstones: number
}

export function createOrgIndex(epoch: string): OrgIndex {
  return { epoch, texts: createCorpus(FIELD_COUNT), nodes: 0, tombstones: 0 }
}

/**
 * Takes in what has changed, until `isOver`, but one node at least; true once nothing is left. All within one snapshot, of
 * which `state` is.
 */
export function catchUp(
  index: OrgIndex,
  rows: SearchRows,
  orgId: string,
  state: OrgState,
  languageOf: LanguageOf,
  isOver: () => boolean,
): boolean {
  if (index.nodes === state.version && index.tombstones === state.version) return true
  for (const { changed, beginning, ...node } of rows.changedAfter(orgId, index.nodes)) {
    setNode(index, { ...node, beginning: wholeLetters(beginning) }, languageOf)
    index.nodes = changed
    if (isOver()) return false
  }
  for (const { node_id } of rows.tombstonesAfter(orgId, index.tombstones)) removeDocument(index.texts, node_id)
  index.nodes = state.version
  index.tombstones = state.version
  return true
}

/** A node as it is indexed. */
export interface IndexedNode {
  readonly id: string
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The indexed part of its text. */
  readonly beginning: string
}

/** Adds the node or replaces it. */
export function setNode(index: OrgIndex, node: IndexedNode, languageOf: LanguageOf): void {
  const { id, title, tags, updated_at, beginning } = node
  const terms = termsOf(languageOf, title, beginning, JSON.parse(tags) as string[]) // written by index-node.ts
  setDocument(index.texts, { id, terms, time: Date.parse(updated_at) })
}

/** Bytes of an index without documents. */
const EMPTY = 20_000

/** Estimated bytes of memory. */
export function memoryOfIndex({ texts }: OrgIndex): number {
  return EMPTY + memoryOf(texts)
}

/** Documents, and terms with repetitions, from which on what is live is sealed: about 20 MB of heap. */
const LARGE = { documents: 1_000, terms: 300_000 } as const

/** Whether what is live is to become a segment. */
export function isLarge({ texts: { live } }: OrgIndex): boolean {
  return live.documents.size >= LARGE.documents || live.size >= LARGE.terms
}
