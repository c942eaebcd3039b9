/** The matches of a search, their order, and the text that is shown. */

import { expect } from 'chai'
import fc from 'fast-check'
import { proseOf, withFormulas } from '../../index/search/text/prose.ts'
import { aQuery, ask, indexOf, matchesIn, note, WORDS } from './notes.ts'

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

  it.deep('scores by BM25 over title and text, plus 0.3 of that over the title; a word said n times weighs √n', () => {
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
  it('have formulas as their source, whole', () => {
    const matrix = '$$\\begin{matrix} \\color{red}1 & 0 \\\\ 0 & 0\\end{matrix}$$'
    const text = `The **zebra** of $\\mathcal{L}\\{f\\}$ is ${matrix}, and costs $5.`
    const [match] = ask(indexOf([note('a', { text })]), 'zebra').matches
    expect(match?.snippet).to.equal(text.replaceAll('**', '').slice(0, -1))
  })

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
    expect(ask(index, 'zebra').matches[0]?.snippet).to.equal('Some other words')
    expect(ask(index, 'quagga').matches[0]?.snippet).to.equal('')
  })

  it.deep(
    'is a piece of the prose, whose formulas are their source, with white space collapsed, 40 words and 1000 characters long at most',
    () => {
      const text = fc
        .array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ unit: 'grapheme', maxLength: 60 })), { maxLength: 120 })
        .map((words) => words.join(' \n'))
      fc.assert(
        fc.property(text, aQuery, (written, query) => {
          const collapse = (part: string) => part.replace(/\s+/g, ' ')
          for (const { snippet } of ask(indexOf([note('moon', { text: written })]), `moon ${query}`).matches) {
            const prose = proseOf(written)
            expect(collapse(withFormulas(prose, 0, prose.text.length))).to.include(snippet)
            expect(snippet.length).to.be.at.most(1000)
            expect(Buffer.from(snippet).toString()).to.equal(snippet)
          }
        }),
        { numRuns: 200 },
      )
    },
  )

  it('does not end in half a character', () => {
    const index = indexOf([note('x', { title: 'zebra', text: `a${'𝒳'.repeat(2000)}` })])
    expect(ask(index, 'zebra').matches[0]?.snippet).to.equal(`a${'𝒳'.repeat(499)}`)
  })
})
