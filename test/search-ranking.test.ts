/** The search against its promises: the same answer whatever the order of the edits, scores that can be recomputed, limits that hold. */

import { expect } from 'chai'
import fc from 'fast-check'
import {
  createSearchIndex,
  type Question,
  type Retrieved,
  removeNode,
  retrieve,
  type SearchDocument,
  type SearchEdge,
  type SearchIndex,
  setDocument,
  setEdges,
} from '../index/search/retrieve.ts'

const DEPTHS = ['none', 'shallow', 'standard', 'deep'] as const

type Edit =
  | { kind: 'document'; document: SearchDocument }
  | { kind: 'edges'; holder: string; edges: SearchEdge[] }
  | { kind: 'removal'; id: string }

function note(id: string, more: Partial<SearchDocument> = {}): SearchDocument {
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

function link(source: string, target: string, type = 'cites'): SearchEdge {
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
function child(target: string, source: string): SearchEdge {
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

function perform(index: SearchIndex, edits: Edit[]): SearchIndex {
  for (const edit of edits) {
    if (edit.kind === 'document') setDocument(index, edit.document)
    else if (edit.kind === 'edges') setEdges(index, edit.holder, edit.edges)
    else removeNode(index, edit.id)
  }
  return index
}

function indexOf(documents: SearchDocument[], edges: SearchEdge[] = []): SearchIndex {
  const index = createSearchIndex()
  for (const document of documents) setDocument(index, document)
  for (const holder of new Set(edges.map((edge) => edge.holder))) {
    const held = edges.filter((edge) => edge.holder === holder)
    setEdges(index, holder, held)
  }
  return index
}

function ask(index: SearchIndex, query: string, more: Partial<Question> = {}): Retrieved {
  return retrieve(index, { query, top_k: 5, expansion_depth: 'none', include_raw_text: false, ...more })
}

const matchesIn = (answer: Retrieved) => answer.matches.map((match) => match.node_id)
const nodesIn = (answer: Retrieved) => answer.nodes.map((node) => node.id).sort()
const edgesIn = (answer: Retrieved) => answer.connections.map((edge) => edge.id)

// Words that are their own stems and no stop words, a few that differ only by case, accent or ending, and some that are neither.
const WORDS = [
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
const IDS = ['a', 'b', 'c', 'd', 'e', 'f']
const TIMES = ['2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']

const anId = fc.constantFrom(...IDS)
const phrase = (maxLength: number) => fc.array(fc.constantFrom(...WORDS), { maxLength }).map((words) => words.join(' '))
const aDocument = fc.record({
  id: anId,
  title: phrase(3),
  text: phrase(12),
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
const edits = fc.array(anEdit, { minLength: 1, maxLength: 40 })

const aScope = fc.record(
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
const aQuery = fc.oneof(
  phrase(4),
  fc.constantFrom('planit', 'orbitng comett', 'the who', 'moon moon star', 'constructor'),
)
const aQuestion = fc
  .record({
    query: aQuery,
    top_k: fc.integer({ min: 1, max: 4 }),
    scope: fc.option(aScope, { nil: undefined }),
    include_raw_text: fc.boolean(),
  })
  .map(({ scope, ...rest }) => (scope ? { ...rest, scope } : rest))

/** What `done` leaves behind, as edits without history, in the order of `keys`. */
function finalState(done: Edit[], keys: number[]): Edit[] {
  const documents = new Map<string, Edit>()
  const held = new Map<string, Edit>()
  for (const edit of done) {
    if (edit.kind === 'document') documents.set(edit.document.id, edit)
    else if (edit.kind === 'edges') held.set(edit.holder, { ...edit, edges: shuffled(edit.edges, keys) })
    else {
      documents.delete(edit.id)
      held.delete(edit.id)
    }
  }
  return shuffled([...documents.values(), ...held.values()], keys)
}

function shuffled<T>(items: T[], keys: number[]): T[] {
  return items
    .map((item, i) => ({ item, key: keys[i] ?? 0 }))
    .sort((x, y) => x.key - y.key)
    .map(({ item }) => item)
}

const someKeys = fc.array(fc.nat(), { minLength: 16, maxLength: 16 })

describe('search: one state, one answer', () => {
  it('answers the same to the byte, whatever the edits that led to a state and whatever their order', () => {
    fc.assert(
      fc.property(edits, someKeys, fc.array(aQuestion, { minLength: 1, maxLength: 4 }), (done, keys, questions) => {
        const lived = perform(createSearchIndex(), done)
        const fresh = perform(createSearchIndex(), finalState(done, keys))
        for (const question of questions) {
          for (const expansion_depth of DEPTHS) {
            expect(JSON.stringify(retrieve(lived, { ...question, expansion_depth }))).to.equal(
              JSON.stringify(retrieve(fresh, { ...question, expansion_depth })),
            )
          }
        }
      }),
      { numRuns: 400 },
    )
  })

  it('answers the same when asked between the edits as when asked only at the end', () => {
    fc.assert(
      fc.property(edits, aQuestion, (done, question) => {
        const asked = createSearchIndex()
        for (const edit of done) {
          perform(asked, [edit])
          retrieve(asked, { ...question, expansion_depth: 'deep' })
        }
        const left = perform(createSearchIndex(), done)
        expect(retrieve(asked, { ...question, expansion_depth: 'deep' })).to.deep.equal(
          retrieve(left, { ...question, expansion_depth: 'deep' }),
        )
      }),
      { numRuns: 100 },
    )
  })
})

describe('search: levels of expansion', () => {
  it('gives the same matches at every level, and each level all nodes of the one before', () => {
    fc.assert(
      fc.property(edits, aQuestion, (done, question) => {
        const index = perform(createSearchIndex(), done)
        const answers = DEPTHS.map((expansion_depth) => retrieve(index, { ...question, expansion_depth }))
        for (const [i, answer] of answers.entries()) {
          expect(answer.matches).to.deep.equal(answers[0]?.matches)
          expect(nodesIn(answer)).to.include.members(nodesIn(answers[Math.max(0, i - 1)] ?? answer))
          expect(edgesIn(answer)).to.include.members(edgesIn(answers[Math.max(0, i - 1)] ?? answer))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('orders nodes by score in 6 digits, then by id, each match among them and each expanded node one hop from its via', () => {
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
  })

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
  const reached: Record<Question['expansion_depth'], string[]> = {
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

  it('hides an edge that arrives before its nodes, and shows it once both are there', () => {
    const index = createSearchIndex()
    setEdges(index, 'a', [link('a', 'b')])
    setDocument(index, note('a', { text: 'zebra' }))
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

describe('search: scope', () => {
  const index = indexOf(
    [
      note('root', { text: 'zebra', tags: ['red'], updatedAt: '2026-01-01T00:00:00.000Z' }),
      note('leaf', { text: 'zebra', tags: ['red', 'blue'], updatedAt: '2026-02-01T00:00:00.000Z' }),
      note('twig', { text: 'zebra', updatedAt: '2026-03-01T00:00:00.000Z' }),
      note('other', { text: 'zebra', tags: ['blue'], updatedAt: '2026-04-01T00:00:00.000Z' }),
    ],
    [child('leaf', 'root'), child('twig', 'leaf'), link('root', 'other'), link('other', 'twig', 'knows')],
  )
  const rules: [string, NonNullable<Question['scope']>, string[]][] = [
    ['everything without conditions', {}, ['leaf', 'other', 'root', 'twig']],
    ['the listed nodes', { node_ids: ['leaf', 'other', 'nobody'] }, ['leaf', 'other']],
    ['nothing for an empty list of nodes', { node_ids: [] }, []],
    ['a node and its descendants, not its connections', { under: 'root' }, ['leaf', 'root', 'twig']],
    ['nothing under an unknown node', { under: 'nobody' }, []],
    ['nodes with the tag', { tags: ['red'] }, ['leaf', 'root']],
    ['nodes with all of the tags', { tags: ['red', 'blue'] }, ['leaf']],
    ['everything for an empty list of tags', { tags: [] }, ['leaf', 'other', 'root', 'twig']],
    ['what changed after a time, exclusive', { updated_after: '2026-02-01T00:00:00Z' }, ['other', 'twig']],
    ['what changed before a time, exclusive', { updated_before: '2026-02-01T00:00:00Z' }, ['root']],
    ['times with an offset', { updated_before: '2026-02-01T00:30:00+01:00' }, ['root']],
    ['nodes that meet all conditions', { under: 'root', tags: ['red'], node_ids: ['leaf', 'twig'] }, ['leaf']],
    ['all matches whatever the types of connection', { connection_types: [] }, ['leaf', 'other', 'root', 'twig']],
  ]
  for (const [rule, scope, expected] of rules) {
    it(`admits ${rule}`, () => {
      expect(matchesIn(ask(index, 'zebra', { scope })).sort()).to.deep.equal(expected)
    })
  }

  it('bounds the expansion as it bounds the matches', () => {
    const scope = { node_ids: ['root', 'leaf'] }
    expect(nodesIn(ask(index, 'root', { scope, expansion_depth: 'deep' }))).to.deep.equal(['leaf', 'root'])
  })

  it('does not pass through a node outside the scope', () => {
    const scope = { node_ids: ['root', 'twig'] }
    expect(nodesIn(ask(index, 'root', { scope, expansion_depth: 'deep' }))).to.deep.equal(['root'])
  })

  it('follows connections of the given types only, and children all the same', () => {
    const reach = (connection_types: string[]) =>
      nodesIn(ask(index, 'other', { scope: { connection_types }, expansion_depth: 'deep' }))
    expect(reach(['knows'])).to.deep.equal(['leaf', 'other', 'twig'])
    expect(reach(['cites'])).to.deep.equal(['leaf', 'other', 'root'])
    expect(reach([])).to.deep.equal(['other'])
  })

  it('fills top_k with nodes of the scope, however many better ones lie outside', () => {
    const many = Array.from({ length: 200 }, (_, i) => note(`out${i}`, { title: 'zebra zebra' }))
    const crowded = indexOf([...many, note('in', { text: 'one zebra among many words' })])
    expect(matchesIn(ask(crowded, 'zebra', { top_k: 1, scope: { node_ids: ['in'] } }))).to.deep.equal(['in'])
  })

  it('holds in every answer: no node is outside the scope', () => {
    fc.assert(
      fc.property(edits, aQuery, aScope, (done, query, scope) => {
        const random = perform(createSearchIndex(), done)
        const kept = new Map(
          finalState(done, []).flatMap((edit) => (edit.kind === 'document' ? [[edit.document.id, edit.document]] : [])),
        )
        for (const { id } of ask(random, query, { scope, expansion_depth: 'deep' }).nodes) {
          const { tags, updatedAt } = kept.get(id) ?? expect.fail(`${id} is not there`)
          expect(scope.node_ids ?? IDS).to.include(id)
          expect(tags).to.include.members(scope.tags ?? [])
          expect(updatedAt > (scope.updated_after ?? '') && updatedAt < (scope.updated_before ?? '9')).to.equal(true)
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('search: limits', () => {
  const kin = (count: number, text: string) =>
    Array.from({ length: count }, (_, i) => note(`kin${String(i).padStart(4, '0')}`, { text }))

  it('answers with 500 nodes and says so when more are reached; the matches stay', () => {
    const children = kin(600, 'grass')
    const matches = Array.from({ length: 50 }, (_, i) => note(`match${i}`, { text: 'zebra' }))
    const index = indexOf(
      [...matches, ...children],
      children.map(({ id }) => child(id, 'match0')),
    )
    const answer = ask(index, 'zebra', { top_k: 50, expansion_depth: 'shallow' })
    expect([answer.nodes.length, answer.matches.length, answer.truncated]).to.deep.equal([500, 50, true])
    expect(nodesIn(answer)).to.include.members(matchesIn(answer))
    const ends = new Set(nodesIn(answer))
    expect(answer.connections.every(({ source, target }) => ends.has(source) && ends.has(target))).to.equal(true)
  })

  it('answers with 500 nodes untruncated when there are no more', () => {
    const children = kin(499, 'grass')
    const index = indexOf(
      [note('seed', { text: 'zebra' }), ...children],
      children.map(({ id }) => child(id, 'seed')),
    )
    const { nodes, truncated } = ask(index, 'zebra', { expansion_depth: 'deep' })
    expect([nodes.length, truncated]).to.deep.equal([500, false])
  })

  it('sends 16 MiB of text at most, in UTF-8 bytes, and leaves out the nodes that score lowest', () => {
    const children = kin(8, 'é'.repeat(1.5 * 1024 * 1024))
    const index = indexOf(
      [note('seed', { text: 'zebra' }), ...children],
      children.map(({ id }) => child(id, 'seed')),
    )
    const { nodes, truncated } = ask(index, 'zebra', { expansion_depth: 'shallow', include_raw_text: true })
    expect(nodes.map(({ id }) => id)).to.deep.equal(['seed', 'kin0000', 'kin0001', 'kin0002', 'kin0003', 'kin0004'])
    expect([nodes.every(({ text_content }) => text_content !== undefined), truncated]).to.deep.equal([true, true])
    expect(ask(index, 'zebra', { expansion_depth: 'shallow' })).to.include({ truncated: false })
  })

  it('keeps a match whose text finds no room, without the text', () => {
    const index = indexOf([
      note('a', { title: 'zebra', text: 'é'.repeat(9 * 1024 * 1024) }),
      note('b', { title: 'zebra', text: 'small' }),
    ])
    const { nodes, truncated } = ask(index, 'zebra', { include_raw_text: true })
    expect(nodes.map(({ id, text_content }) => [id, text_content])).to.deep.equal([
      ['a', undefined],
      ['b', 'small'],
    ])
    expect(truncated).to.equal(true)
  })

  it('sends text only when asked', () => {
    const index = indexOf([note('a', { text: 'zebra' })])
    expect(ask(index, 'zebra').nodes[0]).not.to.have.property('text_content')
    expect(ask(index, 'zebra', { include_raw_text: true }).nodes[0]).to.include({ text_content: 'zebra' })
  })

  it('answers with top_k matches at most, equals by id', () => {
    const index = indexOf(['d', 'b', 'a', 'c'].map((id) => note(id, { title: 'same', text: 'zebra' })))
    expect(matchesIn(ask(index, 'zebra', { top_k: 3 }))).to.deep.equal(['a', 'b', 'c'])
  })
})

describe('search: scores', () => {
  const vocabulary = ['moon', 'star', 'comet', 'orbit', 'cloud', 'rock']
  const words = (minLength: number, maxLength: number) =>
    fc.array(fc.constantFrom(...vocabulary), { minLength, maxLength })
  const corpus = fc.array(fc.record({ title: words(1, 3), text: words(0, 12) }), { minLength: 1, maxLength: 8 })

  /** BM25 from its definition; MiniSearch counts distinct words as the length of a field. */
  function bm25(texts: string[][], at: number, term: string): number {
    const having = texts.filter((text) => text.includes(term)).length
    const idf = Math.log(1 + (texts.length - having + 0.5) / (having + 0.5))
    const lengths = texts.map((text) => new Set(text).size)
    const average = lengths.reduce((sum, length) => sum + length, 0) / texts.length
    const count = texts[at]?.filter((word) => word === term).length ?? 0
    return (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * (lengths[at] ?? 0)) / average))
  }

  it('scores by BM25 over title and text, plus 0.3 of that over the title; a word said n times weighs √n', () => {
    fc.assert(
      fc.property(corpus, words(1, 4), (documents, query) => {
        const index = indexOf(
          documents.map(({ title, text }, i) => note(`n${i}`, { title: title.join(' '), text: text.join(' ') })),
        )
        const titles = documents.map(({ title }) => title)
        const whole = documents.map(({ title, text }) => [...title, ...text])
        const expected = documents.map((_, i) =>
          [...new Set(query)].reduce((sum, term) => {
            const weight = Math.sqrt(query.filter((word) => word === term).length)
            return sum + weight * (bm25(whole, i, term) + 0.3 * bm25(titles, i, term))
          }, 0),
        )
        const { matches } = ask(index, query.join(' '), { top_k: 50 })
        const found = new Map(matches.map(({ node_id, score }) => [node_id, score]))
        for (const [i, score] of expected.entries()) {
          expect(found.get(`n${i}`) ?? 0).to.be.closeTo(score, score * 1e-5)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('reads past case, accents, endings, possessives and inner full stops', () => {
    const index = indexOf([note('x', { title: 'untitled', text: "Émile's CAFÉS, connecting the U.S." })])
    for (const query of ['emile', 'Café', 'connections', 'US', 'u.s.', 'e\u0301mile’s']) {
      expect(matchesIn(ask(index, query)), query).to.deep.equal(['x'])
    }
  })

  it('forgives a typing error in a word that no node has, and none in a word that one has', () => {
    const index = indexOf([note('x', { text: 'planet' }), note('y', { text: 'planer' })])
    expect(matchesIn(ask(index, 'planett'))).to.deep.equal(['x'])
    expect(matchesIn(ask(index, 'planet'))).to.deep.equal(['x'])
    expect(matchesIn(ask(index, 'plbnet planer'))).to.have.members(['x', 'y'])
  })

  it('puts a query of stop words only to the titles', () => {
    const index = indexOf([note('x', { title: 'The Who' }), note('y', { title: 'Band', text: 'the who and the band' })])
    expect(matchesIn(ask(index, 'who the'))).to.deep.equal(['x'])
  })

  it('names the matched words as the query wrote them, in its order', () => {
    const index = indexOf([note('x', { text: 'the moons orbit a planet' })])
    expect(ask(index, 'Planet of ORBITING zebras moon').matches[0]?.matched_terms).to.deep.equal([
      'planet',
      'orbiting',
      'moon',
    ])
  })
})

describe('search: snippets', () => {
  it('shows the 40 words that say most of the query', () => {
    const around = (i: number) => Array.from({ length: 100 }, (_, j) => `word${i}x${j}`).join(' ')
    const text = `${around(0)} zebra ${around(1)} zebra near a quagga ${around(2)}`
    const [match] = ask(indexOf([note('x', { text }), note('y', { text: 'other' })]), 'quagga zebra').matches
    expect(match?.snippet).to.include('zebra near a quagga')
    expect(match?.snippet.split(' ')).to.have.length(40)
  })

  it('begins at the beginning when only the title matches, and is empty without a text', () => {
    const index = indexOf([
      note('x', { title: 'zebra', text: '# Some  *other*\nwords.' }),
      note('y', { title: 'quagga' }),
    ])
    expect(ask(index, 'zebra').matches[0]?.snippet).to.equal('Some *other* words')
    expect(ask(index, 'quagga').matches[0]?.snippet).to.equal('')
  })

  it('is a piece of the text with white space collapsed, 40 words and 1000 characters long at most', () => {
    const text = fc
      .array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: 'grapheme', maxLength: 60 })), { maxLength: 120 })
      .map((words) => words.join(' \n'))
    fc.assert(
      fc.property(text, aQuery, (written, query) => {
        const collapse = (part: string) => part.replace(/\s+/g, ' ')
        for (const { snippet } of ask(indexOf([note('moon', { text: written })]), `moon ${query}`).matches) {
          expect(collapse(written)).to.include(snippet)
          expect(snippet.length).to.be.at.most(1000)
          expect(Buffer.from(snippet).toString()).to.equal(snippet)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('does not end in half a character', () => {
    const index = indexOf([note('x', { title: 'zebra', text: `a${'𝒳'.repeat(2000)}` })])
    expect(ask(index, 'zebra').matches[0]?.snippet).to.equal(`a${'𝒳'.repeat(499)}`)
  })
})

describe('search: whatever is asked', () => {
  const kib16 = (part: string) => part.repeat(Math.ceil((16 * 1024) / part.length)).slice(0, 16 * 1024)
  const distinct = Array.from({ length: 4000 }, (_, i) => (i * 7919 + 456976).toString(26).replace(/\d/g, 'q')).join(
    ' ',
  )
  const hostile: [string, string][] = [
    ['nothing', ''],
    ['white space', ' \n\t\u00a0'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor hasOwnProperty toString valueOf __defineGetter__ prototype'],
    ['emoji', '🌍🚀 👩‍👩‍👧'],
    ['regex characters', '(?:.*+?^$|{}()[\\]/ (a+)+$ \\p{L}'],
    ['stop words', 'to be or not to be'],
    ['a lone surrogate', '\ud800 zebra \udc00'],
    ['a null byte', 'zebra\u0000zebra'],
    ['combining marks alone', '\u0301\u0301\u0301'],
    ['16 KiB of one letter', kib16('y')],
    ['16 KiB of y and a vowel', kib16('ya')],
    ['16 KiB of one word', kib16('zebra ')],
    ['16 KiB of one joined word', kib16("a.b'c")],
    ['16 KiB of words that are nearly there', distinct.slice(0, 16 * 1024)],
    ['16 KiB of emoji', kib16('🌍')],
    ['16 KiB of marks', `z${kib16('\u0301')}`],
    ['16 KiB of a ligature that unfolds', kib16('ﷺ')],
  ]
  const documents = Array.from({ length: 2000 }, (_, i) =>
    note(`n${i}`, {
      title: `Zebra ${i.toString(26)}`,
      text: `${distinct.slice(i * 5, i * 5 + 300)} constructor zebra`,
    }),
  )
  const edges = documents.slice(1).map(({ id }, i) => link(id, `n${i % 40}`))
  let index: SearchIndex
  before(() => {
    index = indexOf(documents, edges)
  })

  for (const [name, query] of hostile) {
    it(`answers ${name} within half a second`, () => {
      ask(index, 'zebra', { expansion_depth: 'deep' })
      const started = performance.now()
      const answer = ask(index, query, { expansion_depth: 'deep', top_k: 50 })
      expect(performance.now() - started).to.be.below(500)
      expect(answer.query).to.equal(query)
    })
  }

  it('finds words that are names of an object’s own machinery', () => {
    const odd = indexOf([note('__proto__', { title: 'constructor', text: 'hasOwnProperty' }), note('constructor')])
    expect(matchesIn(ask(odd, 'constructor'))).to.have.members(['__proto__', 'constructor'])
    expect(matchesIn(ask(odd, 'hasownproperty'))).to.deep.equal(['__proto__'])
    removeNode(odd, '__proto__')
    expect(matchesIn(ask(odd, 'constructor'))).to.deep.equal(['constructor'])
  })

  it('never throws, and takes back whatever text it took in', () => {
    const anything = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(anything, anything, anything, (title, text, query) => {
        const one = indexOf([note('x', { title, text }), note('y', { text: 'zebra' })])
        ask(one, query, { expansion_depth: 'deep' })
        removeNode(one, 'x')
        expect(ask(one, 'zebra')).to.deep.equal(ask(indexOf([note('y', { text: 'zebra' })]), 'zebra'))
      }),
      { numRuns: 300 },
    )
  })

  it('answers nothing from an empty index', () => {
    expect(ask(createSearchIndex(), 'zebra', { expansion_depth: 'deep' })).to.deep.equal({
      query: 'zebra',
      matches: [],
      nodes: [],
      connections: [],
      truncated: false,
    })
  })
})
