/** Examples of properties that a definition accepts. */

import { expect } from 'chai'
import fc from 'fast-check'
import { checkProperties } from '../../server/domain/types/checker.ts'
import { readDefinition } from '../../server/domain/types/definition.ts'
import { exampleOf } from '../../server/domain/types/example.ts'
import type { Schema } from '../../server/domain/types/vocabulary.ts'
import { rootSchemas } from './arbitraries.ts'

/** The names of the properties that break the schema. */
function brokenIn(schema: Schema, properties: Readonly<Record<string, unknown>>): Set<unknown> {
  const found = new Set<unknown>()
  checkProperties(schema, properties, ({ steps }) => found.add(steps[1]))
  return found
}

describe('examples of types', () => {
  it('take what the schema gives, and make up the rest', () => {
    const schema = {
      required: ['serves', 'code', 'kinds'],
      properties: {
        serves: { type: 'integer', minimum: 3, multipleOf: 2 },
        code: { type: 'string', pattern: '^[A-Z]{2}$', examples: ['ab', 'AB'] },
        due: { type: 'string', format: 'date' },
        status: { enum: ['open', 'done'] },
        kinds: { type: 'array', items: { type: 'string', maxLength: 1 }, minItems: 3, uniqueItems: true },
        size: { type: 'object', required: ['unit'], properties: { unit: { default: 'g' }, value: { type: 'number' } } },
        old: { type: 'string', deprecated: true },
        share: { type: ['number', 'null'], exclusiveMinimum: 0, exclusiveMaximum: 1 },
      },
    } as Schema
    const { properties, lacks } = exampleOf('recipe', schema, 1_000)
    expect(lacks).to.deep.equal([])
    expect(properties).to.deep.equal({
      ...{ type: 'recipe', serves: 4, code: 'AB', due: '2026-12-31', status: 'open', kinds: ['t', '2', '3'] },
      ...{ size: { unit: 'g', value: 1 }, share: 0.5 },
    })
    expect(Object.keys(properties).slice(0, 3)).to.deep.equal(['type', 'serves', 'code'])
    expect(Object.keys(exampleOf('recipe', schema, 90).properties)).to.deep.equal([
      ...['type', 'serves', 'code', 'due', 'kinds'],
    ])
  })

  it('name what they lack', () => {
    const schema = { required: ['code'], properties: { code: { type: 'string', pattern: '^[A-Z]{2}$' } } } as Schema
    expect(exampleOf('recipe', schema, 1_000)).to.deep.equal({ properties: { type: 'recipe' }, lacks: ['code'] })
    const other = { properties: { type: { const: 'Recipe' } } } as Schema
    expect(exampleOf('recipe', other, 1_000).lacks).to.deep.equal(['type'])
  })

  it('are accepted, whatever the schema is', () => {
    let complete = 0
    fc.assert(
      fc.property(rootSchemas, (schema) => {
        const { properties, lacks } = exampleOf('recipe', schema, 1_000)
        expect(brokenIn(schema, properties)).to.deep.equal(new Set(lacks))
        if (lacks.length === 0) complete++
      }),
      { numRuns: 2_000 },
    )
    expect(complete).to.be.above(1_000)
  })

  it('end, whatever a definition asks for', () => {
    const deep = (levels: number): object =>
      levels === 0 ? { type: 'string' } : { type: 'array', minItems: 20, items: deep(levels - 1) }
    const wide = Object.fromEntries(
      Array.from({ length: 100 }, (_, n) => [`f${n}`, { type: 'string', minLength: 1_000_000_000 }]),
    )
    for (const properties of [{ deep: deep(4) }, wide]) {
      const read = readDefinition({ title: 'Hostile', schema: { properties } })
      expect(read).to.have.property('definition')
      expect(exampleOf('hostile', { properties } as Schema, 1_000).properties).to.deep.equal({ type: 'hostile' })
    }
  })
})
