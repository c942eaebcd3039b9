/** Kinds of fields, and the schemas that say the same. */

import { expect } from 'chai'
import fc from 'fast-check'
import { readDefinition } from '../../server/domain/types/definition.ts'
import {
  type FieldFacts,
  type FieldSchema,
  factsOf,
  fieldKinds,
  findKind,
  kindOf,
  schemaOf,
} from '../../server/pages/field-kinds.ts'
import { rootSchemas } from '../types/arbitraries.ts'

const nothing: FieldFacts = { label: '', help: '', choices: [], least: undefined, most: undefined }

function faultsOf(schema: FieldSchema): unknown {
  const read = readDefinition({ title: 'A', schema: { properties: { a: schema } } })
  return 'faults' in read ? read.faults : []
}

/** Facts that each kind can have. */
function factsFor({ choices, range }: (typeof fieldKinds)[number]): FieldFacts {
  return {
    label: 'A label',
    help: 'Some help',
    choices: choices === undefined ? [] : choices === 'texts' ? ['a', '1'] : [1, 2.5],
    least: range && 1,
    most: range && 3,
  }
}

const fields = rootSchemas.map(({ properties = {} }) => Object.values(properties) as FieldSchema[])

describe('a kind of field', () => {
  for (const kind of fieldKinds)
    it(`is found again in its schema: ${kind.title}`, () => {
      const facts = factsFor(kind)
      const schema = schemaOf(kind, facts)
      expect(faultsOf(schema)).to.deep.equal([])
      expect(kindOf(schema)).to.equal(kind)
      expect(factsOf(schema, kind)).to.deep.equal(facts)
      expect(kindOf(schemaOf(kind, { ...facts, label: '', help: '', least: undefined, most: undefined }))).to.equal(
        kind,
      )
    })

  it('has the keywords that a user would write', () => {
    const made = (name: string, facts: Partial<FieldFacts> = {}) =>
      schemaOf(findKind(name) ?? expect.fail(name), { ...nothing, ...facts })
    expect(made('whole', { label: 'Serves', least: 1 })).to.deep.equal({ type: 'integer', title: 'Serves', minimum: 1 })
    expect(made('long-text', { most: 200 })).to.deep.equal({ type: 'string', 'x-multiline': true, maxLength: 200 })
    expect(made('date')).to.deep.equal({ type: 'string', format: 'date' })
    expect(made('choice', { choices: ['open', 'done'] })).to.deep.equal({ type: 'string', enum: ['open', 'done'] })
    expect(made('choices', { choices: ['a'], least: 1 })).to.deep.equal({
      type: 'array',
      items: { type: 'string', enum: ['a'] },
      minItems: 1,
    })
  })

  const none: readonly FieldSchema[] = [
    {},
    { const: 1 },
    { type: 'object', properties: {} },
    { type: 'array' },
    { type: 'array', items: {} },
    { type: 'array', items: { type: ['string', 'null'] } },
    { type: 'array', items: { type: 'array', items: { type: 'string' } } },
    { enum: ['a', 1] },
    { type: 'boolean', enum: [true] },
    { enum: ['a', null] },
    { enum: ['two\nlines'] },
    { enum: [' spaces '] },
    { type: 'string', const: 'a' },
    { type: 'array', items: { type: 'string', format: 'email' } },
  ]
  for (const schema of none)
    it(`does not fit ${JSON.stringify(schema)}`, () => {
      expect(kindOf(schema)).to.equal(undefined)
    })

  it('keeps a schema that nobody changes, to the order of its words', () => {
    fc.assert(
      fc.property(fields, (schemas) => {
        for (const schema of schemas) {
          const kind = kindOf(schema)
          if (kind)
            expect(JSON.stringify(schemaOf(kind, factsOf(schema, kind), schema))).to.equal(JSON.stringify(schema))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('replaces another one, and leaves nothing that the new one refuses', () => {
    fc.assert(
      fc.property(fields, fc.constantFrom(...fieldKinds), (schemas, kind) => {
        for (const schema of schemas) {
          if (kindOf(schema) === kind || JSON.stringify(faultsOf(schema)) !== '[]') continue
          const made = schemaOf(kind, { ...factsFor(kind), label: 'New' }, schema)
          expect(faultsOf(made)).to.deep.equal([])
          expect(kindOf(made)).to.equal(kind)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('keeps what a new kind does not change', () => {
    const before = {
      title: 'Due',
      'x-icon': 'clock',
      type: ['string', 'null'],
      pattern: '^a',
      default: 'a',
      maxLength: 9,
    }
    const changed = (name: string) =>
      schemaOf(findKind(name) ?? expect.fail(name), { ...nothing, label: 'Due' }, before)
    expect(changed('long-text')).to.deep.equal({
      ...{ title: 'Due', 'x-icon': 'clock', pattern: '^a', default: 'a' },
      ...{ type: 'string', 'x-multiline': true },
    })
    expect(changed('number')).to.deep.equal({ title: 'Due', 'x-icon': 'clock', type: 'number' })
  })
})
