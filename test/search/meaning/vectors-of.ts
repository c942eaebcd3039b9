/** Questions with the vectors of a stand-in model. */
import { createNodeVectors, type NodeVectors } from '../../../index/search/meaning/node-vectors.ts'
import type { QuestionMeaning } from '../../../index/search/ordered-hits.ts'
import { type Retrieved, retrieve, type SearchIndex, type SearchQuestion } from '../rows-in-memory.ts'
import { STAND_IN_DIMENSIONS, standInVector } from '../stand-in-model.ts'

/** The vectors of all nodes, which `free` returns. @param order of ids */
export function vectorsOf({ db }: SearchIndex, order = (ids: readonly string[]) => ids): NodeVectors {
  const vectors = createNodeVectors(STAND_IN_DIMENSIONS)
  const rows = db.prepare('select id, title, text from node join node_text on node_id = id').all() as {
    id: string
    title: string
    text: string
  }[]
  const texts = new Map(rows.map(({ id, title, text }) => [id, `${title}\n${text}`]))
  for (const id of order([...texts.keys()])) vectors.set(id, standInVector(texts.get(id) ?? ''))
  return vectors
}

/** Asks with the vectors of all nodes, and with the question's. */
export function askByMeaning(
  index: SearchIndex,
  question: SearchQuestion,
  more: Partial<QuestionMeaning> = {},
): Retrieved {
  const vectors = vectorsOf(index)
  try {
    return retrieve(index, question, {}, { vectors, question: standInVector(question.query), ...more })
  } finally {
    vectors.free()
  }
}
