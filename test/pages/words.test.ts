/** The words that changed: nothing is lost of either version, and phrases stay together. */

import { expect } from 'chai'
import fc from 'fast-check'
import { diffWords, type Fold, newEffort, type Row } from '../../server/pages/text/word-diff.ts'

const flat = (parts: readonly (Row | Fold)[]): Row[] =>
  parts.flatMap((part) => (part.kind === 'fold' ? part.rows : [part]))
const textsOf = (rows: readonly Row[]) => rows.map(({ pieces }) => pieces.map(({ text }) => text).join(''))
const told = (text: string) => text.split('\n').filter((line) => line.trim() !== '')

describe('the difference in words', () => {
  it('holds every line of both versions that is not blank, in order', () => {
    const line = fc
      .array(fc.constantFrom('whales', 'eat', 'krill', 'in', 'the', 'sea', ','), { maxLength: 8 })
      .map((words) => words.join(' '))
    const version = fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(version, version, (before, after) => {
        const rows = flat(diffWords(before, after)?.parts ?? [])
        expect(textsOf(rows.filter(({ kind }) => kind !== 'added'))).to.deep.equal(told(before))
        expect(textsOf(rows.filter(({ kind }) => kind !== 'removed'))).to.deep.equal(told(after))
      }),
      { numRuns: 300, seed: 7 },
    )
  })

  it('joins changes that one or two words part', () => {
    const { parts = [] } = diffWords('The old cat sat on the mat today.', 'The young cat lay on the mat today.') ?? {}
    const changed = flat(parts).map(({ pieces }) => pieces.filter(({ isChanged }) => isChanged).map(({ text }) => text))
    expect(changed).to.deep.equal([['old cat sat'], ['young cat lay']])
  })

  it('folds what is the same, under its heading', () => {
    const lines = ['one', 'two', '# A', 'three', 'four', '# B', 'five', 'six', 'seven']
    const { parts = [] } = diffWords(lines.join('\n'), [...lines, 'eight'].join('\n')) ?? {}
    expect(parts.map(({ kind }) => kind)).to.deep.equal(['fold', 'same', 'added'])
    expect((parts[0] as Fold).heading).to.equal('B')
  })

  it('counts blank lines among the unchanged ones', () => {
    const before = Array.from({ length: 10 }, (_, at) => `Line ${at}.`).join('\n\n')
    const { parts = [] } = diffWords(before, `${before}\n\nNew.`) ?? {}
    // The last line with text is next to the change.
    expect(
      parts.flatMap((part) => (part.kind === 'fold' ? [[part.lines, part.rows.length, part.more]] : [])),
    ).to.deep.equal([[18, 9, 0]])
    const between = diffWords(`\n${before}\n\n\nEnd.\n\n`, `New.\n${before}\n\n\nEnd.\n\n`)?.parts ?? []
    // After the change and the line next to it: 19 lines, two blank ones, the last sentence, and one blank line.
    expect(between.map((part) => (part.kind === 'fold' ? part.lines : part.kind))).to.deep.equal(['added', 'same', 22])
  })

  it('costs no more for many lines, or texts, than for some: then lines are shown whole', () => {
    const line = (word: string) => Array.from({ length: 280 }, (_, at) => (at % 2 ? 'same' : `${word}${at}`)).join(' ')
    const text = (word: string) => Array.from({ length: 200 }, (_, at) => `${line(word)} ${at}`).join('\n')
    const effort = newEffort()
    const rows = flat(diffWords(text('a'), text('b'), effort)?.parts ?? [])
    expect(rows[0]?.pieces).to.have.length.above(1)
    expect(rows.at(-1)?.pieces).to.have.length(1)
    expect(effort.steps).to.be.within(0, 1_000)
    expect(diffWords('one\n'.repeat(100), 'two\n'.repeat(100), effort)).to.equal(undefined)
  })

  it('gives up where everything differs', () => {
    const some = (word: string) => Array.from({ length: 1_000 }, (_, at) => `${word} ${at}`).join('\n')
    expect(diffWords(some('a'), some('b'))).to.equal(undefined)
  })
})
