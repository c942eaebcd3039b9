/** Definitions of types: what they may say, and which fault each mistake has. */

import { expect } from 'chai'
import fc from 'fast-check'
import * as limits from '../../server/base/limits.ts'
import { definitionJson, parseDefinition, readDefinition } from '../../server/domain/types/definition.ts'
import { rootSchemas } from './arbitraries.ts'
import { isValidSchema } from './oracle.ts'

const recipe = {
  ...{ title: 'Recipe', plural: 'Recipes', aliases: ['recipes', 'Rezept'], enforcement: 'strict' },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['serves', 'type'],
    properties: {
      serves: { type: 'integer', minimum: 1, title: 'Serves', default: 4, 'x-unit': 'people' },
      due: { type: ['string', 'null'], format: 'date' },
      code: { type: 'string', pattern: '^[A-Z]{2}\\d+$', maxLength: 20, examples: ['AB1'] },
      steps: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, maxItems: 10 },
      status: { enum: ['open', 'done', null], deprecated: true },
    },
  },
  connections: { written_by: { title: 'Author', to: ['person'], min: 0, max: 1, inverse: 'Wrote' } },
  other_connections: true,
  parents: { types: ['collection'], min: 0, max: 1 },
  template: { text_content: '## Method\n', tags: ['food'], properties: { serves: 4 } },
  columns: ['serves', 'due', 'steps.name', 'title', '->written_by'],
}

/** The faults of a definition, as `place: sentence`. */
function faultsOf(json: unknown): string[] {
  const read = readDefinition(json)
  return 'faults' in read ? read.faults.map(({ place, msg }) => `${place.join('/')}: ${msg}`) : []
}

const withSchema = (schema: object) => ({ title: 'A', schema })
const withField = (field: object) => withSchema({ properties: { a: field } })
const inField = (field: object) =>
  faultsOf(withField(field)).map((fault) => fault.replaceAll('schema.properties.a', '@'))

describe('definitions of types', () => {
  it('are read and written again as the same JSON', () => {
    expect(faultsOf(recipe)).to.deep.equal([])
    const read = parseDefinition(JSON.stringify(recipe))
    if (!('definition' in read)) return expect.fail('It has faults')
    expect(JSON.parse(definitionJson(read.definition).toString())).to.deep.equal(recipe)
    return undefined
  })

  it('have a schema that is one of JSON Schema, also at random', () => {
    let accepted = 0
    fc.assert(
      fc.property(rootSchemas, (schema) => {
        const text = JSON.stringify(withSchema(schema))
        const read = parseDefinition(text)
        if ('faults' in read) {
          for (const { msg, place } of read.faults) {
            expect(place[0]).to.equal('schema')
            // The only mistakes of the random schemas are limits that contradict each other, and impossible values.
            expect(msg).to.match(/must not be above|leaves no number|has no effect|too deep|as `type` says/)
          }
          return
        }
        accepted++
        expect(isValidSchema(schema)).to.equal(true)
        const again = parseDefinition(definitionJson(read.definition).toString())
        expect(again).to.deep.equal(read)
      }),
      { numRuns: 1_000 },
    )
    expect(accepted).to.be.above(200)
  })

  it('name an unknown word at its place, with the nearest known one', () => {
    expect(inField({ type: 'string', maxLenght: 3 })).to.deep.equal([
      'schema/properties/a/maxLenght: @.maxLenght is not a keyword; did you mean "maxLength"?',
    ])
    expect(inField({ $ref: '#' })).to.deep.equal([
      'schema/properties/a/$ref: @.$ref is not supported: the schema of a type has only keywords that a form can show',
    ])
    expect(faultsOf({ title: 'A', alias: [] })).to.deep.equal([
      'alias: alias is not known here; did you mean "aliases"?',
    ])
    expect(faultsOf({ title: 'A', connections: { a: { too: [] } } })).to.deep.equal([
      'connections/a/too: connections.a.too is not known here; did you mean "to"?',
    ])
    expect(faultsOf({ title: 'A', template: { tag: [] } })).to.deep.equal([
      'template/tag: template.tag is not known here; did you mean "tags"?',
    ])
    const read = readDefinition({ ...withField({ maxlength: 1 }), titel: 'x' })
    expect('faults' in read && read.faults.map(({ type }) => type)).to.have.members([
      'unknown_keyword',
      'extra_forbidden',
    ])
  })

  it('say what is right for each keyword', () => {
    const cases: [object, string][] = [
      [{ type: 'text' }, '@.type must be "string", "integer", "number", "boolean", "array" or "object"'],
      [{ type: 'sting' }, 'did you mean "string"?'],
      [{ type: ['string', 'integer'] }, 'or a list of one of them and "null"'],
      [{ type: 'null' }, '@.type must be'],
      [{ type: 'integer', minimum: '1' }, '@.minimum must be a number; it is the text "1"'],
      [{ type: 'integer', minLength: 1 }, '@.minLength has no effect here: it is only for a text'],
      [{ type: 'string', minLength: -1 }, '@.minLength must be a whole number of at least 0; it is the number -1'],
      [
        { type: 'string', minLength: 5, maxLength: 4 },
        '@.minLength must not be above `maxLength`, which is 4; it is 5',
      ],
      [{ minimum: 5, maximum: 4 }, '@.minimum must not be above'],
      [{ exclusiveMinimum: 4, maximum: 4 }, '@.exclusiveMinimum leaves no number below the maximum'],
      [{ minimum: 4, exclusiveMaximum: 4 }, '@.exclusiveMaximum leaves no number above the minimum'],
      [{ multipleOf: 0.1 }, '@.multipleOf must be a whole number of at least 1'],
      [{ pattern: '(' }, '@.pattern must be a regular expression of JavaScript'],
      [{ pattern: '(?=a)' }, '@.pattern must not look ahead or behind'],
      [{ pattern: '(a)\\1' }, '@.pattern must not have back references'],
      [{ pattern: 'a{248}' }, '@.pattern must be simpler: with all its repetitions it has 251 states'],
      [{ pattern: 'a'.repeat(201) }, '@.pattern must have at most 200 characters; it has 201'],
      [{ format: 'dat' }, '@.format must be "date", "date-time", "uri" or "email"'],
      [{ enum: [] }, '@.enum must have a value'],
      [{ enum: [1, 1] }, '@.enum[1] must not be in the list twice'],
      [{ enum: [[]] }, '@.enum[0] must be a text, a number, true, false or null; it is a list'],
      [{ enum: Array.from({ length: 201 }, (_, n) => n) }, '@.enum must have at most 200 items; it has 201'],
      [{ type: 'integer', enum: ['1'] }, '@.enum[0] must be a whole number, as `type` says; it is the text "1"'],
      [{ type: 'integer', const: 1.5 }, '@.const must be a whole number, as `type` says'],
      [{ type: 'integer', default: 'x' }, '@.default must be a whole number; it is the text "x"'],
      [{ type: 'array', items: { type: 'object' }, uniqueItems: true }, '@.uniqueItems is only for lists'],
      [{ type: 'array', items: [{}] }, '@.items must be an object; it is a list'],
      [
        { properties: { b: {} }, required: ['c'] },
        '@.required[0] must be the name of a field in `properties`; "c" is not',
      ],
      [{ additionalProperties: {} }, '@.additionalProperties must be true or false; it is an object'],
      [{ $schema: 'x' }, '@.$schema is only for the outermost schema'],
      [{ title: 1 }, '@.title must be a text'],
      [{ properties: { '': {} } }, 'must have a name of 1 to 100 characters'],
      [{ properties: { '\ud800': {} } }, 'must have a name of 1 to 100 characters'],
    ]
    for (const [field, sentence] of cases) {
      const faults = inField(field)
      expect(faults, JSON.stringify(field)).to.have.length(1)
      expect(faults[0]).to.include(sentence)
    }
  })

  it('say what is right for each member', () => {
    const cases: [unknown, string][] = [
      [[], ': The definition must be an object; it is a list'],
      [{}, 'title: title is missing: it is the name of the type for people'],
      [{ title: 'a\nb' }, 'title: title must be one line of text with 1 to 100 characters'],
      [{ title: 'A', aliases: ['x', 'X'] }, 'aliases/1: aliases[1] must differ'],
      [
        { title: 'A', enforcement: 'hard' },
        'enforcement: enforcement must be "advisory" or "strict"; it is the text "hard"',
      ],
      [
        { title: 'A', connections: { 'Written by': {} } },
        'connections/Written by: connections["Written by"] must have a name',
      ],
      [
        { title: 'A', connections: { a: { min: 2, max: 1 } } },
        'connections/a/min: connections.a.min must not be above `max`',
      ],
      [{ title: 'A', parents: { types: ['A'] } }, 'parents/types/0: parents.types[0] must be the name of a type'],
      [{ title: 'A', other_connections: 1 }, 'other_connections: other_connections must be true or false'],
      [
        { title: 'A', template: { text_content: '\ud800' } },
        'template/text_content: template.text_content has an unpaired',
      ],
      [
        { title: 'A', template: { properties: { type: 'a' } } },
        'template/properties/type: template.properties.type is not needed',
      ],
      [
        { ...withField({ type: 'integer' }), template: { properties: { a: 'x' } } },
        'template/properties/a: template.properties.a must be a whole',
      ],
      [
        { ...withField({}), columns: ['b'] },
        'columns/0: columns[0] must name a field of the schema; "b" is not one; did you mean "a"?',
      ],
      [{ ...withField({}), columns: ['->b'] }, 'columns/0: columns[0] must name a connection of `connections`'],
      [{ ...withField({}), columns: ['a,a'] }, 'columns/0: columns[0] must be the name of a field, or a path'],
      [
        { ...withSchema({ properties: { 'a "b"': {} } }), columns: ['a "b"'] },
        'columns/0: columns[0] must have this name in double quotes, because it has spaces or signs: `"a ""b"""`',
      ],
      [
        { ...withSchema({ properties: { 'a.b': {} } }), columns: ['a.b'] },
        'columns/0: columns[0] must have this name in double quotes, because it has spaces or signs: `"a.b"`',
      ],
      [
        { ...withSchema({ properties: { 'cook time': {} } }), columns: ['cok time'] },
        'with double quotes around a name with spaces: `"a b"`; it is the text "cok time"; did you mean "cook time"?',
      ],
      [withSchema({ type: 'array' }), 'schema/type: schema.type must be "object"'],
      [withSchema({ default: {} }), 'schema/default: schema.default is only for fields'],
    ]
    for (const [json, sentence] of cases) {
      const faults = faultsOf(json)
      expect(faults, JSON.stringify(json)).to.have.length(1)
      expect(faults[0]).to.include(sentence)
    }
    const incomplete = { ...withSchema({ properties: { a: {} }, required: ['a'] }), template: { properties: {} } }
    expect(faultsOf(incomplete)).to.deep.equal([])
  })

  it('are written on one line if they would otherwise be too large', () => {
    const values = Array.from({ length: 200 }, (_, n) => n)
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, { enum: values }]))
    const json = withSchema({ properties: fields })
    const read = readDefinition(json)
    if (!('definition' in read)) return expect.fail('It has faults')
    const written = definitionJson(read.definition).toString()
    expect(written).to.equal(JSON.stringify(json))
    expect(parseDefinition(written)).to.deep.equal(read)
    return undefined
  })

  it('are bounded', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, {}]))
    const nested = (levels: number): object => (levels === 0 ? {} : { properties: { a: nested(levels - 1) } })
    const lists = (levels: number): object => (levels === 0 ? {} : { items: lists(levels - 1) })
    expect(faultsOf(withSchema({ properties: fields(100) }))).to.deep.equal([])
    expect(faultsOf(withSchema({ properties: fields(101) }))[0]).to.include(
      'must have at most 100 fields at all levels; it has 101',
    )
    expect(faultsOf(withSchema({ properties: { ...fields(50), b: { properties: fields(50) } } }))[0]).to.include(
      'it has 101',
    )
    expect(faultsOf(withSchema(nested(4)))).to.deep.equal([])
    expect(faultsOf(withSchema(nested(5)))[0]).to.include('is too deep: fields have at most 4 levels')
    expect(inField(lists(4))).to.deep.equal([])
    expect(inField(lists(5))[0]).to.include('is too deep: lists have at most 4 levels')
    const pattern = (n: number) => ({ pattern: `^(?:a?){118}${n}$` })
    const patterns = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, pattern(n)]))
    expect(faultsOf(withSchema({ properties: patterns(8) }))).to.deep.equal([])
    expect(faultsOf(withSchema({ properties: patterns(9) }))[0]).to.include('must have fewer or simpler patterns')
    expect(faultsOf({ title: 'A', template: { text_content: 'x'.repeat(limits.typeBytes) } })[0]).to.include(
      '65536 bytes',
    )
  })

  it('have at most 100 faults, from any JSON and any text', () => {
    const hostile = [
      '['.repeat(30_000),
      `${'{"properties":{"a":'.repeat(3_000)}{}${'}}'.repeat(3_000)}`,
      `{"title":"A","schema":{"properties":{"__proto__":{"type":"integer"},"constructor":{"properties":{}}}}}`,
      `{"title":"A","schema":${JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, 1])))}}`,
      '{"title":"A","__proto__":{"enforcement":"strict"}}',
      'nothing',
    ]
    const reads = hostile.map((text) => parseDefinition(text))
    expect(reads.map((read) => ('faults' in read ? read.faults.length : 0))).to.deep.equal([1, 1, 0, 100, 1, 1])
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('schema', 'template', 'columns', 'connections'), (value, name) => {
        const read = readDefinition({ title: 'A', [name]: value })
        if ('faults' in read) expect(read.faults.length).to.be.within(1, 100)
      }),
      { numRuns: 500 },
    )
  })
})
