/** Nodes of several passages: scored by the whole and by the best one, which the match names. */
import { expect } from 'chai'
import { roundScore } from '../../index/search/ranking/scores.ts'
import { ask, child, indexOf, matchesIn, note } from './notes.ts'
import { removeNode, type SearchDocument, setDocument } from './rows-in-memory.ts'

const words = (word: string, count: number) => `${`${word} `.repeat(count).trim()}.`

const sectionsOf = (...sections: readonly (readonly [string, string])[]) =>
  sections.map(([heading, text]) => `## ${heading}\n\n${text}`).join('\n\n')

const grass = Array.from({ length: 5 }, (_, n) => note(`grass${n}`, { text: words('grass', 10) }))

const find = (notes: SearchDocument[], query: string, more: object = {}) =>
  ask(indexOf([...notes, ...grass]), query, { explain: true, ...more })

describe('search: the best passage', () => {
  const apart = note('apart', {
    text: sectionsOf(['One', `zebra ${words('lion', 20)}`], ['Two', `savanna ${words('lion', 20)}`]),
  })
  const together = note('together', {
    text: sectionsOf(['One', words('lion', 20)], ['Two', `${words('lion', 20)} savanna zebra`]),
  })

  it('puts what stands in one passage before what stands in two', () => {
    const { matches } = find([apart, together], 'zebra savanna')
    expect(matches.map(({ node_id }) => node_id)).to.deep.equal(['together', 'apart'])
    const [first, second] = matches.map(({ explanation }) => explanation?.terms)
    expect(first, 'the wholes are alike').to.deep.equal(second)
  })

  it('is the first of equals, named by heading and line, and all that the snippet reads', () => {
    const twice = note('twice', {
      text: sectionsOf(['None', 'lion'], ['First', 'a zebra here'], ['Second', 'a zebra there']),
    })
    const [match] = find([twice], 'zebra').matches
    expect(match?.passage).to.deep.equal({ heading: 'First', line: 7 })
    expect(match?.snippet).to.equal('a zebra here')
    expect(match?.explanation?.passage?.terms.map(({ term, count }) => [term, count])).to.deep.equal([['zebra', 1]])
  })

  it('counts as much as the whole', () => {
    const [match] = find([together], 'zebra').matches
    const { terms = [], passage } = match?.explanation ?? {}
    const [whole, part] = [terms, passage?.terms ?? []].map((some) => some.reduce((sum, { score }) => sum + score, 0))
    expect(part).to.be.above(whole ?? 0)
    expect(match?.score).to.be.closeTo(((whole ?? 0) + (part ?? 0)) / 2, 1e-5)
  })

  it('is missing where there is one passage, and for a question of stop words', () => {
    const short = note('short', { text: sectionsOf(['One', 'zebra']) })
    expect(find([short], 'zebra').matches[0]).to.not.have.any.keys('passage')
    const who = note('who', { title: 'The Who', text: apart.text })
    expect(find([who], 'the who').matches[0]).to.not.have.any.keys('passage')
  })

  it('is found among 64, and not once it is the 65th', () => {
    const sections = (before: number) =>
      sectionsOf(...Array.from({ length: before }, (_, n): [string, string] => [`Part ${n}`, 'lion']), [
        'Last',
        'zebra',
      ])
    const lineOf = (before: number) => find([note('n', { text: sections(before) })], 'zebra').matches[0]?.passage
    expect(lineOf(63)).to.deep.equal({ heading: 'Last', line: 4 * 63 + 3 })
    expect(lineOf(64)).to.equal(undefined)
  })

  it('follows the text: longer, shorter, without passages, deleted', () => {
    const text = (count: number, word: string) =>
      sectionsOf(...Array.from({ length: count }, (_, n): [string, string] => [`Part ${n}`, `${word} lion`]))
    const index = indexOf(grass)
    for (const [count, word] of [
      [3, 'zebra'],
      [12, 'gnu'],
      [2, 'zebra'],
      [1, 'gnu'],
      [5, 'zebra'],
    ] as const) {
      const changed = note('n', { text: text(count, word) })
      setDocument(index, changed)
      for (const query of ['zebra', 'gnu'])
        expect(ask(index, query, { explain: true })).to.deep.equal(find([changed], query), `${count} ${query}`)
    }
    removeNode(index, 'n')
    expect(matchesIn(ask(index, 'zebra'))).to.deep.equal([])
    expect(index.index.passages.live.documents.size).to.equal(0)
  })

  it('counts for a match at every depth, in the score of the node and in what it leads to', () => {
    const index = indexOf([apart, together, ...grass], [child('grass0', 'together')])
    const [none, shallow] = (['none', 'shallow'] as const).map((expansion_depth) =>
      ask(index, 'zebra savanna', { expansion_depth, explain: true }),
    )
    expect(shallow?.matches).to.deep.equal(none?.matches)
    const [match] = shallow?.matches ?? []
    const node = shallow?.nodes.find(({ id }) => id === 'together')
    expect(node?.explanation?.own).to.equal(match?.score)
    const led = shallow?.nodes.find(({ id }) => id === 'grass0')
    expect(led?.explanation?.edge?.from).to.equal('together')
    expect(roundScore(led?.score ?? 0)).to.be.below(match?.score ?? 0)
  })

  it('is named while there is room to read: the rest of the matches is read in part', () => {
    const long = Array.from({ length: 6 }, (_, n) =>
      note(`n${n}`, { text: sectionsOf(['One', words('zebra', 40_000)], ['Two', 'lion']) }),
    )
    const { matches } = find(long, 'zebra', { top_k: 6 })
    expect(matches.map(({ passage }) => passage?.heading)).to.deep.equal([
      'One',
      'One',
      'One',
      'One',
      undefined,
      undefined,
    ])
    expect(matches.every(({ snippet }) => snippet.includes('zebra zebra'))).to.equal(true)
  })
})
