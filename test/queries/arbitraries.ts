/** Random nodes, filters and sorts, with the values at which rules change. */
import fc from 'fast-check'
import type { Filter, Subject } from '../../index/properties/filter.ts'

const names = ['serves', 'due', 'status', 'type', 'a.b', 'deep', '__proto__', 'toString', 'a\0b']

const texts = fc.oneof(
  fc.constantFrom(
    'done',
    'Done',
    'DONE',
    'dropped',
    'Straße',
    'STRASSE',
    'é',
    'e\u0301',
    'É',
    '4',
    'true',
    '',
    ' ',
    'İ',
  ),
  fc.constantFrom(
    '2026-12-01',
    '2026-12-01T10:00',
    '2026-12-01T23:59:59.9Z',
    '2026-12-02',
    '2026-12-01T23:30:00-02:00',
  ),
  fc.constantFrom(
    '2026-02-30',
    '2026-1-1',
    '2026-12-01T10',
    '0000-01-01',
    '2026-12-01T24:00',
    '\u{10000}',
    '\uffff',
    'a\0',
  ),
  fc.string({ maxLength: 4, unit: 'grapheme' }),
  fc.constantFrom('x'.repeat(1_000), 'x'.repeat(1_001), `${'x'.repeat(1_000)}y`),
)
const scalars = fc.oneof(fc.boolean(), fc.constantFrom(0, -0, 1, 4, 4.5, -1, 1e300, 5e-324, 2 ** 53), texts)
const isOperand = (value: unknown) => typeof value !== 'string' || value.length <= 1_000
/** Values of conditions. */
const operands = scalars.filter(isOperand)
const parts = texts.filter(isOperand)
const json = fc.oneof(
  { weight: 6, arbitrary: scalars },
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(scalars, fc.constant(null), fc.array(scalars, { maxLength: 2 })), { maxLength: 3 }),
  },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('x', 'y'), scalars, { maxKeys: 2 }) },
)
const properties = fc
  .array(fc.tuple(fc.constantFrom(...names), json), { maxLength: 5 })
  .map((pairs) =>
    JSON.parse(`{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`),
  )

const times = fc.constantFrom('2026-12-01T00:00:00.000Z', '2026-12-01T10:00:00.000Z', '2026-12-02T00:00:00.000Z')
/** The content of nodes with these ids. */
export const nodesWith = (ids: readonly string[]) =>
  fc.record({
    title: texts,
    tags: fc.array(fc.constantFrom('sea', 'sea/deep', 'Sea/cold', 'land'), { maxLength: 2 }),
    properties,
    created_at: times,
    updated_at: times,
    parents: fc.subarray([...ids], { maxLength: 2 }),
    connections: fc.array(fc.record({ type: fc.constantFrom('cites', 'needs'), target: fc.constantFrom(...ids) }), {
      maxLength: 2,
    }),
  })

export const subjects: fc.Arbitrary<Subject> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...names).map((property) => ({ property })) },
  { weight: 1, arbitrary: fc.constantFrom(['deep', 'x'], ['serves', 'y']).map((property) => ({ property })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('type', 'title', 'tag', 'id', 'created_at', 'updated_at')
      .map((field) => ({ field }) as Subject),
  },
)
const conditionsWith = (ids: readonly string[]): fc.Arbitrary<Filter> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(subjects, fc.constantFrom('eq', 'ne', 'lt', 'le', 'gt', 'ge', 'is'), operands)
        .map(([subject, op, value]) => ({ ...subject, op, value }) as Filter),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(subjects, fc.constantFrom('in', 'not_in'), fc.array(operands, { minLength: 1, maxLength: 3 }))
        .map(([subject, op, value]) => ({ ...subject, op, value }) as Filter),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(subjects, fc.constantFrom('starts_with', 'contains'), parts)
        .map(([subject, op, value]) => ({ ...subject, op, value }) as Filter),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(subjects, fc.boolean())
        .map(([subject, value]) => ({ ...subject, op: 'exists', value }) as Filter),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('parent', 'under'), fc.constantFrom(...ids))
        .map(([field, value]) => ({ field, op: 'eq', value }) as Filter),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom('cites', 'needs'),
          fc.oneof(
            fc.constantFrom(...ids).map((value) => ({ op: 'eq', value })),
            fc.boolean().map((value) => ({ op: 'exists', value })),
          ),
        )
        .map(([connection, rest]) => ({ connection, ...rest }) as Filter),
    },
  )

/** Filters of the nodes with these ids. */
export const filtersWith = (ids: readonly string[]): fc.Arbitrary<Filter> =>
  fc.letrec<{ filter: Filter }>((tie) => ({
    filter: fc.oneof(
      { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
      conditionsWith(ids),
      fc.array(tie('filter'), { maxLength: 3 }).map((all) => ({ all })),
      fc.array(tie('filter'), { maxLength: 3 }).map((any) => ({ any })),
      tie('filter').map((not) => ({ not })),
    ),
  })).filter

export const sorts = fc.array(fc.tuple(subjects, fc.boolean()), { maxLength: 3 })
