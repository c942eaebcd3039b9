/** Matches by meaning: when they count, and what they change. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type Random, randomOf } from '../../support/random.ts'
import { ask, DEPTHS, indexOf, link, matchesIn, note } from '../notes.ts'
import type { Retrieved, SearchIndex, SearchQuestion } from '../rows-in-memory.ts'
import { createSearchIndex, removeNode, retrieve, setDocument } from '../rows-in-memory.ts'
import { standInVector } from '../stand-in-model.ts'
import { askByMeaning, vectorsOf } from './vectors-of.ts'

const fillers = Array.from({ length: 30 }, (_, n) =>
  note(`f${String(n).padStart(2, '0')}`, {
    title: `Record ${'xyz'[n % 3]}`,
    text: `entry ${n} of granite, basalt and schist`,
  }),
)
/** Similar in letters to the question, but without one of its words. */
const holiday = note('holiday', { title: 'Annual leave', text: 'Vacationlike weeks keep the salaries of employees.' })
const QUESTION = 'vacationland salaryman'

const question = (query: string, more: Partial<SearchQuestion> = {}): SearchQuestion => ({
  query,
  top_k: 5,
  expansion_depth: 'none',
  include_raw_text: false,
  ...more,
})

const byMeaning = (index: SearchIndex, query: string, more: Partial<SearchQuestion> = {}) =>
  askByMeaning(index, question(query, more))

const meant = ({ matches }: Retrieved) => matches.filter(({ meaning }) => meaning).map(({ node_id }) => node_id)

describe('search: by meaning', () => {
  const index = indexOf([...fillers, holiday])

  it('finds a node that has no word of the question, and says so', () => {
    expect(matchesIn(ask(index, QUESTION))).to.deep.equal([])
    const found = byMeaning(index, QUESTION, { explain: true })
    const [match] = found.matches
    expect(match?.node_id).to.equal('holiday')
    expect(match?.matched_terms).to.deep.equal([])
    expect(match?.meaning?.similarity).to.be.within(0.1, 1)
    expect(match?.explanation?.meaning).to.deep.include({
      similarity: match?.meaning?.similarity,
      unsure: { share: 0, title: 0, found: 0, name: false },
      score: match?.score,
    })
    expect(found.hint).to.equal(undefined)
    expect(found.total).to.be.at.least(found.matches.length)
  })

  it('says without the vector of the question that the words failed', () => {
    const vectors = vectorsOf(index)
    const { unsure, ...found } = retrieve(index, question(QUESTION), {}, { vectors })
    expect(unsure).to.equal(true)
    expect(found).to.deep.equal(ask(index, QUESTION))
    expect(retrieve(index, question('Record granite'), {}, { vectors }).unsure).to.equal(false)
    vectors.free()
  })

  it('is shut by names, titles, phrases, stop words, filters alone, and few nodes', () => {
    const open = (query: string, of = index) => {
      const vectors = vectorsOf(of)
      const { unsure } = retrieve(of, question(query), {}, { vectors })
      vectors.free()
      return unsure
    }
    expect(open('vacationland salaryman granite')).to.equal(true)
    expect(open('vacationland salaryman Granite')).to.equal(false)
    expect(open('Granite vacationland salaryman')).to.equal(true)
    expect(open('vacationland salaryman leave')).to.equal(false)
    expect(open('recor')).to.equal(false)
    expect(open('"vacationland salaryman"')).to.equal(false)
    expect(open('vacationland salaryman -"granite schist"')).to.equal(false)
    expect(open('the who')).to.equal(false)
    expect(open('*')).to.equal(false)
    expect(open('title:vacationland')).to.equal(false)
    expect(open('-title:vacationland')).to.equal(false)
    expect(open('title:vacationland salaryman')).to.equal(false)
    expect(open('title:annual vacationland salaryman')).to.equal(true)
    expect(open('tag:unknown vacationland salaryman')).to.equal(false)
    expect(open(QUESTION, indexOf([...fillers.slice(0, 8), holiday]))).to.equal(false)
    expect(open(QUESTION, indexOf([...fillers.slice(0, 9), holiday]))).to.equal(true)
  })

  it('is shut by a best hit whose title says nothing', () => {
    for (const [title, isOpen] of [
      ['Something', true],
      ['', false],
      ['2026-03-01', false],
    ] as const) {
      const of = indexOf([...fillers, holiday, note('dated', { title, text: 'quagga' })])
      const vectors = vectorsOf(of)
      expect(retrieve(of, question(`${QUESTION} quagga`), {}, { vectors }).unsure, title).to.equal(isOpen)
      vectors.free()
    }
  })

  it('is shut by a hit that has every word, although no indexed passage has all', () => {
    const section = (words: string) => `## ${words}\n\n${'Granite is hard here. '.repeat(20)}\n\n`
    // Passages after the 64th are not indexed.
    const text = `${section('Gneiss').repeat(70)}${section('Using yarn')}`
    const of = indexOf([...fillers, holiday, note('tools', { title: 'Something', text })])
    const vectors = vectorsOf(of)
    const [known, other] = ['granite yarn', 'granite yarn quagga'].map(
      (query) => retrieve(of, question(query), {}, { vectors }).unsure,
    )
    vectors.free()
    expect([known, other]).to.deep.equal([false, true])
  })

  it('matches only what filters and the scope admit', () => {
    expect(meant(byMeaning(index, QUESTION))).to.include('holiday')
    for (const query of [`${QUESTION} -employees`, `${QUESTION} tag:red`, `${QUESTION} title:record`])
      expect(meant(byMeaning(index, query)), query).to.not.include('holiday')
    expect(meant(byMeaning(index, `${QUESTION} title:leave`))).to.deep.equal(['holiday'])
    expect(meant(byMeaning(index, QUESTION, { scope: { node_ids: ['f01', 'f02'] } }))).to.not.include('holiday')
    expect(meant(byMeaning(index, QUESTION, { scope: { node_ids: ['holiday'] } }))).to.deep.equal(['holiday'])
    expect(byMeaning(index, QUESTION, { scope: { node_ids: [] } }).hint).to.equal('scope_is_empty')
    const alone = fillers.map(({ id }) => byMeaning(index, QUESTION, { scope: { node_ids: [id] } }))
    const without = alone.filter(({ matches }) => matches.length === 0)
    expect(without.length).to.be.above(10)
    for (const { hint } of without) expect(hint).to.equal('no_term_known')
  })

  it('passes its score on along edges', () => {
    const linked = indexOf([...fillers, holiday], [link('holiday', 'f07')])
    const { nodes } = byMeaning(linked, QUESTION, { expansion_depth: 'deep', top_k: 1, explain: true })
    expect(nodes.map(({ id, relation }) => [id, relation])).to.deep.equal([
      ['holiday', 'match'],
      ['f07', 'connection'],
    ])
    expect(nodes[1]?.explanation?.edge?.from).to.equal('holiday')
  })

  it('shows the passage nearest to the question, else the beginning', () => {
    const sections = ['One', 'Two', 'Three'].map(
      (name) => `## ${name}\n\n${name} ${'vacationlike salaries '.repeat(30)}`,
    )
    const of = indexOf([...fillers, { ...holiday, text: sections.join('\n\n') }])
    const nearestPassage = (id: string) => (id === 'holiday' ? 2 : undefined)
    const shown = askByMeaning(of, question(QUESTION, { include_raw_text: 'passages', top_k: 1 }), { nearestPassage })
    expect(shown.matches[0]?.passage).to.deep.equal({ heading: 'Three', line: 11 })
    expect(shown.matches[0]?.snippet).to.match(/^Three vacationlike/)
    expect(shown.nodes[0]?.passages?.map(({ heading }) => heading)).to.deep.equal(['Three'])
    const plain = askByMeaning(of, question(QUESTION, { include_raw_text: 'passages', top_k: 1 }))
    expect(plain.matches[0]?.passage).to.equal(undefined)
    expect(plain.matches[0]?.snippet).to.match(/^One One/)
    expect(plain.nodes[0]?.passages?.map(({ heading }) => heading)).to.deep.equal(['One'])
  })

  it('ignores vectors of nodes that are gone, and nodes without a vector', () => {
    const of = indexOf([...fillers, holiday])
    const vectors = vectorsOf(of)
    removeNode(of, 'holiday')
    setDocument(of, { ...holiday, id: 'later' })
    const found = retrieve(of, question(QUESTION, { top_k: 50 }), {}, { vectors, question: standInVector(QUESTION) })
    expect(meant(found)).to.not.include.members(['holiday'])
    expect(meant(found)).to.not.include('later')
    vectors.free()
  })
})

const WORDS = ['moon', 'Moon', 'star', 'planet', 'comet', 'orbit', 'orbiting', 'the', 'cafe', 'eclipse', 'zenith']
/** Some are in no node. */
const ASKED = [...WORDS, 'lunar', 'stellar', 'quagga', 'planetoid', 'moonlight', 'cometary', 'planit']
const TITLES = ['moon', 'star', 'notes', 'a list', '', '2026', 'planet orbit', 'Zenith', 'what we saw', 'other']

function collection(random: Random): SearchIndex {
  const index = createSearchIndex()
  const words = (most: number) => Array.from({ length: random.below(most) }, () => random.pick(WORDS)).join(' ')
  const bare = random.below(2) === 0
  for (let n = 0; n < 12 + random.below(120); n++) {
    const text = bare ? words(12) : Array.from({ length: 1 + random.below(4) }, () => `# ${words(2)}\n\n${words(40)}`)
    const title = bare ? random.pick(TITLES) : random.pick(TITLES.slice(7))
    setDocument(index, note(`n${n}`, { title, text: String(text), tags: random.pick([[], ['red']]) }))
  }
  return index
}

function questions(random: Random, count: number): SearchQuestion[] {
  return Array.from({ length: count }, (_, n) =>
    question(Array.from({ length: 1 + random.below(5) }, () => random.pick(ASKED)).join(' '), {
      top_k: random.pick([1, 3, 20]),
      expansion_depth: DEPTHS[n % DEPTHS.length] ?? 'none',
      include_raw_text: random.pick([false, true, 'passages'] as const),
      explain: random.below(2) === 0,
      ...(random.below(4) === 0 ? { scope: { tags: ['red'] } } : {}),
    }),
  )
}

describe('search: by meaning, over random collections', () => {
  it.deep('changes no byte unless the words failed, and changes little else', () => {
    const seen = { sure: 0, unsure: 0 }
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = randomOf(seed)
        const index = collection(random)
        const vectors = vectorsOf(index, random.shuffled)
        for (const asked of questions(random, 12)) {
          const byWords = JSON.stringify(retrieve(index, asked))
          const doubted = retrieve(index, asked, {}, { vectors })
          const { unsure, ...found } = retrieve(index, asked, {}, { vectors, question: standInVector(asked.query) })
          expect(doubted.unsure).to.equal(unsure)
          expect(JSON.stringify({ ...doubted, unsure: undefined })).to.equal(byWords)
          if (unsure) seen.unsure++
          else seen.sure++
          if (!unsure) expect(JSON.stringify(found)).to.equal(byWords)
        }
        vectors.free()
      }),
      { numRuns: 40 },
    )
    expect(Math.min(seen.sure, seen.unsure), JSON.stringify(seen)).to.be.above(30)
  })

  it.deep('answers the same in any order of arrival', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const random = randomOf(seed)
        const index = collection(random)
        const [one, other] = [vectorsOf(index), vectorsOf(index, random.shuffled)]
        for (const asked of questions(random, 6)) {
          const meaning = standInVector(asked.query)
          expect(retrieve(index, asked, {}, { vectors: one, question: meaning })).to.deep.equal(
            retrieve(index, asked, {}, { vectors: other, question: meaning }),
          )
        }
        one.free()
        other.free()
      }),
      { numRuns: 20 },
    )
  })

  it.deep('continues on the next page without a hole, a double or another total', () => {
    let pages = 0
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(1, 4, 7, 50), (seed, top_k) => {
        const random = randomOf(seed)
        const index = collection(random)
        for (const asked of questions(random, 6)) {
          const ofPage = (offset: number, size: number) =>
            askByMeaning(index, { ...asked, expansion_depth: 'none', include_raw_text: false, top_k: size, offset })
          const first = ofPage(0, top_k)
          const all = Array.from({ length: Math.ceil(first.total / top_k) }, (_, n) => ofPage(n * top_k, top_k))
          expect(new Set([first, ...all].map(({ total }) => total)).size).to.equal(1)
          expect(new Set([first, ...all].map(({ unsure }) => unsure)).size).to.equal(1)
          const ids = all.flatMap(matchesIn)
          expect(ids).to.have.length(first.total)
          expect(new Set(ids).size).to.equal(first.total)
          const whole = Array.from({ length: Math.ceil(first.total / 50) }, (_, n) => ofPage(n * 50, 50)).flatMap(
            ({ matches }) => matches,
          )
          expect(ids).to.deep.equal(whole.map(({ node_id }) => node_id))
          if (first.unsure && all.length > 1) pages += all.length
        }
      }),
      { numRuns: 25 },
    )
    expect(pages, 'pages').to.be.above(50)
  })
})
