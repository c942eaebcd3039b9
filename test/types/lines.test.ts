/** The lines of places in node.json, compared with the ranges that JSON pointers have. */

import { expect } from 'chai'
import fc from 'fast-check'
import { parsePointer, rangeOfValue } from '../../server/domain/format/json-pointer.ts'
import { linesOf } from '../../server/domain/types/lines.ts'
import { pointerOf } from '../../server/domain/types/wording.ts'

const names = fc.constantFrom('a', 'b', '0', '1', 'a/b~', '__proto__', 'properties', 'a\nb', '"')
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom('1', '"a\\nb"', '"}\\"{"', 'null', '[]', '{}'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[\n${items.join(',\n')}]`),
    // A name may appear twice.
    fc
      .array(fc.tuple(names, tie('value'), fc.constantFrom('', '\n', '\r\n\n')), { maxLength: 4 })
      .map(
        (pairs) =>
          `{${pairs.map(([name, value, space]) => `${space}${JSON.stringify(name)}:${space}${value}`).join(',')}\n}`,
      ),
  ),
})).value
const pointers = fc.array(
  fc.array(fc.oneof(names, fc.nat(2)), { maxLength: 4 }).map((steps) => pointerOf(steps)),
  { maxLength: 5 },
)

describe('lines of violations', () => {
  it('are those of the values at their pointers, or around them', () => {
    fc.assert(
      fc.property(json, pointers, (text, several) => {
        const expected = several.map((pointer) => {
          const { from } = rangeOfValue(text, parsePointer(pointer) ?? [])
          return text.slice(0, from).split('\n').length
        })
        expect(linesOf(text, several)).to.deep.equal(expected)
      }),
      { numRuns: 2_000 },
    )
  })

  it('are found in a file with everything on one line, and in one that is too long to read', () => {
    const long = JSON.stringify({ properties: { list: Array.from({ length: 30_000 }, () => 1), last: 4 } })
    expect(linesOf(long, ['/properties/last', '/properties/list/29999', ''])).to.deep.equal([1, 1, 1])
    const longer = `{"properties":\n{"list":[${'\n1,'.repeat(200_000)}1],\n"last":4}}`
    const [list, first, last] = linesOf(longer, ['/properties/list', '/properties/list/0', '/properties/last'])
    expect([list, first, last]).to.deep.equal([2, 3, 2])
  })
})
