/** Of what scores are made, and names that lead from one match to another. */
import { expect } from 'chai'
import fc from 'fast-check'
import { roundScore } from '../../index/search/ranking/scores.ts'
import { askByMeaning } from './meaning/vectors-of.ts'
import { aQuestion, ask, child, DEPTHS, edits, indexOf, link, matchesIn, note, perform } from './notes.ts'
import { createSearchIndex, type Retrieved, retrieve } from './rows-in-memory.ts'

/** Scores have 6 digits, as have the parts that they are made of. */
const isClose = (one: number, other: number) => Math.abs(one - other) <= 1e-5 * Math.max(Math.abs(one), 1)

type Match = Retrieved['matches'][number]

const sumOf = (parts: readonly { score: number }[]) => parts.reduce((sum, { score }) => sum + score, 0)

/** The best score. Matches whose titles begin with the query come first, whatever their scores. */
const topOf = ({ matches }: Retrieved) => Math.max(0, ...matches.map(({ score }) => score))

/**
 * Computes each score from what the answer says of it, by the formulas of the document.
 *
 * @param tops the best score of the listed matches, and of all. Gains are shares of one of them
 */
function expectExplained({ matches, nodes }: Retrieved, ...tops: readonly number[]): void {
  for (const { score, explanation, meaning } of matches) {
    if (explanation === undefined) throw new Error('A match is not explained')
    const { terms, passage } = explanation
    const words = passage === undefined ? sumOf(terms) : (sumOf(terms) + sumOf(passage.terms)) / 2
    const total = words + (explanation.meaning?.score ?? 0)
    expect(explanation.meaning && { similarity: explanation.meaning.similarity }).to.deep.equal(meaning)
    expect(isClose(total, score), `${total} for ${score}`).to.equal(true)
    for (const { weight, idf, count, length, average_length, score: part } of [...terms, ...(passage?.terms ?? [])]) {
      const said = (weight * idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / average_length))
      expect(isClose(said, part), `${said} for ${part}`).to.equal(true)
    }
  }
  let possible = tops
  for (const { score, explanation, bridge } of nodes) {
    if (explanation === undefined) throw new Error('A node is not explained')
    const { own, gained, edge } = explanation
    expect(explanation.bridge === undefined).to.equal(bridge === undefined)
    expect(isClose(own + gained, score), `${own} and ${gained} for ${score}`).to.equal(true)
    const { strength, weight, dilution, novelty, degree } = edge ?? {
      strength: 0,
      weight: 0,
      dilution: 0,
      novelty: 0,
      degree: 0,
    }
    const share = (strength * weight * dilution * novelty) / (1 + Math.log(1 + degree)) ** 0.25
    possible = possible.filter((top) => isClose(top * share, gained))
    expect(possible, `${tops} times ${share} for ${gained}`).to.not.have.length(0)
  }
}

const clamp = (value: number) => Math.min(1, Math.max(0, value))

/** Computes each gain by meaning from its signals. @param top the best score by words */
function expectGains({ matches }: Retrieved, top: number): number {
  const explained = matches.flatMap(({ explanation }) => explanation?.meaning ?? [])
  for (const { z, unsure, score } of explained) {
    const { share, title, found, name } = unsure
    expect([name, z > 1]).to.deep.equal([false, true])
    const failed = clamp((0.6 - share) / 0.2) * clamp((0.15 - title) / 0.15) * clamp((5 - found) / 3)
    const said = (top || 1) * 4 * failed * clamp((z - 1) / 2)
    expect(isClose(said, score), `${said} for ${score}`).to.equal(true)
  }
  return explained.length
}

describe('search: explanations', () => {
  it.deep('add up to each score, by the formulas of the document, whatever is asked', () => {
    let gained = 0
    const withPassage: Match[] = []
    fc.assert(
      fc.property(edits, aQuestion, fc.constantFrom(...DEPTHS), (done, question, expansion_depth) => {
        const index = perform(createSearchIndex(), done)
        const answer = retrieve(index, { ...question, expansion_depth, explain: true })
        // The best match may be beyond the last that is listed.
        expectExplained(answer, topOf(answer), topOf(retrieve(index, { ...question, top_k: 50, expansion_depth })))
        withPassage.push(...answer.matches.filter(({ explanation }) => explanation?.passage))
        gained += answer.nodes.filter(({ explanation }) => explanation?.edge).length
      }),
      { numRuns: 300 },
    )
    // The random cases have some 80 and 110 of them.
    expect(gained, 'nodes that gained').to.be.above(10)
    expect(withPassage.length, 'matches with passages').to.be.above(10)
    for (const { passage } of withPassage) expect(passage?.line).to.be.above(0)
  })

  it.deep('add up with the gains by meaning, by their formula', () => {
    // Nodes without any edit in which few have a word.
    const others = Array.from({ length: 12 }, (_, n) => note(`other${n}`, { title: 'Other', text: `moonrise ${n}` }))
    let gained = 0
    const question = fc.tuple(aQuestion, fc.constantFrom('lunar', 'moonlit lunar', 'starlight cometary'))
    fc.assert(
      fc.property(edits, question, fc.constantFrom(...DEPTHS), (done, [asked, more], expansion_depth) => {
        const index = perform(indexOf(others), done)
        const wordy = { ...asked, query: `${asked.query} ${more}` }
        const answer = askByMeaning(index, { ...wordy, expansion_depth, explain: true })
        const tops = [topOf(answer), topOf(askByMeaning(index, { ...wordy, top_k: 50, expansion_depth }))]
        expectExplained(answer, ...tops)
        gained += expectGains(answer, topOf(retrieve(index, { ...wordy, top_k: 50, expansion_depth: 'none' })))
      }),
      { numRuns: 150 },
    )
    // The random cases have some 70 of them, and sometimes only 46.
    expect(gained, 'matches that gained').to.be.above(10)
  })

  it.deep('change nothing else, and are there only when they are asked for', () => {
    fc.assert(
      fc.property(edits, aQuestion, fc.constantFrom(...DEPTHS), (done, question, expansion_depth) => {
        const index = perform(createSearchIndex(), done)
        const plain = retrieve(index, { ...question, expansion_depth, explain: false })
        const { matches, nodes, ...rest } = retrieve(index, { ...question, expansion_depth, explain: true })
        const without = <T extends { explanation?: unknown }>({ explanation: _, ...more }: T) => more
        expect({ ...rest, matches: matches.map(without), nodes: nodes.map(without) }).to.deep.equal(plain)
      }),
      { numRuns: 100 },
    )
  })

  it('name the word, the field, the count and the weight', () => {
    const index = indexOf([note('a', { title: 'Zebra', text: 'zebras and a zebra' }), note('b', { text: 'grass' })])
    const [match] = ask(index, 'zebra zebra', { explain: true }).matches
    expect(
      match?.explanation?.terms.map(({ term, word, field, count, weight }) => [term, word, field, count, weight]),
    ).to.deep.equal([
      ['zebra', 'zebra', 'text', 3, roundScore(Math.SQRT2)],
      ['zebra', 'zebra', 'title', 1, 0.424264],
    ])
  })
})

/** The question names Casablanca; who was born where stands in the text of another person. */
describe('search: bridges', () => {
  const fillers = Array.from({ length: 120 }, (_, n) => note(`filler${n}`, { text: `grass number ${n}` }))
  const film = note('film', { title: 'Casablanca', text: 'A film of 1942 that was directed by Michael Kertesz.' })
  const person = note('person', { title: 'Kertesz', text: 'Michael Kertesz was born in Budapest.' })
  const other = note('other', { title: 'Birth', text: 'Where a director was born is in no film.' })
  const question = 'Where was the director of Casablanca born?'
  const notes = [film, person, other, ...fillers]

  it('lead from the match that the question names to what its names stand in', () => {
    const answer = ask(indexOf(notes), question, { expansion_depth: 'shallow', explain: true })
    const found = answer.nodes.find(({ id }) => id === 'person')
    expect(found?.bridge).to.deep.equal({ from: 'film', words: ['kertesz', 'michael'] })
    expect(found?.explanation?.bridge).to.be.above(0)
    expectExplained(answer, topOf(answer))
  })

  it('find what has no word of the question', () => {
    const [plain, bridged] = (['none', 'shallow'] as const).map((expansion_depth) =>
      ask(indexOf([film, { ...person, text: 'Michael Kertesz came from Budapest.' }, ...fillers]), question, {
        expansion_depth,
      }),
    )
    expect(plain && matchesIn(plain)).to.deep.equal(['film'])
    expect(bridged?.matches).to.deep.equal(plain?.matches)
    expect(bridged?.nodes.find(({ id }) => id === 'person')).to.include({ relation: 'bridge', depth: 1, via: 'film' })
  })

  it('give a quarter where edges that are followed lead on', () => {
    const scoreOf = (answer: Retrieved) => answer.nodes.find(({ id }) => id === 'person')?.explanation?.bridge ?? 0
    const without = ask(indexOf(notes, [link('film', 'other')]), question, {
      expansion_depth: 'standard',
      explain: true,
    })
    const beside = ask(indexOf(notes, [child('other', 'film')]), question, {
      expansion_depth: 'standard',
      explain: true,
    })
    expect(scoreOf(beside) / scoreOf(without)).to.be.closeTo(0.25, 1e-4)
  })

  it('lead nowhere without expansion, out of the scope, past what the syntax forbids, and from a phrase', () => {
    const index = indexOf(notes)
    const bridged = (query: string, more: object = {}) =>
      ask(index, query, { expansion_depth: 'shallow', ...more })
        .nodes.filter(({ bridge }) => bridge)
        .map(({ id }) => id)
    expect(bridged(question)).to.include('person')
    expect(bridged(question, { expansion_depth: 'none' })).to.deep.equal([])
    expect(bridged(question, { scope: { node_ids: ['film', 'other'] } })).to.not.include('person')
    expect(bridged(`${question} -Budapest`)).to.not.include('person')
    expect(bridged('Casablanca')).to.include('person')
    expect(bridged('"Casablanca"')).to.deep.equal([])
  })

  it('take names from the first 16,384 characters, and none that is in every fiftieth node', () => {
    const far = { ...film, text: `${'x '.repeat(8_192)}Michael Kertesz` }
    const ids = (answer: Retrieved) => answer.nodes.filter(({ bridge }) => bridge).map(({ id }) => id)
    expect(ids(ask(indexOf([far, person, ...fillers]), question, { expansion_depth: 'shallow' }))).to.deep.equal([])
    const common = fillers.map((filler) => ({ ...filler, text: `${filler.text} by Michael Kertesz` }))
    expect(ids(ask(indexOf([film, person, ...common]), question, { expansion_depth: 'shallow' }))).to.deep.equal([])
  })
})
