/** The content that a new node of a type begins with. */

import { expect } from 'chai'
import fc from 'fast-check'
import { fillIn } from '../../server/domain/types/template.ts'
import type { Schema } from '../../server/domain/types/vocabulary.ts'
import { fieldNames, objectOf, scalars } from './arbitraries.ts'

const schema: Schema = {
  properties: {
    serves: { type: 'integer', default: 2 },
    status: { default: 'open' },
    size: { type: 'object', properties: { unit: { default: 'g' }, value: {} } },
    steps: { type: 'array', items: { type: 'object', properties: { done: { default: false } } } },
  },
}
const template = { text_content: '## Method\n', tags: ['food'], properties: { serves: 4, size: { value: 1 } } }

describe('templates of types', () => {
  it('fill in what a new node leaves out, before the defaults of the schema', () => {
    expect(fillIn({ template, schema }, { properties: { type: 'recipe' } })).to.deep.equal({
      text_content: '## Method\n',
      tags: ['food'],
      properties: { type: 'recipe', serves: 4, size: { value: 1, unit: 'g' }, status: 'open' },
    })
    expect(fillIn({ schema }, {})).to.deep.equal({ properties: { serves: 2, status: 'open' } })
    expect(fillIn({}, {})).to.deep.equal({})
  })

  it('keep everything that it has, also null and empty values', () => {
    const own = { text_content: '', tags: [], properties: { serves: null, status: '', size: null, steps: [{}] } }
    expect(fillIn({ template, schema }, own)).to.deep.equal(own)
  })

  it('share nothing with the definition', () => {
    const filled = fillIn({ template }, {})
    expect(filled.properties?.size).to.deep.equal(template.properties.size)
    expect(filled.properties?.size).not.to.equal(template.properties.size)
    expect(filled.tags).not.to.equal(template.tags)
  })

  it('change no value of any name, and fill in each other one', () => {
    const some = fc.array(fc.tuple(fc.constantFrom(...fieldNames), scalars), { maxLength: 6 }).map(objectOf)
    fc.assert(
      fc.property(some, some, some, (own, ofTemplate, defaults) => {
        const fields = Object.entries(defaults).map(([name, value]) => [name, { default: value }] as const)
        const definition = { template: { properties: ofTemplate }, schema: { properties: objectOf(fields) } as Schema }
        const properties = fillIn(definition, { properties: own }).properties ?? {}
        expect(new Set(Object.keys(properties))).to.deep.equal(
          new Set([own, ofTemplate, defaults].flatMap((one) => Object.keys(one))),
        )
        for (const [name, value] of Object.entries(properties)) {
          const source = [own, ofTemplate, defaults].find((one) => Object.hasOwn(one, name)) ?? {}
          expect(Object.is(value, source[name])).to.equal(true)
        }
      }),
    )
  })
})
