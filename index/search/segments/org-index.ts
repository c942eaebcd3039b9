/** The search index of one organisation, and its updates from the rows. */

import type { OrgState } from '../../derived/changed-nodes.ts'
import type { LanguageOf } from '../text/languages.ts'
import { passagesOf } from '../text/passages.ts'
import { proseOf } from '../text/prose.ts'
import {
  addSegment,
  type Corpus,
  createCorpus,
  flush,
  memoryOf,
  mergeFrom,
  placeOf,
  removeDocument,
  setDocument,
} from './corpus.ts'
import { type SearchRows, wholeLetters } from './rows.ts'
import type { Segment } from './segment.ts'
import { sizeOf, stringAt } from './string-table.ts'
import { FIELD_COUNT, PASSAGE_FIELD_COUNT, passageTermsOf, termsOf } from './terms.ts'

/** The two corpora that a search uses. */
export interface SearchedTexts {
  /** Nodes by id. */
  readonly texts: Corpus
  /** The passages of nodes that have several, by `passageId`. A node's numbers start at 0 without gaps. */
  readonly passages: Corpus
}

export interface OrgIndex extends SearchedTexts {
  readonly epoch: string
  /** The organisation's versions up to which changed and deleted nodes are indexed. */
  nodes: number
  tombstones: number
}

/** The number of passages of one node that are indexed, the first ones. */
const MOST_PASSAGES = 64

export function createOrgIndex(epoch: string): OrgIndex {
  const [texts, passages] = [createCorpus(FIELD_COUNT), createCorpus(PASSAGE_FIELD_COUNT)]
  return { epoch, texts, passages, nodes: 0, tombstones: 0 }
}

/** Returns the document id of a passage. @param n the number of the passage in the node, from 0 */
export function passageId(nodeId: string, n: number): string {
  return `${nodeId}#${n}`
}

/**
 * Indexes changed nodes until `isOver`, but at least one. Returns true when no changes are left. Deletions come first,
 * so that no deleted node is found in the meantime. `rows` and `state` must be from the same snapshot.
 */
export function applyChanges(
  index: OrgIndex,
  rows: SearchRows,
  orgId: string,
  state: OrgState,
  languageOf: LanguageOf,
  isOver: () => boolean,
): boolean {
  if (index.nodes === state.version && index.tombstones === state.version) return true
  for (const { node_id } of rows.tombstonesAfter(orgId, index.tombstones)) removeNode(index, node_id)
  index.tombstones = state.version
  for (const { changed, beginning, ...node } of rows.changedAfter(orgId, index.nodes)) {
    setNode(index, { ...node, beginning: wholeLetters(beginning) }, languageOf)
    index.nodes = changed
    if (isOver()) return false
  }
  index.nodes = state.version
  return true
}

/** The indexed fields of a node. */
export interface IndexedNode {
  readonly id: string
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The indexed part of the text. */
  readonly beginning: string
}

/** Adds or replaces a node. */
export function setNode({ texts, passages }: SearchedTexts, node: IndexedNode, languageOf: LanguageOf): void {
  const { id, title, tags, updated_at, beginning } = node
  const time = Date.parse(updated_at)
  const prose = proseOf(beginning)
  const { language, terms } = termsOf(languageOf, title, prose.text, JSON.parse(tags) as string[]) // written by index-node.ts
  setDocument(texts, { id, terms, time })
  removePassages(passages, id)
  for (const [n, { text }] of passagesOf(title, beginning, prose).slice(0, MOST_PASSAGES).entries())
    setDocument(passages, { id: passageId(id, n), terms: passageTermsOf(language, title, text), time })
}

export function removeNode({ texts, passages }: SearchedTexts, id: string): void {
  removeDocument(texts, id)
  removePassages(passages, id)
}

function removePassages(passages: Corpus, id: string): void {
  for (let n = 0; placeOf(passages, passageId(id, n)) !== undefined; n++) removeDocument(passages, passageId(id, n))
}

/** Two segments for the same nodes. */
export interface SegmentPair {
  readonly texts: Segment
  readonly passages: Segment
}

/** Replaces the live indexes with new segments. */
export function flushIndex({ texts, passages }: SearchedTexts): SegmentPair {
  return { texts: flush(texts), passages: flush(passages) }
}

/** Adds segments that are newer than the others. Marks their nodes and all passages of these as dead in the others. */
export function addSegments({ texts, passages }: SearchedTexts, added: SegmentPair): void {
  const { ids } = added.texts
  for (let n = 0; n < sizeOf(ids); n++) removePassages(passages, stringAt(ids, n))
  addSegment(texts, added.texts)
  addSegment(passages, added.passages)
}

/**
 * Merges the segments from index `from` into one pair. At each `yield` other code may run, change nodes and flush.
 * Nodes that change during the merge may be in only one of the two segments. They must be read again after it.
 */
export function* mergeSegments(
  { texts, passages }: SearchedTexts,
  from: number,
): Generator<undefined, SegmentPair, undefined> {
  const to = texts.frozen.length
  return { texts: yield* mergeFrom(texts, from, to), passages: yield* mergeFrom(passages, from, to) }
}

/** Estimated bytes of an index without documents. */
const EMPTY = 20_000

/** Estimates the memory of an index in bytes. */
export function memoryOfIndex({ texts, passages }: SearchedTexts): number {
  return EMPTY + memoryOf(texts) + memoryOf(passages)
}

/**
 * The size at which live indexes are flushed, about 20 MB of heap. Terms are those of nodes and passages, with
 * repetitions.
 */
const LARGE = { nodes: 1_000, terms: 300_000 } as const

/** True if the live indexes should be flushed. */
export function isLarge({ texts, passages }: SearchedTexts): boolean {
  return texts.live.documents.size >= LARGE.nodes || texts.live.size + passages.live.size >= LARGE.terms
}
