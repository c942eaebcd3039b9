/** Edits of lines and words against a splice of the text. */

import { expect } from 'chai'
import fc from 'fast-check'
import { applyEdits, EditableText, overlapsIn, type TextEdit } from '../../server/domain/format/text-edits.ts'

/** Characters that are one user-perceived character each, or white space. */
const words = [
  'a',
  'b',
  'fish',
  'é',
  'e\u0301',
  'n\u0303\u0302',
  '🐳',
  '👩🏽‍🔬',
  '\u1112\u1161\u11ab',
  'ﬁ',
  ' ',
  ' ',
  '  ',
  '\t',
  '.',
]
const lineOf = fc.array(fc.constantFrom(...words), { maxLength: 9 }).map((parts) => parts.join(''))
const textOf = fc
  .tuple(
    fc.array(fc.tuple(lineOf, fc.constantFrom('\n', '\r\n')), { maxLength: 8 }),
    lineOf,
    fc.constantFrom('', '\ufeff'),
  )
  .map(([lines, last, mark]) => mark + lines.flat().join('') + last)

/** Lines with their ends. */
const wholeLines = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

describe('edits of a text', () => {
  it('replace lines as a splice of lines does', () => {
    fc.assert(
      fc.property(
        textOf,
        fc.array(fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 3 }), fc.array(lineOf, { maxLength: 3 }))),
        (text, wanted) => {
          const editable = new EditableText(text)
          const lines = wholeLines(text)
          const edits: TextEdit[] = []
          const naive: (string[] | undefined)[] = lines.map((line) => [line])
          const taken = new Set<number>()
          for (const [from, count, some] of wanted) {
            const range = Array.from({ length: count }, (_, n) => from + n)
            if (range.some((line) => line >= lines.length || taken.has(line))) continue
            for (const line of range) taken.add(line)
            const to = from + count
            edits.push(editable.replaceLines({ from, to }, some.length === 0 ? '' : `${some.join('\n')}\n`))
            const ends = lines.slice(from, to).map((line) => /\r?\n$/.exec(line)?.[0] ?? '')
            const before = from > 0 ? /\r?\n$/.exec(lines[from - 1] ?? '')?.[0] : undefined
            const endAt = (n: number) => {
              const at = Math.min(n, ends.length - 1)
              return ends[at] || ends[at - 1] || before || '\n'
            }
            naive[from] = some.map((line, n) => line + (n === some.length - 1 && ends.at(-1) === '' ? '' : endAt(n)))
            for (let line = from + 1; line < to; line++) naive[line] = undefined
          }
          const isUnended = text !== '' && !text.endsWith('\n')
          let expected = naive.flatMap((some) => some ?? []).join('')
          const lastIsGone = lines.length > 0 && wanted.length > 0 && lastLineIsGone(naive)
          if (isUnended && lastIsGone) expected = expected.replace(/\r?\n$/, '')
          expect(applyEdits(text, edits)).to.equal(expected)
          expect([...overlapsIn(edits)]).to.deep.equal([])
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('replace the quoted words and nothing else, or find that they are not certain', () => {
    let certain = 0
    fc.assert(
      fc.property(textOf, fc.nat(), fc.nat(), fc.constantFrom('', 'krill', 'x\ny', '🐳'), (text, one, other, put) => {
        const cuts = [...graphemes.segment(text)].map(({ index }) => index).concat(text.length)
        const [start = 0, end = 0] = [cuts[one % cuts.length], cuts[other % cuts.length]].sort((a = 0, b = 0) => a - b)
        const exact = text.slice(start, end)
        if (exact.trim() === '' || exact.trim() !== exact || /^\s|\s$|\u200d/u.test(exact.normalize('NFC'))) return
        const lines = wholeLines(text)
        const lineAt = (offset: number) => text.slice(0, offset).split('\n').length - 1
        const range = { from: lineAt(start), to: lineAt(end - 1) + 1 }
        expect(range.to).to.be.at.most(lines.length)
        const quote = {
          exact: exact.replaceAll('\r\n', '\n'),
          prefix: text.slice(Math.max(0, start - 64), start),
          suffix: text.slice(end, end + 64),
        }
        const edit = new EditableText(text).replaceWords(range, quote, put)
        if (!edit) return
        certain++
        const eol = /\r?\n/.exec(text.split('\n').slice(range.from).join('\n'))?.[0]
        const naive = (space: string) => text.slice(0, start) + put.replaceAll('\n', space) + text.slice(end)
        expect([naive('\n'), naive('\r\n')], JSON.stringify({ text, exact, eol })).to.include(applyEdits(text, [edit]))
      }),
      { numRuns: 5_000 },
    )
    expect(certain).to.be.above(500)
  })

  it('keep white space of the file that differs from that of the quote', () => {
    const edit = (text: string, exact: string, put: string) => {
      const editable = new EditableText(text)
      const found = editable.replaceWords({ from: 0, to: editable.search.lines.length }, { exact }, put)
      return found && applyEdits(text, [found])
    }
    expect(edit('They eat fish.\n', ' fish', ''), 'a space is quoted').to.equal('They eat.\n')
    expect(edit('They eat\n\nfish.\n', ' fish', ' krill'), 'paragraphs stay').to.equal('They eat\n\nkrill.\n')
    expect(edit('eat  some\r\n  fish now', 'some fish', 'krill')).to.equal('eat  krill now')
    expect(edit('a fish and a fish', 'fish', 'x'), 'twice').to.equal(undefined)
    expect(edit('cafe\u0301 cafe', 'caf\u00e9', 'tea')).to.equal('tea cafe')
    expect(edit('cafe\u0301', 'cafe', 'tea'), 'not a part of a character').to.equal(undefined)
    expect(edit('one two', 'two', '')).to.equal('one ')
  })

  it('overlap if they share a character, and not if they touch', () => {
    const edits = [
      { start: 0, end: 4, text: '' },
      { start: 4, end: 6, text: '' },
      { start: 5, end: 6, text: '' },
      { start: 9, end: 20, text: '' },
      { start: 10, end: 11, text: '' },
      { start: 12, end: 13, text: '' },
    ]
    expect([...overlapsIn(edits)].sort((a, b) => a - b)).to.deep.equal([1, 2, 3, 4, 5])
  })
})

/** True if the last line was removed with nothing in its stead. */
function lastLineIsGone(naive: readonly (readonly string[] | undefined)[]): boolean {
  const last = naive.findLast((some) => some !== undefined)
  return last?.length === 0
}
