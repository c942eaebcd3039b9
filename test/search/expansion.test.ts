/** How a search expands along the graph. */

import { expect } from 'chai'
import fc from 'fast-check'
import { aQuestion, ask, child, DEPTHS, edits, indexOf, link, nodesIn, note, perform } from './notes.ts'
import {
  createSearchIndex,
  type Retrieved,
  removeNode,
  retrieve,
  type SearchIndex,
  type SearchQuestion,
  setDocument,
  setEdges,
} from './rows-in-memory.ts'

const edgesIn = (answer: Retrieved) => answer.connections.map((edge) => edge.id)

describe('search: levels of expansion', () => {
  const expectGrowing = (index: SearchIndex, question: Omit<SearchQuestion, 'expansion_depth'>): Retrieved[] => {
    const answers = DEPTHS.map((expansion_depth) => retrieve(index, { ...question, expansion_depth }))
    for (const [i, answer] of answers.entries()) {
      expect(answer.truncated, 'within the limits').to.equal(false)
      expect(answer.matches).to.deep.equal(answers[0]?.matches)
      expect(nodesIn(answer)).to.include.members(nodesIn(answers[Math.max(0, i - 1)] ?? answer))
      expect(edgesIn(answer)).to.include.members(edgesIn(answers[Math.max(0, i - 1)] ?? answer))
    }
    return answers
  }

  it.deep('gives the same matches at every level, and each level all nodes of the one before', () => {
    fc.assert(
      fc.property(edits, aQuestion, (done, question) => {
        expectGrowing(perform(createSearchIndex(), done), question)
      }),
      { numRuns: 300 },
    )
  })

  // Each film names some of the people, and each of the people some places. The others keep the names rare.
  const ids = Array.from({ length: 12 }, (_, n) => `n${n}`)
  const others = Array.from({ length: 240 }, (_, n) => note(`other${n}`, { text: `grass number ${n}` }))
  const names = ['Kertesz', 'Michael', 'Budapest', 'Lisbon', 'Ingrid']
  const aNote = fc.record({
    title: fc.constantFrom('Casablanca', 'Harbour', 'Birth', 'Kertesz', 'Lisbon'),
    names: fc.subarray(names),
    words: fc.subarray(['director', 'born', 'city']),
  })
  const anEdge = fc.record({ from: fc.nat(11), to: fc.nat(11), isChild: fc.boolean() })

  it.deep('only adds nodes, also by names, in random graphs', () => {
    let bridges = 0
    fc.assert(
      fc.property(
        fc.array(aNote, { minLength: 12, maxLength: 12 }),
        fc.uniqueArray(anEdge, { maxLength: 12, selector: ({ from, to }) => from * 12 + to }),
        fc.integer({ min: 1, max: 6 }),
        (made, drawn, top_k) => {
          const notes = made.map((one, n) =>
            note(ids[n] ?? '', { title: one.title, text: [...one.words, ...one.names].join(' of ') }),
          )
          const edges = drawn
            .filter(({ from, to }) => from < to)
            .map(({ from, to, isChild }) => (isChild ? child : link)(ids[to] ?? '', ids[from] ?? ''))
          const query = 'Where was the director of Casablanca born?'
          const question = { query, top_k, include_raw_text: false }
          const answers = expectGrowing(indexOf([...notes, ...others], edges), question)
          for (const { nodes } of answers) {
            const byId = new Map(nodes.map((node) => [node.id, node]))
            for (const { relation, via, depth } of nodes) {
              if (relation === 'bridge') bridges++
              if (relation !== 'match') expect(byId.get(via ?? '')?.depth).to.equal(depth - 1)
            }
          }
        },
      ),
      { numRuns: 100 },
    )
    expect(bridges, 'nodes that only names led to').to.be.above(20)
  })

  it.deep(
    'orders nodes by score in 6 digits, then by id, each match among them and each expanded node one hop from its via',
    () => {
      fc.assert(
        fc.property(edits, aQuestion, fc.constantFrom(...DEPTHS), (done, question, expansion_depth) => {
          const { matches, nodes } = retrieve(perform(createSearchIndex(), done), { ...question, expansion_depth })
          const expected = [...nodes].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
          expect(nodes).to.deep.equal(expected)
          expect(matches.map(({ rank }) => rank)).to.deep.equal(matches.map((_, i) => i + 1))
          const byId = new Map(nodes.map((node) => [node.id, node]))
          for (const { node_id } of matches)
            expect(byId.get(node_id)).to.include({ relation: 'match', depth: 0, via: null })
          for (const { score, depth, via, relation } of nodes) {
            expect(score).to.equal(Number(score.toPrecision(6)))
            if (relation !== 'match') expect(byId.get(via ?? '')?.depth).to.equal(depth - 1)
          }
          expect(byId.size).to.equal(nodes.length)
        }),
        { numRuns: 200 },
      )
    },
  )

  const family = indexOf(
    ['seed', 'son', 'grandson', 'father', 'friend', 'fan', 'stranger'].map((id) =>
      note(id, id === 'seed' ? { text: 'zebra' } : {}),
    ),
    [
      child('son', 'seed'),
      child('grandson', 'son'),
      child('seed', 'father'),
      link('seed', 'friend'),
      link('fan', 'seed'),
      link('friend', 'stranger'),
    ],
  )
  const reached: Record<SearchQuestion['expansion_depth'], string[]> = {
    none: ['seed'],
    shallow: ['seed', 'son'],
    standard: ['father', 'seed', 'son'],
    deep: ['fan', 'father', 'friend', 'grandson', 'seed', 'son', 'stranger'],
  }
  for (const expansion_depth of DEPTHS) {
    it(`reaches at ${expansion_depth}: ${reached[expansion_depth].join(', ')}`, () => {
      expect(nodesIn(ask(family, 'zebra', { expansion_depth }))).to.deep.equal(reached[expansion_depth])
    })
  }

  it('says how each node was reached', () => {
    const { nodes } = ask(family, 'zebra', { expansion_depth: 'deep' })
    expect(Object.fromEntries(nodes.map(({ id, relation, depth, via }) => [id, [relation, depth, via]]))).to.deep.equal(
      {
        seed: ['match', 0, null],
        son: ['child', 1, 'seed'],
        grandson: ['child', 2, 'son'],
        father: ['parent', 1, 'seed'],
        friend: ['connection', 1, 'seed'],
        fan: ['connection', 1, 'seed'],
        stranger: ['connection', 2, 'friend'],
      },
    )
  })

  it('names the same relation whichever of two edges between a pair came first', () => {
    const documents = [note('a', { text: 'zebra' }), note('b')]
    const edges = [link('b', 'a'), child('b', 'a')]
    const relations = [edges, edges.toReversed()].map(
      (held) => ask(indexOf(documents, held), 'zebra', { expansion_depth: 'deep' }).nodes[1]?.relation,
    )
    expect(relations).to.deep.equal(['child', 'child'])
  })

  it('lists no edge without expansion, and with any every edge between two nodes of the answer, followed or not', () => {
    const index = indexOf([note('a', { text: 'zebra' }), note('b', { text: 'zebra' })], [link('a', 'b')])
    expect(DEPTHS.map((expansion_depth) => edgesIn(ask(index, 'zebra', { expansion_depth })))).to.deep.equal([
      [],
      ['a/connections/cites-b'],
      ['a/connections/cites-b'],
      ['a/connections/cites-b'],
    ])
  })

  it('puts a neighbour of the best match before a weaker match', () => {
    const filler = Array.from({ length: 12 }, (_, i) => `filler${i}`).join(' ')
    const index = indexOf(
      [
        note('best', { title: 'zebra', text: 'zebra zebra quagga' }),
        note('cited', { title: 'savanna', text: 'grass' }),
        note('weak', { title: 'list', text: `${filler} zebra` }),
      ],
      [link('best', 'cited')],
    )
    const { nodes } = ask(index, 'zebra quagga', { expansion_depth: 'deep' })
    expect(nodes.map(({ id }) => id)).to.deep.equal(['best', 'cited', 'weak'])
  })
})

describe('search: edges with an absent end', () => {
  const documents = [note('a', { text: 'zebra' }), note('b')]
  const deep = (index: SearchIndex) => {
    const answer = ask(index, 'zebra', { expansion_depth: 'deep' })
    return [nodesIn(answer), edgesIn(answer)]
  }
  const whole = [['a', 'b'], ['a/connections/cites-b']]

  it('hides an edge while its target is deleted and shows it when the target returns', () => {
    const index = indexOf(documents, [link('a', 'b')])
    expect(deep(index)).to.deep.equal(whole)
    removeNode(index, 'b')
    expect(deep(index)).to.deep.equal([['a'], []])
    setDocument(index, note('b'))
    expect(deep(index)).to.deep.equal(whole)
  })

  it('hides an edge that arrives before its target, and shows it once both are there', () => {
    const index = createSearchIndex()
    setDocument(index, note('a', { text: 'zebra' }))
    setEdges(index, 'a', [link('a', 'b')])
    expect(deep(index)).to.deep.equal([['a'], []])
    setDocument(index, note('b'))
    expect(deep(index)).to.deep.equal(whole)
  })

  it('forgets the edges that a deleted node held itself', () => {
    const index = indexOf(documents, [link('a', 'b')])
    removeNode(index, 'a')
    setDocument(index, note('a', { text: 'zebra' }))
    expect(deep(index)).to.deep.equal([['a'], []])
  })

  it('replaces the edges of a holder and leaves those of others', () => {
    const index = indexOf([...documents, note('c')], [link('a', 'b'), link('c', 'a')])
    setEdges(index, 'a', [link('a', 'c')])
    expect(deep(index)).to.deep.equal([
      ['a', 'c'],
      ['a/connections/cites-c', 'c/connections/cites-a'],
    ])
  })
})
