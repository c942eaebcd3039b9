/** Lines in a later version of a text, compared with every longest alignment of the two versions. */

import { expect } from 'chai'
import fc from 'fast-check'
import { TextChange } from '../../server/domain/format/anchors.ts'
import { linesOf, mapLines, shiftLines } from '../../server/domain/format/line-map.ts'
import { runs } from '../support/seed.ts'

type Pairs = readonly (readonly [before: number, after: number])[]

/** Every longest list of equal lines in the order of both texts. */
function alignmentsOf(before: readonly string[], after: readonly string[]): Pairs[] {
  const known = new Map<string, Pairs[]>()
  const from = (i: number, j: number): Pairs[] => {
    const key = `${i}:${j}`
    const ready = known.get(key)
    if (ready) return ready
    let found: Pairs[] = [[]]
    if (i < before.length && j < after.length) {
      const taken = before[i] === after[j] ? from(i + 1, j + 1).map((rest): Pairs => [[i, j], ...rest]) : []
      const all = [...taken, ...from(i + 1, j), ...from(i, j + 1)]
      const most = Math.max(...all.map(({ length }) => length))
      const longest = all.filter(({ length }) => length === most)
      found = [...new Map(longest.map((pairs) => [JSON.stringify(pairs), pairs])).values()]
    }
    known.set(key, found)
    return found
  }
  return from(0, 0)
}

/** The first of the lines after, if the alignment keeps all lines of the range, and nothing is between them. */
function imageOf(pairs: Pairs, from: number, to: number): number | undefined {
  const kept = pairs.filter(([before]) => before >= from && before < to)
  const first = kept[0]?.[1]
  return kept.length === to - from && kept.every(([, after], at) => after === (first ?? 0) + at) ? first : undefined
}

const line = fc.constantFrom('a', 'b', 'c', '')
const textArbitrary = fc.array(line, { maxLength: 7 })

describe('lines of a later version', () => {
  it('are where a longest alignment has them, and are not lost if they can be in only one place', () => {
    fc.assert(
      fc.property(textArbitrary, textArbitrary, (before, after) => {
        const alignments = alignmentsOf(before, after)
        const change = new TextChange(before, after)
        for (let from = 0; from < before.length; from++) {
          for (let to = from + 1; to <= before.length; to++) {
            const images = new Set(alignments.map((pairs) => imageOf(pairs, from, to)))
            const placed = change.place({ from, to })
            const found = placed.isOutdated ? undefined : placed.lines
            expect(images, `${from} to ${to}`).to.include(found?.from)
            if (found) expect(found.to - found.from).to.equal(to - from)
            if (placed.isOutdated && after.length > 0) expect(placed.near).to.be.within(0, after.length - 1)
            if (placed.isOutdated && after.length === 0) expect(placed.near).to.equal(undefined)
          }
        }
      }),
      { numRuns: runs(3_000), seed: 3 },
    )
  })

  it('are found at the edges of texts that differ too much in between', () => {
    const apart = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name} ${n}`)
    const before = ['one', 'two', ...apart('old', 400), 'three', 'four']
    const after = ['one', 'two', ...apart('new', 300), 'three', 'four']
    const change = new TextChange(before, after)
    expect(change.map.isRough).to.equal(true)
    expect(change.place({ from: 0, to: 2 })).to.deep.equal({ isOutdated: false, lines: { from: 0, to: 2 } })
    expect(change.place({ from: 402, to: 404 })).to.deep.equal({ isOutdated: false, lines: { from: 302, to: 304 } })
    expect(change.place({ from: 202, to: 203 })).to.deep.equal({ isOutdated: true, near: 152 })
    expect(change.place({ from: 1, to: 3 }).isOutdated).to.equal(true)
    const longer = new TextChange(before, [...before.slice(0, 300), ...apart('more', 5_000), ...before.slice(300)])
    expect(longer.map.isRough).to.equal(false)
    expect(longer.place({ from: 402, to: 403 })).to.deep.equal({ isOutdated: false, lines: { from: 5_402, to: 5_403 } })
  })

  it('stay if lines directly above or below are changed', () => {
    const map = mapLines(['a', 'b', 'c'], ['x', 'y', 'b', 'z'])
    expect(shiftLines(map, { from: 1, to: 2 })).to.deep.equal({ from: 2, to: 3 })
    expect(shiftLines(map, { from: 0, to: 2 })).to.equal(undefined)
    expect(shiftLines(mapLines(['a', 'b'], ['a', 'x', 'b']), { from: 0, to: 2 })).to.equal(undefined)
    expect(shiftLines(mapLines(['a', 'b'], ['x', 'a', 'b', 'x']), { from: 0, to: 2 })).to.deep.equal({ from: 1, to: 3 })
  })
})

describe('the lines of a text', () => {
  it('end with LF or CRLF only, and the last one may lack it', () => {
    expect(linesOf('')).to.deep.equal([])
    expect(linesOf('\n')).to.deep.equal([''])
    expect(linesOf('a')).to.deep.equal(['a'])
    expect(linesOf('a\n\nb\n')).to.deep.equal(['a', '', 'b'])
    expect(linesOf('a\r\nb\r\n')).to.deep.equal(['a', 'b'])
    expect(linesOf('a\rb\fc\vd\u0085e\u2028f\u2029g\n')).to.deep.equal(['a\rb\fc\vd\u0085e\u2028f\u2029g'])
  })

  it('are not changed by other line ends, nor by a line end at the end', () => {
    expect(mapLines(linesOf('a\nb\nc'), linesOf('a\r\nb\r\nc\r\n')).hunks).to.deep.equal([])
  })
})
