/** Properties that are merged into the text of node.json. */

import { expect } from 'chai'
import fc from 'fast-check'
import { mergeProperties } from '../../server/domain/format/merged-properties.ts'
import { objectOf, scalars } from './arbitraries.ts'

const text = `{
    "properties": {
        "type" : "recipe",   "serves": 4.0,
        "steps": [1e2,
          2],
        "due": null
    },
    "title": "Borscht", "tags": [ ]
}
`

describe('properties merged into node.json', () => {
  it('keep every other byte', () => {
    expect(mergeProperties(text, { type: 'soup' })).to.equal(text.replace('"recipe"', '"soup"'))
    expect(mergeProperties(text, { serves: null })).to.equal(text.replace('   "serves": 4.0,', ''))
    expect(mergeProperties(text, { due: null })).to.equal(text.replace(',\n        "due": null', ''))
    expect(mergeProperties(text, { cook: 'Olga', serves: 4 })).to.equal(
      text.replace('"due": null', '"due": null,\n        "cook": "Olga"'),
    )
    expect(mergeProperties(text, { gone: null })).to.equal(text)
    expect(mergeProperties(text, {})).to.equal(text)
  })

  it('are written if there were none, and may all be removed', () => {
    const json = (text = '') => JSON.parse(text)
    expect(mergeProperties('{"title": "A"}\n', { a: 1 })).to.equal('{"title": "A","properties":{"a":1}}\n')
    expect(json(mergeProperties('{"title": "A", "properties": {}}', { a: 1 })).properties).to.deep.equal({ a: 1 })
    expect(mergeProperties('{"title": "A"}', { a: null })).to.equal('{"title": "A"}')
    expect(mergeProperties('{"properties": { "a": 1, "b": 2 }}', { a: null, b: null })).to.equal('{"properties": {}}')
    expect(json(mergeProperties('{"properties": {"a": 1}}', { a: null, b: 2 })).properties).to.deep.equal({ b: 2 })
    const twice = '{"properties": {"a": 1}, "properties": {"b": 2}}'
    expect(json(mergeProperties(twice, { c: 3 }))).to.deep.equal({ properties: { b: 2, c: 3 } })
  })

  it('are refused in a text that is not an object', () => {
    for (const other of ['', '[]', '{"title":', 'null']) expect(mergeProperties(other, { a: 1 })).to.equal(undefined)
  })

  it('give what RFC 7396 says for the outermost names', () => {
    const names = fc.constantFrom('type', 'a.b', '__proto__', 'toString', '1', 'ß', 'tags', '"')
    const values = fc.oneof(scalars, fc.constant({ a: [1, { b: null }] }), fc.constant([]))
    const some = fc.array(fc.tuple(names, values), { maxLength: 5 }).map(objectOf)
    fc.assert(
      fc.property(some, some, fc.constantFrom(0, 2, 3, '\t'), (before, changes, space) => {
        const expected = new Map(Object.entries(before))
        for (const [name, value] of Object.entries(changes))
          if (value === null) expected.delete(name)
          else expected.set(name, value)
        const json = JSON.stringify({ title: 'A', properties: before, tags: [] }, null, space)
        const merged = JSON.parse(mergeProperties(json, changes) ?? '')
        // JSON has no negative zero.
        const same = JSON.parse(JSON.stringify(Object.fromEntries(expected)))
        expect(Object.entries(merged.properties)).to.have.deep.members(Object.entries(same))
        expect({ ...merged, properties: {} }).to.deep.equal({ title: 'A', properties: {}, tags: [] })
      }),
    )
  })
})
