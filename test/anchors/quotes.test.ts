/** Quoted words and moved paragraphs, compared with exhaustive searches. */

import { expect } from 'chai'
import fc from 'fast-check'
import { TextChange } from '../../server/domain/format/anchors.ts'
import { mapLines, shiftLines } from '../../server/domain/format/line-map.ts'
import { type Quote, SearchableLines } from '../../server/domain/format/quotes.ts'
import { runs } from '../support/seed.ts'

const plain = (text: string) => text.normalize('NFC').replace(/\s+/gu, ' ')

/** Lines of every part of the text that reads like the quote, by trying each start and end. */
function everywhere(lines: readonly string[], exact: string, from: number, to: number): string[] {
  const text = ['', ...lines, ''].join('\n')
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length - 2
  const found = new Set<string>()
  for (let start = 0; start < text.length; start++) {
    for (let end = start + 1; end <= text.length; end++) {
      const part = text.slice(start, end)
      if (plain(part) !== plain(exact)) continue
      const first = start + part.length - part.trimStart().length
      const last = end - (part.length - part.trimEnd().length)
      const place = { first, last, from: lineAt(first), to: lineAt(last - 1) + 1 }
      if (place.from >= from && place.to <= to) found.add(JSON.stringify(place))
    }
  }
  return [...found]
    .map((place) => JSON.parse(place))
    .sort((a, b) => a.first - b.first)
    .map((place) => `${place.from} ${place.to}`)
}

const lineArbitrary = fc.stringMatching(/^[ab \t]{0,5}$/)
const linesArbitrary = fc.array(lineArbitrary, { minLength: 1, maxLength: 5 })
const exactArbitrary = fc.stringMatching(/^[ab \n]{1,4}$/).filter((text) => text.trim() !== '')

describe('a quote', () => {
  it('is found wherever its words are, with any white space between them', () => {
    fc.assert(
      fc.property(linesArbitrary, exactArbitrary, fc.nat(4), fc.nat(4), (lines, exact, one, other) => {
        const [from, to] = [Math.min(one, other, lines.length - 1), Math.min(Math.max(one, other) + 1, lines.length)]
        const found = new SearchableLines(lines).find({ exact }, { from, to })
        expect(found.map((place) => `${place.from} ${place.to}`)).to.deep.equal(everywhere(lines, exact, from, to))
      }),
      { numRuns: 3_000, seed: 4 },
    )
  })

  it('is found in either form of a character, and never in a part of one', () => {
    const find = (text: string, exact: string) => new SearchableLines([text]).find({ exact }, { from: 0, to: 1 }).length
    expect(find('un re\u0301sume\u0301 ici', 'r\u00e9sum\u00e9')).to.equal(1)
    expect(find('un r\u00e9sum\u00e9 ici', 're\u0301sume\u0301')).to.equal(1)
    expect(find('re\u0301sume\u0301', 'resume')).to.equal(0)
    expect(find('q\u0303', 'q')).to.equal(0)
    expect(find('q\u0303q', 'q')).to.equal(1)
    expect(find('\u{1f469}\u200d\u{1f4bb}', '\u{1f469}')).to.equal(0)
    expect(find('\u{1f469}\u200d\u{1f4bb}', '\u{1f4bb}')).to.equal(0)
    expect(find('\u{1f44d}\u{1f3fd}', '\u{1f44d}')).to.equal(0)
    expect(find('\u{1f44d} \u{1f433}', '\u{1f44d}')).to.equal(1)
    expect(find('\u{1f433}', '\ud83d')).to.equal(0)
  })

  /** The place of a quote in one line that was replaced by others. */
  const place = (before: string[], after: string[], line: number, quote: Quote) => {
    const placed = new TextChange(before, after).place({ from: line, to: line + 1 }, quote)
    return placed.isOutdated ? 'outdated' : `${placed.lines.from} ${placed.lines.to}`
  }

  it('keeps a comment at its words when the paragraph around them is changed, split or joined', () => {
    const whales = ['# Whales', '', 'Whales are mammals. The blue whale eats krill.', '', 'End.']
    const quote = { exact: 'blue whale', prefix: 'mammals. The ', suffix: ' eats' }
    expect(place(whales, whales.with(2, 'Whales are big. The blue whale eats fish.'), 2, quote)).to.equal('2 3')
    expect(
      place(whales, ['# Whales', '', 'Whales are big.', '', 'The blue', 'whale eats.', 'End.'], 2, quote),
    ).to.equal('4 6')
    expect(place(whales, ['# Whales, also the blue whale. End.'], 2, quote)).to.equal('0 1')
    expect(place(whales, whales.with(2, 'Whales are big. The bluewhale eats fish.'), 2, quote)).to.equal('outdated')
  })

  it('is where its surroundings agree most, if it is there several times', () => {
    const before = ['One whale. Two whales. A whale swims here.']
    const quote = { exact: 'whale', prefix: 'A ', suffix: ' swims' }
    const after = ['One whale, two.', 'Some whale.', 'Now a whale swims!']
    expect(place(before, after, 0, quote)).to.equal('2 3')
    expect(place(before, after, 0, { exact: 'whale' })).to.equal('outdated')
    expect(place(['A whale.'], ['A whale, b whale.'], 0, { exact: 'whale' })).to.equal('0 1')
  })

  it('is not taken from other words that were equal', () => {
    const before = ['The whale eats fish.', 'A whale sleeps at night.']
    const quote = { exact: 'whale', prefix: 'The ', suffix: ' eats fish.' }
    expect(place(before, ['Nothing eats fish.', 'A whale sleeps all day.'], 0, quote)).to.equal('outdated')
    expect(place(before, ['The whale eats krill.', 'It sleeps all day.'], 0, quote)).to.equal('0 1')
    expect(place(before, ['A whale sleeps all day.'], 0, { exact: 'whale' })).to.equal('outdated')
  })

  it('is not searched if too much of the text differs', () => {
    const lines = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name} ${n}`)
    const quote = { exact: 'whale', prefix: 'blue ' }
    const newer = (count: number) => [...lines('new', count), 'A blue whale', ...lines('more', count)]
    const older = (count: number) => [...lines('old', count), 'The blue whale', ...lines('other', count)]
    expect(place(older(140), newer(140), 140, quote)).to.equal('140 141')
    expect(place(older(160), newer(160), 160, quote)).to.equal('outdated')
  })

  it('is outdated among more than 1,000 occurrences', () => {
    const quote = { exact: 'a', prefix: 'x ' }
    expect(place(['x a y'], [`x a ${'a '.repeat(999)}`], 0, quote)).to.equal('0 1')
    expect(place(['x a y'], [`x a ${'a '.repeat(1_000)}`], 0, quote)).to.equal('outdated')
  })

  it('is where exhaustive search has it, if the whole text is replaced', () => {
    const word = fc.constantFrom('a', 'b', 'c')
    const sentence = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))
    const text = fc.array(sentence, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(text, text, fc.nat(2), fc.nat(4), fc.nat(2), (one, other, at, start, length) => {
        // No line of one version equals a line of the other.
        const before = one.map((line) => `< ${line} .`)
        const after = other.map((line) => `> ${line} .`)
        const line = at % before.length
        const words = before[line]?.split(' ').slice(1, -1) ?? []
        const first = start % words.length
        const exact = words.slice(first, first + 1 + length).join(' ')
        const own = everywhere([before[line] ?? ''], exact, 0, 1)
        const then = everywhere(before, exact, 0, before.length)
        const now = everywhere(after, exact, 0, after.length)
        const found = place(before, after, line, { exact })
        // Words in one line before, and in one line now, can only be the same ones.
        if (now.length === 0) expect(found).to.equal('outdated')
        else if (new Set(now).size > 1) expect(found).to.equal('outdated')
        else if (own.length === then.length) expect(found).to.equal(now[0])
        else expect(found).to.be.oneOf(['outdated', now[0]])
      }),
      { numRuns: runs(3_000), seed: 5 },
    )
  })
})

describe('a moved paragraph', () => {
  const paragraph = (letter: string) => letter.repeat(45)
  const texts = fc.array(fc.constantFrom('', ...[...'abcde'].map(paragraph)), { minLength: 1, maxLength: 8 })
  const startsIn = (lines: readonly string[], part: readonly string[]) =>
    lines.flatMap((_, at) => (part.every((line, n) => lines[at + n] === line) ? [at] : []))

  it('takes its comment along, if it is once in both versions', () => {
    fc.assert(
      fc.property(texts, texts, fc.nat(7), fc.nat(2), (before, after, start, more) => {
        const from = start % before.length
        const to = Math.min(before.length, from + 1 + more)
        const part = before.slice(from, to)
        const there = startsIn(after, part)
        const isSpecific = part.join('').length >= 40 && startsIn(before, part).length === 1 && there.length === 1
        const shifted = shiftLines(mapLines(before, after), { from, to })?.from
        const placed = new TextChange(before, after).place({ from, to })
        expect(placed.isOutdated ? undefined : placed.lines.from).to.equal(
          shifted ?? (isSpecific ? there[0] : undefined),
        )
      }),
      { numRuns: 5_000, seed: 6 },
    )
  })

  it('is found also if too much differs, and not if it has less than 40 characters', () => {
    const lines = (name: string) => Array.from({ length: 700 }, (_, n) => `${name} ${n}`)
    const moved = (text: string) => {
      const change = new TextChange(['', ...lines('old'), text], [text, ...lines('new'), ''])
      const placed = change.place({ from: 701, to: 702 })
      return placed.isOutdated ? undefined : placed.lines
    }
    expect(moved('x'.repeat(40))).to.deep.equal({ from: 0, to: 1 })
    expect(moved(`  ${'x'.repeat(39)}  `)).to.equal(undefined)
  })
})
