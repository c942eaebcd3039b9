/** The conditions of a question, besides its words. */

import { expect } from 'chai'
import fc from 'fast-check'
import { parseQuestion, type QuestionParts } from '../../index/search/ranking/filters.ts'
import { anyCharacter } from '../support/any-text.ts'
import { expectLinear } from './linear.ts'

const nothing: QuestionParts = {
  text: '',
  phrases: [],
  excluded: [],
  titles: [],
  tags: [],
  excludedTitles: [],
  excludedTags: [],
}

describe('query syntax', () => {
  const examples: [question: string, parts: Partial<QuestionParts>][] = [
    ['two words', { text: 'two words' }],
    ['  two \n words ', { text: 'two words' }],
    ['"two words"', { text: 'two words', phrases: ['two words'] }],
    ['a "b c" d "e"', { text: 'a b c d e', phrases: ['b c', 'e'] }],
    ['a -b', { text: 'a', excluded: ['b'] }],
    ['-"a b" c', { text: 'c', excluded: ['a b'] }],
    ['title:a b', { text: 'b', titles: ['a'] }],
    ['title:"a b"', { titles: ['a b'] }],
    ['tag:a tag:"b c"', { tags: ['a', 'b c'] }],
    ['"a"b', { text: 'a b', phrases: ['a'] }],
    ['-日本 -e\u0301', { excluded: ['日本', 'e\u0301'] }],
    ['-title:a -tag:"b c" d', { text: 'd', excludedTitles: ['a'], excludedTags: ['b c'] }],
    ['-subtitle:a', { excluded: ['subtitle:a'] }],
    ['-node.js -a-b', { excluded: ['node.js', 'a-b'] }],
  ]
  for (const [question, parts] of examples) {
    it(`reads ${question}`, () => {
      expect(parseQuestion(question)).to.deep.equal({ ...nothing, ...parts })
    })
  }

  const plain = [
    ...[
      'C++ -',
      'a "b c',
      '"',
      '""',
      '"" a',
      '" "',
      'a-b',
      '--',
      '--force',
      '-',
      '- a',
      'http://x',
      'title:',
      'title: a',
    ],
    ...[
      're: mail',
      'Title:a',
      'subtitle:a',
      'tag:"',
      'tag:""',
      '-"',
      '-"a',
      'tags:a',

      '"?"',
      'it"s',
      '-.5',
      '',
    ],
  ]
  for (const question of plain) {
    it(`takes ${question === '' ? 'nothing' : question} as it stands`, () => {
      expect(parseQuestion(question)).to.deep.equal({ ...nothing, text: question })
    })
  }

  const anyQuestion = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc
      .array(fc.constantFrom('a', 'é', '"', '-', ' ', 'title:', 'tag:', '\n', '.', '\ud800'))
      .map((parts) => parts.join('')),
  )

  it('never throws, loses no word and finds the same again in what it calls text', () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const { text, phrases, excluded, titles, tags, excludedTitles, excludedTags } = parseQuestion(question)
        const wordsIn = (part: string) => part.replace(/title:|tag:/g, ' ').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
        const read = [text, ...excluded, ...titles, ...tags, ...excludedTitles, ...excludedTags].flatMap(wordsIn)
        expect(read.sort()).to.deep.equal([...wordsIn(question)].sort())
        for (const phrase of phrases) expect(text).to.include(phrase)
      }),
      { numRuns: 2_000 },
    )
  })

  for (const part of ['"', '"a', '-"', '-', ' -', 'title:', 'title:"', ' tag:a', '-tag:"', ' ', 'a', '" ']) {
    it(`reads 256 KiB of ${JSON.stringify(part)} in no more than its share of time`, () => {
      expectLinear(parseQuestion, part, 256 * 1_024)
    })
  }

  it('takes the first 16 of a kind; more are words', () => {
    const { tags, text } = parseQuestion(Array.from({ length: 2_000 }, (_, n) => `tag:t${n}`).join(' '))
    expect(tags).to.deep.equal(Array.from({ length: 16 }, (_, n) => `t${n}`))
    expect(text.split(' ')[0]).to.equal('tag:t16')
  })
})
