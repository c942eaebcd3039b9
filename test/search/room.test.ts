/** What an index may take is a matter of what it holds, not of how that came; nor is an answer of any size. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  createSearchIndex,
  fittingCut,
  removeNode,
  retrieve,
  type SearchEdge,
  type SearchIndex,
  setDocument,
  setEdges,
} from '../../index/search/retrieve.ts'
import { finish } from '../../index/search/steps.ts'

interface Edit {
  id: string
  /** Letters of the text; undefined: the node is removed. */
  length: number | undefined
  edges: number
}

const limitBytes = 8_000_000
const anEdit = fc.record<Edit>({
  id: fc.constantFrom('a', 'b', 'c', 'd'),
  length: fc.option(fc.constantFrom(0, 300, 30_000, 60_000), { nil: undefined }),
  edges: fc.constantFrom(0, 0, 0, 20, 8_000),
})

/** Another word at every place. */
function textOf({ id, length = 0 }: Edit): string {
  return `first ${Array.from({ length: length / 10 }, (_, i) => `${id}x${String(i).padStart(7, 'y')}`).join(' ')} last`
}

function edge(holder: string, number: number): SearchEdge {
  const key = `${holder}/connections/${String(number).padStart(6, '0')}`
  const ends = { source: holder, target: holder === 'a' ? 'b' : 'a', parent_node_id: holder, holder }
  return { id: key, edge_type: 'connection', connection_type: 'cites', label: '', ...ends }
}

function perform(index: SearchIndex, edits: Iterable<Edit>): SearchIndex {
  for (const edit of edits) {
    const { id, length } = edit
    if (length === undefined) finish(removeNode(index, id))
    else {
      finish(setDocument(index, { id, title: id, text: textOf(edit), tags: [], updatedAt: '2026-01-01T00:00:00.000Z' }))
      const edges = Array.from({ length: edit.edges }, (_, number) => edge(id, number))
      setEdges(index, id, edges)
    }
  }
  return index
}

function ask(index: SearchIndex, query: string) {
  return finish(retrieve(index, { query, top_k: 5, expansion_depth: 'deep', include_raw_text: true }))
}

describe('search: the room of an index', () => {
  it('cuts texts where there is too little, the same whatever the edits were and their order', () => {
    const seen = new Set<number | undefined>()
    fc.assert(
      fc.property(fc.array(anEdit, { minLength: 1, maxLength: 10 }), (edits) => {
        const lived = perform(createSearchIndex({ limitBytes, key: 'k' }), edits)
        const last = new Map(edits.map((edit) => [edit.id, edit]))
        const fresh = perform(createSearchIndex({ limitBytes, key: 'k' }), [...last.values()].toReversed())
        const cut = fittingCut(fresh)
        seen.add(cut)
        expect(fittingCut(lived)).to.equal(cut)
        if (cut === undefined) return
        const one = perform(createSearchIndex({ limitBytes, key: 'k', cut }), last.values())
        if (cut === 0 && !lived.overfull) expect(ask(lived, 'first last')).to.deep.equal(ask(one, 'first last'))
        const other = perform(createSearchIndex({ limitBytes, key: 'k', cut }), [...last.values()].toReversed())
        expect(one.overfull).to.equal(false)
        expect(ask(other, 'first last')).to.deep.equal(ask(one, 'first last'))
      }),
      { numRuns: 10, seed: 1 },
    )
    expect(seen.size).to.be.above(2)
  })

  it('holds nothing any more of what it was that went beyond it', () => {
    const index = createSearchIndex({ limitBytes: 100_000 })
    perform(index, [{ id: 'a', length: 30_000, edges: 20 }])
    expect([index.overfull, index.documents.size, index.texts.numTerms, index.graph.held.size]).to.deep.equal([
      true,
      0,
      0,
      0,
    ])
  })
})

describe('search: an answer', () => {
  it('has 10,000 connections at most, those with the least ids, and says so', () => {
    const edits: Edit[] = [
      { id: 'b', length: 0, edges: 0 },
      { id: 'a', length: 0, edges: 10_000 },
    ]
    const index = perform(createSearchIndex(), edits)
    const whole = ask(index, 'first')
    expect([whole.connections.length, whole.truncated]).to.deep.equal([10_000, false])
    setEdges(
      index,
      'a',
      Array.from({ length: 50_000 }, (_, number) => edge('a', 49_999 - number)),
    )
    const cut = ask(index, 'first')
    expect(cut).to.deep.equal({ ...whole, truncated: true })
  })

  it('scores of many common words those that are rarest', () => {
    const index = createSearchIndex()
    const documents = Array.from({ length: 1_200 }, (_, i) => i)
    for (const i of documents) {
      const text = Array.from({ length: 300 }, (_, word) => (i % (word + 1) === 0 ? `wort${word}` : '')).join(' ')
      finish(setDocument(index, { id: `n${i}`, title: '', text, tags: [], updatedAt: '2026-01-01T00:00:00.000Z' }))
    }
    const query = Array.from({ length: 300 }, (_, word) => `wort${word}`).join(' ')
    const [first] = ask(index, query).matches
    expect(first?.matched_terms).to.have.length(64)
    expect(first?.matched_terms).to.include('wort299').and.not.include('wort0')
  })
})
