/** Notes, edges and questions for a search index, written and invented. */

import fc from 'fast-check'
import {
  createSearchIndex,
  type Retrieved,
  removeNode,
  retrieve,
  type SearchDocument,
  type SearchEdge,
  type SearchIndex,
  type SearchQuestion,
  setDocument,
  setEdges,
} from './rows-in-memory.ts'

export const DEPTHS = ['none', 'shallow', 'standard', 'deep'] as const

type Edit =
  | { kind: 'document'; document: SearchDocument }
  | { kind: 'edges'; holder: string; edges: SearchEdge[] }
  | { kind: 'removal'; id: string }

export function note(id: string, more: Partial<SearchDocument> = {}): SearchDocument {
  return {
    id,
    title: id,
    text: '',
    tags: [],
    updatedAt: '2026-03-01T00:00:00.000Z',
    commitId: `commit of ${id}`,
    ...more,
  }
}

export function link(source: string, target: string, type = 'cites'): SearchEdge {
  const id = `${source}/connections/${type}-${target}`
  return {
    id,
    source,
    target,
    edge_type: 'connection',
    connection_type: type,
    label: '',
    parent_node_id: source,
    holder: source,
  }
}

/** As in a repository: the child holds it. */
export function child(target: string, source: string): SearchEdge {
  const id = `${target}/parents/${source}`
  return {
    id,
    source,
    target,
    edge_type: 'parent_child',
    connection_type: '',
    label: '',
    parent_node_id: source,
    holder: target,
  }
}

export function perform(index: SearchIndex, edits: Edit[]): SearchIndex {
  for (const edit of edits) {
    if (edit.kind === 'document') setDocument(index, edit.document)
    else if (edit.kind === 'edges') setEdges(index, edit.holder, edit.edges)
    else removeNode(index, edit.id)
  }
  return index
}

export function indexOf(documents: SearchDocument[], edges: SearchEdge[] = []): SearchIndex {
  const index = createSearchIndex()
  for (const document of documents) setDocument(index, document)
  for (const holder of new Set(edges.map((edge) => edge.holder))) {
    const held = edges.filter((edge) => edge.holder === holder)
    setEdges(index, holder, held)
  }
  return index
}

export function ask(index: SearchIndex, query: string, more: Partial<SearchQuestion> = {}): Retrieved {
  return retrieve(index, { query, top_k: 5, expansion_depth: 'none', include_raw_text: false, ...more })
}

export const matchesIn = (answer: Retrieved) => answer.matches.map((match) => match.node_id)

export const nodesIn = (answer: Retrieved) => answer.nodes.map((node) => node.id).sort()

// Words that are their own stems and no stop words, a few that differ only by case, accent or ending, and some that are neither.
export const WORDS = [
  'moon',
  'star',
  'planet',
  'comet',
  'orbit',
  'cafe',
  'the',
  'who',
  'Cafés',
  'orbiting',
  "Moon's",
  'U.S.',
  '月',
  '🌍',
]

export const IDS = ['a', 'b', 'c', 'd', 'e', 'f']

const TIMES = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']

const anId = fc.constantFrom(...IDS)

const phrase = (maxLength: number) => fc.array(fc.constantFrom(...WORDS), { maxLength }).map((words) => words.join(' '))

/** As it is, or in sections, each a passage of its own. */
const aText = fc.oneof(
  phrase(12),
  fc
    .array(fc.tuple(phrase(2), phrase(8)), { minLength: 1, maxLength: 12 })
    .map((sections) => sections.map(([heading, text]) => `## ${heading}\n\n${text}`).join('\n\n')),
)

const aDocument = fc.record({
  id: anId,
  title: phrase(3),
  text: aText,
  tags: fc.uniqueArray(fc.constantFrom('red', 'blue'), { maxLength: 2 }),
  updatedAt: fc.constantFrom(...TIMES),
  commitId: fc.constantFrom('c1', 'c2'),
})

const anEdge = (holder: string) =>
  fc
    .tuple(anId, fc.constantFrom('cites', 'knows', ''))
    .map(([other, type]) => (type === '' ? child(holder, other) : link(holder, other, type)))

const anEdit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 4, arbitrary: aDocument.map((document): Edit => ({ kind: 'document', document })) },
  {
    weight: 3,
    arbitrary: anId
      .chain((holder) =>
        fc.tuple(fc.constant(holder), fc.uniqueArray(anEdge(holder), { maxLength: 6, selector: (edge) => edge.id })),
      )
      .map(([holder, edges]): Edit => ({ kind: 'edges', holder, edges })),
  },
  { weight: 1, arbitrary: anId.map((id): Edit => ({ kind: 'removal', id })) },
)

/** As long as they may be: of a few edits hardly a question finds anything. */
export const edits = fc.array(anEdit, { minLength: 1, maxLength: 40, size: 'max' })

export const aScope = fc.record(
  {
    node_ids: fc.uniqueArray(anId, { maxLength: 8 }),
    under: anId,
    tags: fc.uniqueArray(fc.constantFrom('red', 'blue'), { maxLength: 2 }),
    updated_after: fc.constantFrom(...TIMES),
    updated_before: fc.constantFrom(...TIMES),
    connection_types: fc.uniqueArray(fc.constantFrom('cites', 'knows'), { maxLength: 2 }),
  },
  { requiredKeys: [] },
)

export const aQuery = fc.oneof(
  phrase(4),
  fc.constantFrom('planit', 'orbitng comett', 'the who', 'moon moon star', 'constructor'),
)

export const aQuestion = fc
  .record({
    query: aQuery,
    top_k: fc.integer({ min: 1, max: 4 }),
    scope: fc.option(aScope, { nil: undefined, freq: 2 }),
    include_raw_text: fc.constantFrom<boolean | 'passages'>(false, true, 'passages'),
    explain: fc.boolean(),
  })
  .map(({ scope, ...rest }) => (scope ? { ...rest, scope } : rest))

/** The state after `done`, as edits without history, in the order of `keys`. A missing node holds no edges. */
export function finalState(done: Edit[], keys: number[]): Edit[] {
  const documents = new Map<string, Edit>()
  const held = new Map<string, Edit>()
  for (const edit of done) {
    if (edit.kind === 'document') documents.set(edit.document.id, edit)
    else if (edit.kind === 'removal') {
      documents.delete(edit.id)
      held.delete(edit.id)
    } else if (documents.has(edit.holder)) held.set(edit.holder, { ...edit, edges: shuffled(edit.edges, keys) })
  }
  return [...shuffled([...documents.values()], keys), ...shuffled([...held.values()], keys)]
}

function shuffled<T>(items: T[], keys: number[]): T[] {
  return items
    .map((item, i) => ({ item, key: keys[i] ?? 0 }))
    .sort((x, y) => x.key - y.key)
    .map(({ item }) => item)
}
