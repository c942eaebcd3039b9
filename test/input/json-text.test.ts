import { expect } from 'chai'
import fc from 'fast-check'
import { findFault, lossesOf, membersOf } from '../../server/domain/format/json-text.ts'

const document =
  '{"title": "Whales\\u00e9\\n\\\\", "tags": ["sea", ""],\n "properties": {"n": -1.5e+10, "t": true, "x": null, "z": [0, {}]}}\n'

/** The document with up to three units removed, replaced or added. */
const mutants = fc
  .array(
    fc.tuple(fc.nat(document.length), fc.nat(1), fc.constantFrom('', ...'{}[]:,"\\ \n0129-+.eEtrufalsn\u0001/x')),
    {
      maxLength: 3,
    },
  )
  .map((changes) =>
    changes.reduce((text, [at, removed, added]) => text.slice(0, at) + added + text.slice(at + removed), document),
  )

describe('JSON as text', () => {
  it('has a fault where JSON.parse refuses it, and nowhere else; what stands before it can become JSON', () => {
    fc.assert(
      fc.property(mutants, (text) => {
        const place = findFault(text)
        expect(place === undefined).to.equal(isJson(text))
        if (place === undefined) return
        const lines = text.split('\n').slice(0, place.line)
        const before = [...lines.slice(0, -1), lines.at(-1)?.slice(0, place.column - 1)].join('\n')
        // What ends too early has its fault at its end.
        if (!isJson(before)) expect(findFault(before)).to.deep.equal(place)
      }),
      { numRuns: 2_000 },
    )
  })

  it('has the members of its outermost object, each where it stands', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(2), (object, spaces) => {
        const text = JSON.stringify(object, null, spaces)
        const read = membersOf(text).map(({ name, from, to }) => [name, JSON.parse(text.slice(from, to))])
        expect(read).to.deep.equal(Object.entries(JSON.parse(text)))
      }),
    )
  })

  it('loses duplicate names, and numbers that a double does not hold', () => {
    const text = '{"a": 1, "b": [{"c": 1, "c\\"": 2, "c": 3}, 9007199254740993, 1e400, 1.50, 0e9], "a": "1e400"}'
    expect(lossesOf(text, 9)).to.deep.equal([
      'The field b[0].c appears twice',
      'JSON cannot store the number 9007199254740993 at b[1] exactly; write it as a string',
      'JSON cannot store the number 1e400 at b[2] exactly; write it as a string',
      'The field a appears twice',
    ])
    expect(lossesOf(text, 1)).to.have.length(1)
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
