/** Which matches come first, how many there are, and how to get the next ones. */

import { expect } from 'chai'
import fc from 'fast-check'
import { ask, indexOf, note } from './notes.ts'

const words = ['whale', 'song', 'krill', 'deep', 'ocean', 'port', 'minimal']
const sentence = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }).map((list) => list.join(' '))
const aNote = fc.record({ title: sentence, text: sentence })

function idsOf(query: string, notes: Parameters<typeof indexOf>[0], more: Parameters<typeof ask>[2] = {}): string[] {
  return ask(indexOf(notes), query, { top_k: 50, ...more }).matches.map(({ node_id }) => node_id)
}

describe('the order of matches', () => {
  const dataview = [
    note('a', { title: 'Queries', text: 'Dataview, dataview, dataview: all of dataview.' }),
    note('b', { title: 'Dataview', text: `It lists notes. ${'Much more text follows here. '.repeat(40)}` }),
    note('c', { title: 'Dataview examples', text: 'Some.' }),
    note('d', { title: 'My dataview', text: 'Dataview.' }),
  ]

  it('begins with the title that is the query, then titles that begin with it', () => {
    expect(idsOf('dataview', dataview).slice(0, 2)).to.deep.equal(['b', 'c'])
    expect(idsOf('DATAVIEW', dataview)).to.deep.equal(idsOf('dataview', dataview))
    expect(idsOf('datav', dataview).slice(0, 2)).to.have.members(['b', 'c'])
    expect(idsOf('dataview examples', dataview)[0]).to.equal('c')
  })

  it('does not admit a title that the filters exclude', () => {
    expect(idsOf('dataview -lists', dataview)).to.not.include('b')
    expect(idsOf('dataview tag:none', dataview)).to.deep.equal([])
    expect(idsOf('"dataview examples"', dataview)).to.deep.equal(['c'])
    expect(idsOf('dataview', dataview, { scope: { node_ids: ['a'] } })).to.deep.equal(['a'])
  })

  it.deep('holds for any notes, and leaves nodes in the order of their scores', () => {
    const groupOf = (title: string, query: string) => (title === query ? 0 : title.startsWith(query) ? 1 : 2)
    fc.assert(
      fc.property(fc.array(aNote, { minLength: 1, maxLength: 12 }), sentence, (some, query) => {
        const { matches, nodes } = ask(indexOf(some.map((one, n) => note(`n${n}`, one))), query, { top_k: 50 })
        const groups = matches.map(({ title }) => groupOf(title, query))
        expect(groups).to.deep.equal(groups.toSorted())
        expect(matches.map(({ rank }) => rank)).to.deep.equal(matches.map((_, n) => n + 1))
        const scores = nodes.map(({ score }) => score)
        expect(scores).to.deep.equal(scores.toSorted((a, b) => b - a))
        const titled = some.filter(({ title }) => groupOf(title, query) < 2).length
        expect(groups.filter((group) => group < 2)).to.have.length(titled)
      }),
      { numRuns: 200 },
    )
  })
})

describe('the number of matches', () => {
  it.deep('counts every node with a word of the query, also beyond the matches', () => {
    fc.assert(
      fc.property(fc.array(aNote, { minLength: 1, maxLength: 20 }), sentence, (some, query) => {
        const {
          matches,
          total,
          total_is_exact: isExact,
        } = ask(indexOf(some.map((one, n) => note(`n${n}`, one))), query, { top_k: 2 })
        const wanted = query.split(' ')
        const has = ({ title, text }: { title: string; text: string }) =>
          wanted.some((word) => `${title} ${text}`.split(' ').includes(word))
        expect({ total, isExact }).to.deep.equal({ total: some.filter(has).length, isExact: true })
        expect(matches).to.have.length(Math.min(2, total))
      }),
      { numRuns: 200 },
    )
  })

  it('is a lower bound if more nodes are checked for a phrase than are read', () => {
    const many = Array.from({ length: 230 }, (_, n) => note(`n${n}`, { text: 'blue whale' }))
    expect(ask(indexOf(many), '"blue whale"')).to.include({ total: 200, total_is_exact: false })
    expect(ask(indexOf(many.slice(0, 30)), '"blue whale"')).to.include({ total: 30, total_is_exact: true })
  })
})

describe('the next matches', () => {
  const many = Array.from({ length: 130 }, (_, n) =>
    note(`n${n}`, {
      title: n % 9 === 0 ? `Krill ${n}` : `Note ${n}`,
      text: `${'krill '.repeat(1 + (n % 7))}\n\n${'Other words about the sea. '.repeat((n % 5) * 30)}\n\nkrill`,
      tags: ['sea'],
    }),
  )
  const whole = indexOf(many)

  for (const query of ['krill', 'krill sea', 'tag:sea', '*', '"sea"'])
    it(`continue where the page before ended, each once: ${query}`, () => {
      const { total } = ask(whole, query)
      const pages = Array.from({ length: Math.ceil(total / 20) }, (_, n) =>
        ask(whole, query, { top_k: 20, offset: n * 20 }),
      )
      const ids = pages.flatMap(({ matches }) => matches.map(({ node_id }) => node_id))
      expect(total).to.be.greaterThan(60)
      expect(new Set(ids).size).to.equal(total)
      expect(ids).to.have.length(total)
      expect(ids.slice(0, 50)).to.deep.equal(ask(whole, query, { top_k: 50 }).matches.map(({ node_id }) => node_id))
      expect(pages.flatMap(({ matches }) => matches.map(({ rank }) => rank))).to.deep.equal(ids.map((_, n) => n + 1))
      expect(pages.map((page) => page.total)).to.deep.equal(pages.map(() => total))
      expect(ask(whole, query, { top_k: 20, offset: 900 }).matches).to.deep.equal([])
    })
})

describe('words', () => {
  const notes = [
    note('cpp', { title: 'C++', text: 'Move semantics.' }),
    note('key', { title: 'Musical keys', text: 'C, D, E and C again: move from C.' }),
    note('sharp', { title: 'C#', text: 'A language, like F#.' }),
    note('net', { title: '.NET', text: 'A runtime.' }),
    note('fish', { title: 'Fishing', text: 'A net. Nets.' }),
    note('sea', { title: 'The sea', text: 'Dolphins and whales.' }),
  ]

  it('keep the signs of C++, C# and .NET, and are found without them', () => {
    expect(idsOf('C++ move semantics', notes)[0]).to.equal('cpp')
    expect(idsOf('C++', notes)[0]).to.equal('cpp')
    expect(idsOf('c#', notes)[0]).to.equal('sharp')
    expect(idsOf('F#', notes)[0]).to.equal('sharp')
    expect(idsOf('.net runtime', notes)[0]).to.equal('net')
    expect(idsOf('C', notes)).to.have.members(['cpp', 'key', 'sharp'])
    expect(idsOf('net', notes)).to.have.members(['net', 'fish'])
  })

  it('may be unfinished at the end of the query', () => {
    expect(idsOf('dolph', notes)).to.deep.equal(['sea'])
    expect(idsOf('whales dolph', notes)).to.deep.equal(['sea'])
    expect(idsOf('dolph -whales', notes)).to.deep.equal([])
    expect(idsOf('do', notes)).to.deep.equal([])
    expect(ask(indexOf(notes), 'dolph').matches[0]?.matched_terms).to.deep.equal(['dolph'])
  })
})
