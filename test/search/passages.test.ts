/** How a text is cut into passages. */

import { expect } from 'chai'
import fc from 'fast-check'
import { passagesOf } from '../../index/search/text/passages.ts'
import { proseOf } from '../../index/search/text/prose.ts'
import { anyCharacter } from '../support/any-text.ts'
import { expectLinear } from './linear.ts'

const words = (count: number, word = 'word') => Array.from({ length: count }, (_, i) => `${word}${i}`).join(' ')
const wordsIn = (text: string) => text.split(/\s+/).filter((word) => word !== '').length

/** Heading, line and number of words of each passage. */
function outline(source: string): [heading: string, line: number, words: number][] {
  const { text } = proseOf(source)
  return passagesOf('', source).map(({ heading, line, start, end }) => [heading, line, wordsIn(text.slice(start, end))])
}

describe('passages', () => {
  it('cuts at headings and names the nearest heading above and the line', () => {
    const source = `${words(70)}\n\n# One\n\n## Two\n${words(80)}\n\nThree\n-----\n\n${words(5)}\n`
    expect(outline(source)).to.deep.equal([
      ['', 1, 70],
      ['Two', 6, 80],
      ['Three', 11, 5],
    ])
  })

  it('joins paragraphs up to 60 words and a short rest with what stands before it', () => {
    const source = [30, 20, 40, 100, 10].map((count) => words(count)).join('\n\n')
    expect(outline(source)).to.deep.equal([
      ['', 1, 90],
      ['', 7, 110],
    ])
  })

  it('cuts a long paragraph at the ends of its sentences', () => {
    const sentence = `${words(39)} end. `
    const passages = passagesOf('', sentence.repeat(15))
    expect(passages.map(({ text }) => [wordsIn(text), text.endsWith('end.')])).to.deep.equal([
      [240, true],
      [240, true],
      [120, true],
    ])
  })

  it('cuts a paragraph without sentences between words, and one without words after some thousand letters', () => {
    expect(outline(words(600))).to.deep.equal([
      ['', 1, 250],
      ['', 1, 250],
      ['', 1, 100],
    ])
    const letters = passagesOf('', 'a'.repeat(256 * 1_024))
    expect(letters.map(({ start, end }) => end - start)).to.satisfy(
      (lengths: number[]) => Math.max(...lengths) <= 10_000,
    )
  })

  it('cuts Chinese at the ends of its sentences, of 500 characters or fewer', () => {
    const passages = passagesOf('', `${'天地玄黃宇宙洪荒'.repeat(5)}。`.repeat(40))
    expect(passages.every(({ text }) => text.length <= 500 && text.endsWith('。'))).to.equal(true)
    expect(passages.length).to.be.within(4, 8)
  })

  it('indexes the title and the heading with each passage, in prose', () => {
    const source = `# A *b*\n${words(60)}\n\n[last](http://x.org) ${words(60)}`
    expect(passagesOf('Title', source).map(({ text }) => text)).to.deep.equal([
      `Title\nA b\n${words(60)}`,
      `Title\nA b\nlast ${words(60)}`,
    ])
  })

  it('has none where there would be only one', () => {
    for (const source of ['', 'short', words(200), `# Title\n\n${words(100)}`])
      expect(passagesOf('t', source)).to.deep.equal([])
  })

  const texts = fc
    .array(
      fc.constantFrom(
        'a ',
        `${words(50)} `,
        '\n',
        '\n\n',
        '# h\n',
        'x. ',
        '字'.repeat(300),
        '。',
        '```\n',
        '<!--',
        ' ',
      ),
      {
        maxLength: 40,
      },
    )
    .map((parts) => parts.join(''))

  it('covers every word once, in order, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ unit: anyCharacter })), (source) => {
        const { text, headings } = proseOf(source)
        const passages = passagesOf('', source)
        let at = 0
        let line = 1
        let between = ''
        for (const passage of passages) {
          expect(passage.start).to.be.at.least(at)
          expect(passage.end).to.be.within(passage.start + 1, text.length)
          expect(passage.line).to.be.at.least(line)
          expect(passage.text.endsWith(text.slice(passage.start, passage.end))).to.equal(true)
          between += text.slice(at, passage.start)
          at = passage.end
          line = passage.line
        }
        if (passages.length === 0) return
        const named = headings.map(({ start, end }) => text.slice(start, end)).join('')
        expect((between + text.slice(at)).replace(/\s/g, '')).to.equal(named.replace(/\s/g, ''))
      }),
      { numRuns: 1_000 },
    )
  })

  const hostile = [
    'a',
    'a ',
    'a. ',
    '\n',
    'a\n',
    'a\n\n',
    '# a\n',
    '字',
    '字。',
    '。',
    ' ',
    '\ud800',
    '# \n',
    'a\n-\n',
    '[',
  ]
  for (const part of hostile) {
    it(`cuts 128 KiB of ${JSON.stringify(part)} in no more than its share of time`, () => {
      expectLinear((text) => passagesOf('t', text), part, 128 * 1_024)
    })
  }
})
