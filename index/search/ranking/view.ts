/**
 * Views of an organisation's index in which some nodes have other content. A view serves one query, and leaves the
 * index unchanged.
 */
import { addSegment, type Corpus, createCorpus, flattenLive, type SegmentView } from '../segments/corpus.ts'
import {
  addSegments,
  createOrgIndex,
  flushIndex,
  isLarge,
  type OrgIndex,
  passageId,
  removeNode,
  type SegmentPair,
  setNode,
} from '../segments/org-index.ts'
import { type DescribedNode, INDEXED_BYTES, type SearchRows, wholeLetters } from '../segments/rows.ts'
import { sizeOf, stringAt } from '../segments/string-table.ts'
import type { LanguageOf } from '../text/languages.ts'

/** A node with its content at another commit than the head of main. */
export interface ViewNode {
  readonly id: string
  readonly title: string
  /** JSON array of strings. */
  readonly tags: string
  /** JSON object. */
  readonly properties: string
  /** ISO 8601. */
  readonly created_at: string
  /** ISO 8601. */
  readonly updated_at: string
  /** The commit, or null without one. */
  readonly head: string | null
  readonly text: string
}

/** The differences from main. */
export interface View {
  /** The epoch and version of the organisation's row, read before the nodes. */
  readonly epoch: string
  readonly version: number
  /** The branch of the nodes' content; absent if the view is of an earlier time. */
  readonly branch?: string
  readonly nodes: readonly ViewNode[]
  /** Nodes that do not exist in the view. */
  readonly gone: readonly string[]
}

/** The nodes of a view, indexed. */
export interface PreparedView {
  readonly view: View
  readonly segments: readonly SegmentPair[]
}

/** Indexes the nodes. Other code may run at each `yield`. */
export function* prepareView(view: View, languageOf: LanguageOf): Generator<undefined, PreparedView, undefined> {
  const index = createOrgIndex(view.epoch)
  const segments: SegmentPair[] = []
  for (const node of view.nodes) {
    setNode(index, { ...node, beginning: beginningOf(node.text) }, languageOf)
    if (isLarge(index)) segments.push(flushIndex(index))
    yield
  }
  segments.push(flushIndex(index))
  return { view, segments }
}

function beginningOf(text: string): string {
  return wholeLetters(Buffer.from(text).subarray(0, INDEXED_BYTES))
}

/**
 * Returns the index and rows of the view, valid until one of them changes. Undefined if nodes have changed since the
 * view was read and their state in it is unknown. Edges are those of main. Copies the marks of dead documents, in 0.1
 * ms. Converts the live index to a segment if some of it differs, in up to 0.2 s.
 */
export function viewOf(
  index: OrgIndex,
  rows: SearchRows,
  orgId: string,
  { view, segments }: PreparedView,
): { index: OrgIndex; rows: SearchRows } | undefined {
  if (isMoved(rows, orgId, view)) return undefined
  const deleted = view.nodes.map(({ id }) => id).filter((id) => rows.describe(id) === undefined)
  return { index: indexOf(index, segments, [...view.gone, ...deleted]), rows: rowsOf(rows, view.nodes) }
}

/** True if nodes have changed since the view was read. Their state in it is then unknown. */
export function isMoved(rows: SearchRows, orgId: string, { epoch, version, branch, nodes, gone }: View): boolean {
  if (rows.orgState(orgId)?.epoch !== epoch) return true
  const changed = rows.changedIds(orgId, version)
  if (changed.length === 0) return false
  const known = new Set([...nodes.map(({ id }) => id), ...gone])
  return changed.some((id) => !known.has(id) && (branch === undefined || rows.hasBranch(id, branch)))
}

function indexOf(index: OrgIndex, segments: readonly SegmentPair[], gone: readonly string[]): OrgIndex {
  const replaced = segments.flatMap(({ texts: { ids } }) =>
    Array.from({ length: sizeOf(ids) }, (_, n) => stringAt(ids, n)),
  )
  const differing = [...replaced, ...gone]
  const texts = corpusOf(index.texts, differing)
  const firstPassages = differing.map((id) => passageId(id, 0))
  const view = { ...index, texts, passages: corpusOf(index.passages, firstPassages) }
  for (const pair of segments) addSegments(view, pair)
  for (const id of gone) removeNode(view, id)
  return view
}

/** Copies a corpus with its own marks. Converts the live index to a segment if it has one of these documents. */
function corpusOf(corpus: Corpus, differing: readonly string[]): Corpus {
  const { fieldCount, frozen, live } = corpus
  const isLiveKept = !differing.some((id) => live.documents.has(id))
  const view = { ...createCorpus(fieldCount), frozen: frozen.map(copyOf), ...(isLiveKept ? { live } : {}) }
  if (!isLiveKept) addSegment(view, flattenLive(corpus))
  return view
}

/** Copies a segment view with its own marks. */
function copyOf({ segment, dead, deadList, totalLengths, deadLengths }: SegmentView): SegmentView {
  return {
    segment,
    dead: dead.slice(),
    deadList: [...deadList],
    totalLengths,
    deadLengths: [...deadLengths],
    deadCounts: new Map(),
  }
}

function rowsOf(rows: SearchRows, nodes: readonly ViewNode[]): SearchRows {
  const texts = new Map(nodes.map(({ id, text }) => [id, text]))
  const described = new Map(
    nodes.map(({ id, title, tags, updated_at, head, text }): [string, DescribedNode] => [
      id,
      { id, title, tags, updated_at, head, bytes: Buffer.byteLength(text) },
    ]),
  )
  return {
    ...rows,
    describe: (id) => described.get(id) ?? rows.describe(id),
    textOf: (id) => texts.get(id) ?? rows.textOf(id),
    textStartOf: (id) => {
      const text = texts.get(id)
      return text === undefined ? rows.textStartOf(id) : beginningOf(text)
    },
  }
}
