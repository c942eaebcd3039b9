/** Matches by meaning on a branch or at an earlier time: nodes have other vectors, for one question. */
import { expect } from 'chai'
import type { ComparableVectors } from '../../../index/search/meaning/node-vectors.ts'
import { prepareView, type ViewNode, viewOf } from '../../../index/search/ranking/view.ts'
import { type Retrieved, retrieve } from '../../../index/search/retrieve.ts'
import { applyChanges } from '../../../index/search/segments/org-index.ts'
import { type Random, randomOf } from '../../support/random.ts'
import { note } from '../notes.ts'
import { languageOf } from '../over-files.ts'
import { createSearchIndex, type SearchIndex, type SearchQuestion, setDocument } from '../rows-in-memory.ts'
import { standInVector } from '../stand-in-model.ts'
import { vectorsOf } from './vectors-of.ts'

const ids = Array.from({ length: 60 }, (_, n) => `n${n}`)
const WORDS = ['moon', 'star', 'planet', 'comet', 'orbit', 'eclipse', 'zenith', 'nadir', 'meteor']
const ASKED = ['lunar', 'moonlight', 'stellar', 'planetary', 'cometlike', 'orbital', 'eclipsed', 'meteoric']

function nodeOf(random: Random, id: string): ViewNode {
  const words = Array.from({ length: 2 + random.below(8) }, () => random.pick(WORDS))
  return {
    id,
    title: `Other ${random.pick(WORDS)}`,
    tags: '[]',
    properties: '{}',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-02-01T00:00:00.000Z',
    head: 'c',
    text: words.join(' '),
  }
}

function indexOf(nodes: Iterable<ViewNode>): SearchIndex {
  const index = createSearchIndex()
  for (const { id, title, text, updated_at } of nodes)
    setDocument(index, note(id, { title, text, updatedAt: updated_at, commitId: 'c' }))
  const state = index.rows.orgState('org')
  if (state) applyChanges(index.index, index.rows, 'org', state, languageOf, () => false)
  return index
}

function answers(
  { index, rows }: Pick<SearchIndex, 'index' | 'rows'>,
  vectors: ComparableVectors,
  questions: readonly string[],
): Retrieved[] {
  const more: Omit<SearchQuestion, 'query'> = { top_k: 20, expansion_depth: 'none', include_raw_text: false }
  return questions.map((query) =>
    retrieve(index, rows, languageOf, 'org', { ...more, query }, {}, { vectors, question: standInVector(query) }),
  )
}

describe('search: by meaning in a view', () => {
  it('answers as an index and vectors that are built of that state', () => {
    let unsure = 0
    for (let seed = 1; seed <= 6; seed++) {
      const random = randomOf(seed)
      const main = new Map(ids.map((id) => [id, nodeOf(random, id)]))
      const index = indexOf(main.values())
      const changed = random.shuffled(ids).slice(0, 20)
      const nodes = changed.slice(0, 12).map((id) => nodeOf(random, id))
      const gone = changed.slice(12)
      const { epoch = '', version = 0 } = index.rows.orgState('org') ?? {}
      const preparing = prepareView({ epoch, version, nodes, gone }, languageOf)
      let step = preparing.next()
      while (!step.done) step = preparing.next()
      const view = viewOf(index.index, index.rows, 'org', step.value)
      if (view === undefined) throw new Error('The view has moved')
      const vectors = vectorsOf(index)
      const others = nodes.map(({ id, title, text }) => [id, standInVector(`${title}\n${text}`)] as const)
      const state = new Map([...main, ...nodes.map((node) => [node.id, node] as const)])
      for (const id of gone) state.delete(id)
      const rebuilt = indexOf(state.values())
      const rebuiltVectors = vectorsOf(rebuilt)
      const questions = Array.from({ length: 10 }, () => `${random.pick(ASKED)} ${random.pick(ASKED)}`)
      const found = answers(view, vectors.withOthers(new Map(others), gone), questions)
      expect(found).to.deep.equal(answers(rebuilt, rebuiltVectors, questions))
      unsure += found.filter((answer) => answer.unsure).length
      vectors.free()
      rebuiltVectors.free()
    }
    expect(unsure, 'questions whose words failed').to.be.above(10)
  })
})
