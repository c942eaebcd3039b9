/** Random schemas of the vocabulary, and values that often satisfy or just miss them. */

import fc from 'fast-check'
import type { Scalar, Schema } from '../../server/domain/types/vocabulary.ts'

export const fieldNames = ['serves', 'due', 'a.b', '__proto__', 'toString', 'type', 'a/b~', '1', 'ß\u0301']

const texts = fc.oneof(
  fc.constantFrom('', 'a', 'ab', 'AB-12', 'four', '😀', 'é', '\ud800', 'a\nb', ' ', 'x'.repeat(20)),
  fc.constantFrom('2026-12-01', '2026-02-30', '2024-02-29', '2026-12-01T10:00:00Z', '2026-12-01T10:00:00.5+01:30'),
  fc.constantFrom('2026-12-01T10:00', '2026-12-01T24:00:00Z', 'ann@example.org', 'ann@localhost', 'a..b@example.org'),
  fc.constantFrom(
    'https://example.org/a?b#c',
    'urn:x:y',
    '//example.org',
    'http://[::1]:80/',
    'a b:c',
    'x:%zz',
    'mailto:a@b',
  ),
  fc.string({ maxLength: 5 }),
)
// ajv takes the least numbers for multiples: their quotient is 0.
const numbers = fc.oneof(fc.constantFrom(0, -0, 1, 2, 4, 4.5, -1, 10, 1e15, 5e-300), fc.integer({ min: -20, max: 20 }))
export const scalars: fc.Arbitrary<Scalar> = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null))

/** An object with own fields of any name, also `__proto__`. */
export function objectOf(pairs: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(pairs)
}

const values: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 6, arbitrary: scalars },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(fc.constantFrom(...fieldNames), tie('value')), { maxLength: 4 }).map(objectOf),
    },
  ),
})).value

const count = fc.integer({ min: 0, max: 4 })
const limit = fc.constantFrom(-1, 0, 1, 2, 4, 4.5, 10)
const nullable = (type: string) => fc.constantFrom<unknown>(type, type, [type, 'null'], ['null', type])
const some = { requiredKeys: ['type'] } as { requiredKeys: 'type'[] }

const text = fc.record(
  {
    type: nullable('string'),
    minLength: count,
    maxLength: count,
    format: fc.constantFrom('date', 'date-time', 'uri', 'email'),
    pattern: fc.constantFrom('^a', 'b$', '^[A-Z]{2}-\\d+$', '^.$', '\\s', '^\\p{L}*$', 'a|^$', '[^\\w]'),
    title: fc.constant('A title'),
  },
  some,
)
const number = fc.record(
  {
    type: fc.oneof(nullable('number'), nullable('integer')),
    minimum: limit,
    maximum: limit,
    exclusiveMinimum: limit,
    exclusiveMaximum: limit,
    multipleOf: fc.constantFrom(1, 2, 3, 7),
    'x-unit': fc.constant('g'),
  },
  some,
)
const chosen = fc
  .uniqueArray(scalars, { minLength: 1, maxLength: 5, comparator: 'SameValueZero' })
  .chain((list) => fc.constantFrom({ enum: list }, { const: list[0] }))
const scalar: fc.Arbitrary<object> = fc.oneof(
  text,
  number,
  fc.record({ type: nullable('boolean') }),
  chosen,
  fc.constant({}),
)

const schemas = fc.letrec<{ any: object; list: object; object: object }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 3, arbitrary: scalar },
    { weight: 1, arbitrary: tie('list') },
    { weight: 1, arbitrary: tie('object') },
  ),
  list: fc.oneof(
    fc.record({ type: nullable('array'), items: tie('any'), minItems: count, maxItems: count }, some),
    fc.record({ type: fc.constant('array'), items: fc.oneof(text, number), uniqueItems: fc.constant(true) }),
  ),
  object: fields(tie('any')),
}))

function fields(inner: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc
    .tuple(
      fc.uniqueArray(fc.tuple(fc.constantFrom(...fieldNames), inner), { maxLength: 4, selector: ([name]) => name }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.constantFrom({}, { additionalProperties: false }, { additionalProperties: true }),
    )
    .map(([pairs, isRequired, others]) => {
      const required = pairs.map(([name]) => name).filter((_, n) => isRequired[n])
      return { type: 'object', properties: objectOf(pairs), ...(required.length > 0 && { required }), ...others }
    })
}

/** Schemas of properties. Their limits may contradict each other. */
export const rootSchemas = fields(schemas.any) as fc.Arbitrary<Schema>

/** Values that follow the structure of a schema, but not always its limits. */
export function valuesFor(schema: Schema): fc.Arbitrary<unknown> {
  const types: readonly (string | undefined)[] = [schema.type].flat()
  const likely: fc.Arbitrary<unknown>[] = [fc.constantFrom(...(schema.enum ?? [schema.const ?? 'a']))]
  if (types.includes('string')) likely.push(texts)
  if (types.includes('number') || types.includes('integer')) likely.push(numbers)
  if (types.includes('array')) likely.push(fc.array(valuesFor(schema.items ?? {}), { maxLength: 5 }))
  if (types.includes('object')) {
    const pairs = Object.entries(schema.properties ?? {}).map(([name, inner]) =>
      fc.option(valuesFor(inner), { freq: 4, nil: undefined }).map((value) => [name, value] as const),
    )
    const others = fc.array(fc.tuple(fc.constantFrom('new', ...fieldNames), scalars), { maxLength: 1 })
    return fc
      .tuple(others, fc.tuple(...pairs))
      .map(([more, own]) => objectOf([...more, ...own.filter(([, value]) => value !== undefined)]))
  }
  return fc.oneof({ weight: 5, arbitrary: fc.oneof(...likely) }, { weight: 1, arbitrary: values })
}
