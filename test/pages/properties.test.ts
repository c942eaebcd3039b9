/** Tags and properties as fields of a form, and back. */

import { expect } from 'chai'
import fc from 'fast-check'
import {
  fieldsOf,
  isSameJson,
  nodeJsonOf,
  panelIn,
  panelKey,
  panelOf,
  tagsIn,
  tagsText,
} from '../../server/pages/properties.ts'
import { runs } from '../support/seed.ts'

const tagArb = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((tag) => !/\p{Cc}/u.test(tag))
const valueArb = fc.oneof(
  fc.string(),
  fc.constantFrom('2025-07-15', '2025-99-99', 'two\nlines', '', ' padded '),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
  fc.boolean(),
  fc.array(fc.string()),
  fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value).replaceAll('-0', '0'))),
)
const propertiesArb = fc.dictionary(
  fc
    .oneof(fc.constantFrom('description', 'depth', 'title', 'a b'), fc.string({ minLength: 1, maxLength: 8 }))
    .filter((name) => name !== '__proto__'),
  valueArb,
  { maxKeys: 8 },
)

/** The form that a browser sends for these fields. */
function sent(panel: ReturnType<typeof panelOf>): URLSearchParams {
  const form = new URLSearchParams({ tags: panel.tags, description: panel.description })
  for (const { name, kind, value } of panel.rows ?? []) {
    form.append('property-name', name)
    form.append('property-kind', kind)
    // Browsers send the line ends of forms as CR LF.
    form.append('property-value', value.replaceAll('\n', '\r\n'))
  }
  if (panel.rows) for (const name of ['name', 'kind', 'value']) form.append(`property-${name}`, '')
  return form
}

describe('the fields of tags and properties', () => {
  it('keep every tag', () => {
    fc.assert(
      fc.property(fc.uniqueArray(tagArb), (tags) => {
        expect(tagsIn(tagsText(tags))).to.deep.equal(tags)
      }),
      { numRuns: 1_000 },
    )
  })

  it('read what people type', () => {
    for (const [text, tags] of [
      ['sea, mammal', ['sea', 'mammal']],
      ['#sea,#mammal,', ['sea', 'mammal']],
      [' sea ,, sea', ['sea']],
      ['', []],
      [' , ', []],
      ['"one, two", three', ['one, two', 'three']],
      ['math/DE, größe', ['math/DE', 'größe']],
    ] as const)
      expect(tagsIn(text), text).to.deep.equal(tags)
  })

  it('change nothing if nobody edits them', () => {
    fc.assert(
      fc.property(fc.uniqueArray(tagArb), propertiesArb, (tags, properties) => {
        const before = JSON.stringify({ title: 'Whales', tags, properties, other: { kept: 1 } })
        const panel = panelOf({ tags, properties })
        const read = panelIn(sent(panel))
        // A form cannot hold some names. Then it has no rows.
        fc.pre(panel.rows !== undefined)
        expect(read && panelKey(read)).to.equal(panelKey(panel))
        const after = nodeJsonOf(before, 'Whales', read && fieldsOf(read))
        const same = { ...properties }
        if (typeof same.description === 'string' && same.description.trim() !== same.description) return
        if (same.description === '') delete same.description
        expect(JSON.parse(after)).to.deep.equal({ title: 'Whales', tags, properties: same, other: { kept: 1 } })
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('write what was edited, with a number as it was typed', () => {
    const form = sent({
      tags: 'sea',
      description: 'Large mammals.',
      rows: [
        { name: 'depth', kind: 'number', value: '0.10' },
        { name: 'since', kind: 'date', value: '2025-07-15' },
        { name: 'seen', kind: 'yes-no', value: 'yes' },
        { name: 'aliases', kind: 'list', value: 'Cetacea\n\nOrca' },
      ],
    })
    const read = panelIn(form)
    const json = nodeJsonOf('{"title":"Old","aliases":["kept"]}', 'Whales', read && fieldsOf(read))
    expect(json).to.include('"depth": 0.10')
    expect(JSON.parse(json)).to.deep.equal({
      ...{ title: 'Whales', aliases: ['kept'], tags: ['sea'] },
      properties: {
        description: 'Large mammals.',
        ...{ depth: 0.1, since: '2025-07-15', seen: true, aliases: ['Cetacea', 'Orca'] },
      },
    })
  })

  it('say what is wrong', () => {
    for (const [row, said] of [
      [{ name: 'depth', kind: 'number', value: 'deep' }, '“depth” must be a number, such as 12 or 0.5.'],
      [{ name: 'since', kind: 'date', value: 'May' }, '“since” must be a date, such as 2025-07-15.'],
      [{ name: '', kind: 'text', value: 'lost' }, 'The value “lost” has no name. Enter a name, or clear it.'],
      [{ name: 'description', kind: 'text', value: 'x' }, 'There are two descriptions.'],
    ] as const) {
      const read = panelIn(sent({ tags: '', description: 'Said.', rows: [row] }))
      expect(() => read && fieldsOf(read)).to.throw(said)
    }
  })

  it('compare node.json without the order of its members', () => {
    expect(isSameJson('{"a":1,"b":{"c":[1,2]}}', '{"b":{"c":[1,2]},"a":1}')).to.equal(true)
    expect(isSameJson('{"a":[1,2]}', '{"a":[2,1]}')).to.equal(false)
  })
})
