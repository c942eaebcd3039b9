/** The order of titles in the tree: a total order, which is the same on every machine. */

import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { folded, titleKey } from '../../index/derived/title-order.ts'

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(titleKey(a)), Buffer.from(titleKey(b)))
/** The order without the part that makes keys unique. */
const compareLoosely = (a: string, b: string) => {
  const [first = '', second = ''] = [a, b].map((title) => titleKey(title).split('\u0001')[0])
  return Math.sign(Buffer.compare(Buffer.from(first), Buffer.from(second)))
}
/** Titles with many numbers, and with equal beginnings. */
const printable = fc.string({
  unit: fc.constantFrom(...Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))),
})
const ascii = fc
  .array(fc.oneof(printable, fc.nat().map(String), fc.constantFrom('0', '00', 'a', 'A', ' ')), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''))
const any = fc.oneof(ascii, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))

describe('the order of titles', () => {
  it('is that of ICU for ASCII titles, with numbers by value and without regard to case', () => {
    const oracle = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })
    fc.assert(
      fc.property(ascii, ascii, ascii, (start, a, b) => {
        for (const [one, other] of [
          [a, b],
          [start + a, start + b],
          [start, start + a],
        ] as const)
          expect(compareLoosely(one, other), JSON.stringify([one, other])).to.equal(
            Math.sign(oracle.compare(one, other)),
          )
      }),
      { numRuns: 3_000 },
    )
  })

  it('is total: transitive, and only equal titles have equal keys', () => {
    fc.assert(
      fc.property(any, any, any, (a, b, c) => {
        const [first = '', second = '', third = ''] = [a, b, c].sort(compare)
        expect(compare(first, second)).to.be.at.most(0)
        expect(compare(second, third)).to.be.at.most(0)
        expect(compare(first, third)).to.be.at.most(0)
        expect(titleKey(a) === titleKey(b)).to.equal(a === b)
        expect(compare(a, b)).to.equal(0 - compare(b, a))
      }),
      { numRuns: 2_000 },
    )
  })

  it('ignores accents, case and width, and orders equal titles by code points', () => {
    const sorted = (...titles: string[]) => expect(titles.toReversed().sort(compare)).to.deep.equal(titles)
    sorted('aardvark', 'ABA', 'abacus', 'Acetylcholine', 'AST', 'x86', 'yak', 'Zebra')
    sorted('Chapter 2', 'Chapter 2b', 'chapter ٣', 'Chapter 10', 'Chapter 010b')
    sorted('angle', 'Ångström', 'Eclair', 'éclair', 'ﬁsh', 'Fish 2', 'ｆｕｌｌ', 'Lodz', 'łódź', 'Straße', 'Strasse 2')
    sorted('istan', 'İstanbul', 'ıstakoz', 'jam')
    sorted('Ёлка', 'Ель', 'Ива', 'Ірис', 'Йод', 'Ящик')
    sorted('あお', 'アオ', 'かく', 'がく', 'きく')
    sorted(' space', '- dash', '— dash', '"quoted"', '“quoted”', '🌱 seeds', '1', 'a')
    sorted('Abc', 'aBc', 'abc', 'Ábc', 'abc d')
    sorted(`Chapter ${'9'.repeat(300)}`, `Chapter 1${'0'.repeat(300)}`)
  })

  it('is the same however a letter is composed, except among equal titles', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (title) => {
        expect(folded(title.normalize('NFD'))).to.equal(folded(title.normalize('NFC')))
      }),
    )
  })

  it('has the keys of every other version of Node: a change needs a migration of index.sqlite', () => {
    const hash = createHash('sha256')
    const blocks = [
      [0x20, 0x3130],
      [0xf900, 0xffff],
      [0x1f000, 0x1fbff],
    ] as const
    for (const [from, to] of blocks)
      for (let code = from; code <= to; code++) hash.update(`${titleKey(String.fromCodePoint(code))}\n`)
    expect(hash.digest('hex')).to.equal('867da1391fdca8065b2874dcc8a31d70e289dc3498de36fcb65c15e931456957')
  })
})
