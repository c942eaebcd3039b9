/** The conditions that a question's syntax sets, and the message if nothing is found. */

import { expect } from 'chai'
import { flushIndex } from '../../index/search/segments/org-index.ts'
import { ask, child, indexOf, matchesIn, nodesIn, note } from './notes.ts'
import { removeNode, setDocument } from './rows-in-memory.ts'

const notes = [
  note('gate', {
    title: 'Golden Gate',
    text: 'The Golden Gate is a strait; a *golden* bridge crosses it.',
    tags: ['sea'],
  }),
  note('bridge', { title: 'Bridges', text: 'A gate of golden stone, and a bridge.', tags: ['sea', 'open water'] }),
  note('stone', { title: 'Golden stones', text: 'Stones, a gate and Walfische.' }),
  note('tower', { title: '東京', text: '東京タワーは港区にある。' }),
]

/** By its question. */
const found: Record<string, string[]> = {
  'golden gate': ['bridge', 'gate', 'stone'],
  '"golden gate"': ['gate'],
  '"Golden  GATE" strait': ['gate'],
  '"gate of golden"': ['bridge'],
  '"golden bridge"': ['gate'],
  '"gate golden"': [],
  'which gate is called the "gate golden" by sailors': ['bridge', 'gate', 'stone'],
  'golden -bridge': ['stone'],
  'golden -bridges': ['stone'],
  'gate -"golden stone"': ['gate', 'stone'],
  'gate title:golden': ['gate', 'stone'],
  'gate title:"golden gate"': ['gate'],
  'title:golden': ['gate', 'stone'],
  'gate tag:sea': ['bridge', 'gate'],
  'gate tag:"open water"': ['bridge'],
  'gate tag:sea -strait': ['bridge'],
  'gate tag:none': [],
  'gate tag:SEA': ['bridge', 'gate'],
  'tag:sea': ['bridge', 'gate'],
  'tag:"Open Water"': ['bridge'],
  'tag:none': [],
  'tag:sea title:golden': ['gate'],
  'tag:sea -strait': ['bridge'],
  'tag:sea -"golden stone"': ['gate'],
  'gate -tag:Sea': ['stone'],
  '-tag:sea': ['stone', 'tower'],
  'gate -title:golden': ['bridge'],
  'gate -title:"golden gate"': ['bridge', 'stone'],
  'title:golden strait': ['gate'],
  '"京タワー"': ['tower'],
  'golden -東京': ['bridge', 'gate', 'stone'],
  're: golden -': ['bridge', 'gate', 'stone'],
}

describe('search: the syntax of questions', () => {
  const index = indexOf(notes)
  for (const [question, ids] of Object.entries(found))
    it(`finds for ${question}: ${ids.join(', ') || 'nothing'}`, () => {
      expect(matchesIn(ask(index, question)).sort()).to.deep.equal(ids)
    })

  it('lists by the time of the last change where there is nothing to rank by', () => {
    const times = ['2026-03-02', '2026-03-04', '2026-03-03', '2026-03-04', '2026-03-01'].map(
      (day) => `${day}T00:00:00.000Z`,
    )
    const dated = indexOf(times.map((updatedAt, at) => note(`n${at}`, { tags: ['port'], updatedAt })))
    const { matches, hint } = ask(dated, 'tag:Port', { top_k: 4, expansion_depth: 'deep' })
    expect(matches.map(({ node_id, score }) => [node_id, score])).to.deep.equal([
      ['n1', 1],
      ['n3', 1],
      ['n2', 1],
      ['n0', 1],
    ])
    expect(hint).to.equal(undefined)
  })

  it('does not bind what is reached from the matches', () => {
    const linked = indexOf(notes, [child('stone', 'gate')])
    expect(nodesIn(ask(linked, '"golden gate"', { expansion_depth: 'shallow' }))).to.deep.equal(['gate', 'stone'])
  })
})

describe('search: nothing found', () => {
  const index = indexOf(notes)
  const hint = (query: string, more = {}) => ask(index, query, more).hint

  it('says why, where that can be told', () => {
    expect(hint('xylophone')).to.equal('no_term_known')
    expect(hint('tag:none')).to.equal(undefined)
    expect(hint('is it the which')).to.equal('only_stop_words')
    expect(hint('golden', { scope: { tags: ['none'] } })).to.equal('scope_is_empty')
    expect(hint('strait', { scope: { node_ids: ['stone'] } })).to.equal(undefined)
    expect(hint('golden')).to.equal(undefined)
  })

  it('says that there is nothing, also once all has been deleted', () => {
    const small = indexOf([note('a', { text: 'zebra' })])
    removeNode(small, 'a')
    expect(ask(small, 'zebra').hint).to.equal('scope_is_empty')
  })

  it('says that nothing is in the scope, also once its nodes were sealed in a segment and then deleted or changed', () => {
    const [before, after] = ['2026-01-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z']
    const harbour = indexOf([
      note('a', { text: 'zebra', tags: ['port'], updatedAt: before }),
      note('b', { text: 'zebra', tags: ['port'], updatedAt: before }),
    ])
    const scopes = [{ tags: ['port'] }, { updated_before: '2026-02-01T00:00:00.000Z' }]
    const hints = () => scopes.map((scope) => ask(harbour, 'zebra', { scope }).hint)
    expect(hints()).to.deep.equal([undefined, undefined])
    flushIndex(harbour.index)
    removeNode(harbour, 'a')
    expect(hints()).to.deep.equal([undefined, undefined])
    setDocument(harbour, note('b', { text: 'zebra', updatedAt: after }))
    expect(hints()).to.deep.equal(['scope_is_empty', 'scope_is_empty'])
  })
})

describe('search: within a budget', () => {
  const paragraph = (word: string) => `${`${word} `.repeat(80).trim()}.`
  const text = `${paragraph('zebra')}\n\n${paragraph('lion')}\n\n${paragraph('gnu')}`
  const index = indexOf(
    [
      note('a', { title: 'zebra', text }),
      note('b', { text }),
      note('c', { text: 'grass' }),
      note('d', { text: 'grass' }),
    ],
    [child('c', 'a'), child('d', 'a')],
  )
  const nodes = (more: object) =>
    ask(index, 'zebra', { expansion_depth: 'shallow', include_raw_text: true, ...more }).nodes

  it('answers with max_nodes, but with every match', () => {
    expect(nodes({ max_nodes: 3 }).map(({ id }) => id)).to.have.length(3)
    expect(nodes({ max_nodes: 1 }).map(({ id }) => id)).to.have.members(['a', 'b'])
    expect(ask(index, 'zebra', { expansion_depth: 'shallow', max_nodes: 3 }).truncated).to.equal(true)
  })

  it('answers with max_chars of text, the best first, the last one up to the end of a paragraph', () => {
    const whole = nodes({ max_chars: 100_000 })
    expect(whole.map(({ text_truncated }) => text_truncated)).to.deep.equal([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    const cut = nodes({ max_chars: text.length + 700 })
    expect(cut[0]?.text_content).to.equal(text)
    expect(cut[1]).to.include({ text_content: paragraph('zebra'), text_truncated: true })
    for (const { text_content, text_truncated } of cut.slice(2))
      expect({ text_content, text_truncated }).to.deep.equal({ text_content: undefined, text_truncated: true })
  })

  it('never answers with more, nor with half a character', () => {
    const emoji = indexOf([note('a', { title: 'zebra', text: '🦓'.repeat(50) })])
    for (let max_chars = 1; max_chars < 100; max_chars++) {
      const [node] = ask(emoji, 'zebra', { include_raw_text: true, max_chars }).nodes
      expect((node?.text_content ?? '').length).to.be.at.most(max_chars)
      expect(node?.text_content ?? '').to.not.match(/\p{Surrogate}/u)
    }
  })
})
