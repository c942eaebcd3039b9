/** Similar terms beside plain distances to every term. */

import { expect } from 'chai'
import { distance } from 'fastest-levenshtein'
import { type Extent, similarIn } from '../../index/search/ranking/similar.ts'
import { tableOf } from '../../index/search/segments/string-table.ts'
import { type Random, randomOf } from '../support/random.ts'
import { alignment } from './plain-distance.ts'

describe('terms within some edits of a word', () => {
  for (const extent of ['whole', 'beginning'] as const)
    for (const most of [1, 2])
      it.deep(
        `are those of plain ${extent === 'whole' ? 'Levenshtein' : 'optimal string alignment'}: ${extent}, ${most}`,
        () => {
          const random = randomOf(most)
          const letters = random.pick([[...'abcé'], [...'abcдо語']])
          const terms = [...new Set(Array.from({ length: 1_500 }, () => wordOf(random, letters)))]
          const encoded = terms.map((term) => Buffer.from(term)).sort(Buffer.compare)
          const table = tableOf(encoded)
          const sorted = encoded.map(String)
          let found = 0
          for (let round = 0; round < 30; round++) {
            const word = wordOf(random, letters)
            const wanted = sorted
              .map((term, rank) => ({ rank, edits: editsOf(word, term, extent) }))
              .filter(({ edits }) => edits <= most)
            expect(similarIn(table, word, most, extent), word).to.deep.equal(wanted)
            const isSought = (rank: number) => rank % 3 === round % 3
            const sought = wanted.filter(({ rank }) => isSought(rank))
            expect(similarIn(table, word, most, extent, isSought), word).to.deep.equal(sought)
            found += wanted.length
          }
          expect(found).to.be.greaterThan(100)
        },
      )

  it('two swapped letters are one edit of what is typed, and no more are', () => {
    for (const [one, other, edits] of [
      ['ab', 'ba', 1],
      ['whlae', 'whale', 1],
      ['ca', 'abc', 3],
      ['abcd', 'badc', 2],
      ['a', '', 1],
    ] as const)
      expect(alignment(one, other), `${one} ${other}`).to.equal(edits)
    const table = tableOf([Buffer.from('whale')])
    expect(similarIn(table, 'whlae', 1, 'beginning')).to.deep.equal([{ rank: 0, edits: 1 }])
    expect(similarIn(table, 'whlae', 1, 'whole')).to.deep.equal([])
  })
})

function wordOf(random: Random, letters: readonly string[]): string {
  return Array.from({ length: 1 + random.below(9) }, () => random.pick(letters)).join('')
}

function editsOf(word: string, term: string, extent: Extent): number {
  if (extent === 'whole') return distance(word, term)
  return Math.min(...Array.from({ length: term.length + 1 }, (_, length) => alignment(word, term.slice(0, length))))
}
