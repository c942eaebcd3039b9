/** The checker of schemas, compared with ajv. */

import { expect } from 'chai'
import fc from 'fast-check'
import * as limits from '../../server/base/limits.ts'
import { checkProperties, type Violation } from '../../server/domain/types/checker.ts'
import { formatNames, formats } from '../../server/domain/types/formats.ts'
import type { Schema } from '../../server/domain/types/vocabulary.ts'
import { rootSchemas, valuesFor } from './arbitraries.ts'
import { ajvHolds, ajvPointers } from './oracle.ts'

function violationsOf(schema: Schema, properties: Record<string, unknown>): Violation[] {
  const violations: Violation[] = []
  checkProperties(schema, properties, ({ word }) => void violations.push(word()))
  return violations
}

/** The pointers of ajv: it names the object around a missing or unknown field. */
function pointersOf(schema: Schema, properties: Record<string, unknown>): string[] {
  const pointers = violationsOf(schema, properties).map(({ pointer = '', rule }) => {
    const inner = pointer.replace(/^\/properties/, '')
    return rule === 'required' || rule === 'additionalProperties' ? inner.slice(0, inner.lastIndexOf('/')) : inner
  })
  return [...new Set(pointers.map((pointer) => pointer.replaceAll('__proto__', '__other__')))].sort()
}

const cases = rootSchemas.chain((schema) => fc.tuple(fc.constant(schema), valuesFor(schema)))

describe('the checker of schemas', () => {
  it.deep('finds violations at the places where ajv finds errors', () => {
    let valid = 0
    let invalid = 0
    fc.assert(
      fc.property(cases, ([schema, value]) => {
        const properties = value as Record<string, unknown>
        const expected = ajvPointers(schema, properties)
        expect(pointersOf(schema, properties)).to.deep.equal(expected)
        if (expected.length === 0) valid++
        else invalid++
      }),
      { numRuns: 400 },
    )
    expect(valid).to.be.above(40)
    expect(invalid).to.be.above(40)
  })

  it.deep('reads formats as ajv does', () => {
    const parts = fc.constantFrom(
      ...[
        '2026',
        '2024',
        '0000',
        '-',
        '-12-01',
        '-02-29',
        '-02-30',
        'T',
        't',
        '10:00',
        '23:59',
        '24:00',
        ':00',
        ':59',
        '.5',
      ],
      ...[
        'Z',
        'z',
        '+01:30',
        '-24:00',
        'http:',
        'urn:',
        '//',
        '/',
        '?',
        '#',
        '[',
        ']',
        '::1',
        'v1.a',
        '@',
        '.',
        ':80',
        '%20',
        '%',
      ],
      ...['example', 'org', 'a', 'A9', '-', '_', '+', '!', '(', ' ', 'é', '"', '\\', '1.2.3.4', '', ','],
    )
    const whole = fc.constantFrom(
      '2026-12-01',
      '2026-12-01T10:00:00Z',
      'urn:a',
      'https://example.org/',
      'ann@example.org',
    )
    const texts = fc.oneof(
      whole,
      fc.array(parts, { maxLength: 8 }).map((several) => several.join('')),
    )
    const holding = new Set<string>()
    fc.assert(
      fc.property(texts, (text) => {
        for (const name of formatNames) {
          const holds = formats[name].holds(text)
          // ajv reads a wrong authority after `//` as a path.
          const isLax = name === 'uri' && !holds && /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
          if (!isLax) expect(holds, `${name} ${text}`).to.equal(ajvHolds(name, text))
          if (holds) holding.add(name)
        }
      }),
      { numRuns: 10_000 },
    )
    expect([...holding]).to.have.members(formatNames)
  })

  it('takes only times that filters read as dates', () => {
    const { holds } = formats['date-time']
    expect(holds('2026-12-01T10:00:00+01:00')).to.equal(true)
    for (const text of [
      '2026-12-01 10:00:00Z',
      '2026-12-31T23:59:60Z',
      '2026-12-01T10:00:00+0100',
      '2026-12-01T10:00Z',
    ])
      expect(holds(text), text).to.equal(false)
  })

  it('words a violation with the value and what is right', () => {
    const schema: Schema = {
      required: ['due'],
      additionalProperties: false,
      properties: {
        serves: { type: 'integer', minimum: 1 },
        due: { type: ['string', 'null'], format: 'date' },
        status: { enum: ['open', 'done', null] },
        code: { type: 'string', pattern: '^[A-Z]+$', minLength: 2 },
        steps: {
          type: 'array',
          minItems: 3,
          items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        },
        'a b': { type: 'array', uniqueItems: true, items: { type: 'string', maxLength: 1 } },
      },
    }
    const properties = {
      ...{
        type: 'recipe',
        serves: 'four',
        status: 'opem',
        code: 'x',
        steps: [{}, { name: 4 }],
        'a b': ['x', '😀😀', 'x'],
      },
      servs: 4,
    }
    expect(violationsOf(schema, properties).map(({ msg }) => msg)).to.deep.equal([
      'properties.due is missing',
      'properties.serves must be a whole number; it is the text "four"',
      'properties.status must be "open", "done" or null; it is the text "opem"',
      'properties.code must have at least 2 characters; it has 1',
      'properties.code must match the pattern "^[A-Z]+$"; it is the text "x"',
      'properties.steps must have at least 3 items; it has 2',
      'properties.steps[0].name is missing',
      'properties.steps[1].name must be a text; it is the number 4',
      'properties["a b"] must not have an item twice; items 1 and 3 are the text "x"',
      'properties["a b"][1] must have at most 1 character; it has 2',
      'properties.servs is not a field here, and others are not allowed',
    ])
    expect(violationsOf(schema, { due: null, serve: 4 })[0]?.msg).to.match(/; did you mean "serves"\?$/)
    expect(violationsOf(schema, { due: '2026-02-30' })).to.deep.equal([
      {
        path: 'properties.due',
        pointer: '/properties/due',
        rule: 'format',
        msg: 'properties.due must be a date, such as 2026-12-31; it is the text "2026-02-30"',
      },
    ])
  })

  it('limits the work for patterns', () => {
    const items = { type: 'string', pattern: '^(?:a?){120}$' } as const
    const schema: Schema = {
      properties: { list: { type: 'array', items }, long: { type: 'string', pattern: '^(a+)+$' } },
    }
    const long = 'a'.repeat(limits.patternText)
    expect(violationsOf(schema, { long })).to.deep.equal([])
    expect(violationsOf(schema, { long: `${'a'.repeat(50)}!` })[0]?.msg).to.include('must match')
    expect(violationsOf(schema, { long: `${long}a` })[0]?.msg).to.equal(
      'properties.long is too long for its pattern: it must have at most 1,000 characters, and has 1,001',
    )
    const violations = violationsOf(schema, { list: Array.from({ length: 60 }, () => 'a'.repeat(120)) })
    expect(violations[0]?.msg).to.include('the texts before it took all the time')
    expect(violations.length).to.equal(52)
  })
})
