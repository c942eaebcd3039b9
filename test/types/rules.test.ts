/** The rules of a type for a node and for a change of it, compared with their plainest form. */

import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Violation } from '../../server/domain/types/checker.ts'
import type { TypeDefinition } from '../../server/domain/types/definition.ts'
import { OrgTypes } from '../../server/domain/types/org-types.ts'
import {
  endsOfChange,
  endsOfNode,
  findForgottenType,
  judgeChange,
  judgeNode,
  type TypedContent,
} from '../../server/domain/types/rules.ts'
import type { Schema } from '../../server/domain/types/vocabulary.ts'
import { objectOf, rootSchemas, valuesFor } from './arbitraries.ts'

type TypeOf = Parameters<typeof judgeNode>[2]
const typeNames = ['recipe', 'Recipes', 'person', 'Person', 'nobody', undefined, 4]

function typesWith(recipe: Partial<TypeDefinition>, refusesUnknown = false): OrgTypes {
  const definition: TypeDefinition = { title: 'Recipe', enforcement: 'strict', aliases: ['Recipes'], ...recipe }
  const person = { name: 'person', version: 'b', definition: { title: 'Person' } }
  return new OrgTypes([{ name: 'recipe', version: 'a', definition }, person], refusesUnknown)
}

function content(properties: Record<string, unknown>, edges: Partial<TypedContent> = {}): TypedContent {
  return { properties, parents: [], connections: [], ...edges }
}

const ids = ['n1', 'n2', 'n3', 'n4']
const edges = fc.record({
  parents: fc.subarray(ids).map((several) => several.map((id) => ({ id }))),
  connections: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5'),
      target: fc.constantFrom(...ids),
      type: fc.constantFrom('cites', 'needs'),
    }),
    { selector: ({ id }) => id, maxLength: 5 },
  ),
})
const rule = fc.record(
  {
    to: fc.constantFrom(['person'], ['recipe', 'person'], ['recipes'], []),
    min: fc.nat(2),
    max: fc.integer({ min: 1, max: 4 }),
  },
  { requiredKeys: [] },
)
const rules = fc.record(
  {
    connections: fc.dictionary(fc.constantFrom('cites', 'needs'), rule),
    other_connections: fc.boolean(),
    parents: rule.map(({ to, ...others }) => ({ ...others, ...(to && { types: to }) })),
  },
  { requiredKeys: [] },
)
/** The property `type` of other nodes. */
const ends = fc.array(fc.constantFrom('recipe', 'Recipes', 'person', null, undefined), { minLength: 4, maxLength: 4 })

/** A change of a node: properties that follow the schema in part, and edges. */
const changes = rootSchemas.chain((schema) => {
  const contents = fc
    .tuple(valuesFor(schema), fc.constantFrom('recipe', 'recipe', 'recipe', ...typeNames), edges)
    .map(([value, type, more]) =>
      content(
        objectOf([...Object.entries(value as object), ...(type === undefined ? [] : [['type', type] as const])]),
        more,
      ),
    )
  // Many changes keep most properties.
  const isKept = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 10, maxLength: 10 })
  return fc.tuple(contents, contents, isKept).map(([before, after, kept]) => {
    const same = Object.entries(before.properties).filter((_, n) => kept[n] !== 0)
    const { parents, connections } = kept[9] === 0 ? after : before
    return [
      schema,
      before,
      { parents, connections, properties: objectOf([...Object.entries(after.properties), ...same]) },
    ] as const
  })
})

/** How much a violation breaks its rule: the items beyond a limit, which its sentence names, or the edges. */
function excessOf({ rule, path, msg }: Violation, { connections }: TypedContent): number {
  if (rule === 'other_connections') return connections.filter(({ type }) => path === `connections.${type}`).length
  if (!['minItems', 'maxItems', 'min', 'max'].includes(rule)) return 1
  const [, limit = 0, has = 0] = (/ (\d+) \w+; .* has (\d+)$/.exec(msg) ?? []).map(Number)
  return Math.abs(limit - has)
}

/** Counts violations by their place in the definition: without indexes, and without names that the schema lacks. */
function countPlaces(types: OrgTypes, node: TypedContent): Map<string, number> {
  const counts = new Map<string, number>()
  for (const violation of judgeNode(types, node, () => undefined).violations) {
    const { rule, path } = violation
    const named = rule === 'additionalProperties' ? path.replace(/(\.[^.[\]"]+|\["(?:[^"\\]|\\.)*"\])$/, '') : path
    const place = `${rule} ${named.replaceAll(/\[\d+\]/g, '[]')}`
    counts.set(place, (counts.get(place) ?? 0) + excessOf(violation, node))
  }
  return counts
}

const isEnd = ({ rule }: Violation) => rule === 'to' || rule === 'types'

/** True if some place has more violations after than before. Edges count if they are new. */
function isRefusedPlainly(
  types: OrgTypes,
  before: TypedContent | undefined,
  after: TypedContent,
  typeOf: TypeOf,
): boolean {
  const nameOf = (node?: TypedContent) =>
    JSON.stringify(node?.properties.type ?? 0)
      .toLowerCase()
      .replaceAll('"', '')
      .replace(/^recipes$/, 'recipe')
  if (nameOf(after) !== 'recipe') return false
  const known = nameOf(before) === 'recipe' ? before : undefined
  const isKnown = (edge: object) =>
    [...(known?.connections ?? []), ...(known?.parents ?? [])].some((one) => isDeepStrictEqual({ ...one }, { ...edge }))
  const fresh = content(after.properties, {
    parents: after.parents.filter((edge) => !isKnown(edge)),
    connections: after.connections.filter((edge) => !isKnown(edge)),
  })
  if (judgeNode(types, fresh, typeOf).violations.some(isEnd)) return true
  const counts = known ? countPlaces(types, known) : new Map<string, number>()
  return [...countPlaces(types, after)].some(([place, count]) => count > (counts.get(place) ?? 0))
}

describe('rules of a type', () => {
  it.deep('refuse a change that breaks more than before, and no other', () => {
    const verdicts = { refused: 0, kept: 0, clean: 0 }
    fc.assert(
      fc.property(changes, rules, ends, fc.nat(3), ([schema, before, after], more, texts, isNew) => {
        const types = typesWith({ schema, ...(more as Partial<TypeDefinition>) })
        const typeOf: TypeOf = (id) => texts[ids.indexOf(id)]
        const known = isNew === 0 ? undefined : before
        const { type, violations } = judgeChange(types, known, after, typeOf)
        const isRefused = isRefusedPlainly(types, known, after, typeOf)
        expect(violations.length > 0).to.equal(isRefused)
        const all = judgeNode(types, after, typeOf).violations
        for (const violation of violations) expect(all).to.deep.include(violation)
        if (isRefused) verdicts.refused++
        else if (type?.name === 'recipe' && all.length > 0) verdicts.kept++
        else if (type?.name === 'recipe') verdicts.clean++
        // Only these nodes are looked up.
        const looked = new Set(endsOfChange(types, known, after))
        const some: TypeOf = (id) => (looked.has(id) ? typeOf(id) : expect.fail(`${id} is looked up`))
        expect(judgeChange(types, known, after, some).violations).to.deep.equal(violations)
      }),
      { numRuns: 1_000 },
    )
    for (const [verdict, count] of Object.entries(verdicts)) expect(count, verdict).to.be.above(5)
  })

  it('judge a new node as a whole, and allow each node to stay', () => {
    fc.assert(
      fc.property(changes, rules, ends, ([schema, , node], more, texts) => {
        const types = typesWith({ schema, ...(more as Partial<TypeDefinition>) })
        const typeOf: TypeOf = (id) => texts[ids.indexOf(id)]
        const all = judgeNode(types, node, typeOf)
        expect(judgeChange(types, undefined, node, typeOf).violations).to.deep.equal(
          all.type?.name === 'recipe' ? all.violations : [],
        )
        expect(judgeChange(types, node, node, typeOf).violations).to.deep.equal([])
        const looked = new Set(endsOfNode(types, node))
        const some: TypeOf = (id) => (looked.has(id) ? typeOf(id) : expect.fail(`${id} is looked up`))
        expect(judgeNode(types, node, some)).to.deep.equal(all)
      }),
      { numRuns: 1_000 },
    )
  })

  it('count an item that moves as the same, and word only the new one', () => {
    const item = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } as const
    const types = typesWith({ schema: { properties: { steps: { type: 'array', items: item, maxItems: 2 } } } })
    const judge = (before: unknown[], after: unknown[]) =>
      judgeChange(
        types,
        content({ type: 'recipe', steps: before }),
        content({ type: 'recipe', steps: after }),
        () => null,
      ).violations.map(({ msg }) => msg)
    expect(judge([{ name: 1 }, { name: 'a' }, {}], [{}, { name: 'b' }, { name: 1 }])).to.deep.equal([])
    expect(judge([{ name: 1 }, { name: 2 }, {}], [{ name: 2 }, {}])).to.deep.equal([])
    expect(judge([{ name: 1 }, { name: 'a' }], [{ name: 2 }, { name: 1 }])).to.deep.equal([
      'properties.steps[0].name must be a text; it is the number 2',
    ])
    expect(
      judge(
        [{ name: 'a' }, { name: 'a' }, { name: 'a' }],
        [...Array(4)].map(() => ({ name: 'a' })),
      ),
    ).to.deep.equal(['properties.steps must have at most 2 items; it has 4'])
  })

  it('list at most 100 violations, and still count all', () => {
    const schema: Schema = { properties: { list: { type: 'array', items: { type: 'string' } } } }
    const types = typesWith({ schema })
    const node = (length: number) => content({ type: 'recipe', list: Array.from({ length }, (_, n) => n) })
    expect(judgeNode(types, node(5_000), () => null).violations).to.have.length(100)
    expect(judgeChange(types, node(5_000), node(4_999), () => null).violations).to.deep.equal([])
    expect(judgeChange(types, node(5_000), node(5_001), () => null).violations).to.deep.equal([
      {
        path: 'properties.list[5000]',
        pointer: '/properties/list/5000',
        rule: 'type',
        msg: 'properties.list[5000] must be a text; it is the number 5000',
      },
    ])
  })

  it('name the node at the other end of an edge, and what is right', () => {
    const types = typesWith({
      connections: { written_by: { to: ['person'], min: 1, max: 1 } },
      other_connections: false,
      parents: { types: ['recipe'], max: 1 },
    })
    const texts: Record<string, string | null> = { n1: 'Recipes', n2: null, n3: 'Person' }
    const judge = (connections: TypedContent['connections'], parents: TypedContent['parents'] = []) =>
      judgeNode(types, content({ type: 'RECIPE' }, { connections, parents }), (id) => texts[id]).violations.map(
        ({ msg }) => msg,
      )
    expect(judge([{ id: 'c1', type: 'written_by', target: 'n3' }], [{ id: 'n1' }])).to.deep.equal([])
    expect(judge([{ id: 'c1', type: 'cites', target: 'n3' }], [{ id: 'n2' }, { id: 'n4' }])).to.deep.equal([
      'connections.written_by must have at least 1 connection; the node has 0',
      'parents must have at most 1 parent; the node has 2',
      'connections.cites is not allowed: it must be "written_by"; the node has 1',
      'parents must have nodes of type "recipe" at the other end; parent n2 is a node without a type',
    ])
    expect(judge([{ id: 'c1', type: 'written_by', target: 'n1' }])).to.deep.equal([
      'connections.written_by must have nodes of type "person" at the other end; connection c1 leads to a node of type "Recipes"',
    ])
  })

  it('refuse a type that nobody defined, if it is new at the node', () => {
    const judge = (before: string | undefined, after: string, refuses = true) => {
      const known = before === undefined ? undefined : content({ type: before })
      return judgeChange(typesWith({}, refuses), known, content({ type: after }), () => null).violations.map(
        ({ msg }) => msg,
      )
    }
    expect(judge(undefined, 'recipie')).to.deep.equal([
      'properties.type must be the name of a type; "recipie" is not one; did you mean "recipe"?',
    ])
    expect(judge('book', 'film')).to.deep.equal([
      'properties.type must be the name of a type; "film" is not one: "recipe" or "person"',
    ])
    expect(judge('book', 'Book')).to.deep.equal([])
    expect(judge(undefined, 'recipie', false)).to.deep.equal([])
  })

  it('refuse to forget the type, and allow to leave it', () => {
    const forgotten = (before: unknown, sent: Record<string, unknown>) =>
      findForgottenType(typesWith({}), { type: before }, sent)?.msg
    expect(forgotten('Recipes', { serves: 1 })).to.equal(
      'properties.type is missing; send "Recipes" to keep the type, or null to leave it',
    )
    expect(forgotten('Recipes', { type: null })).to.equal(undefined)
    expect(forgotten('person', {})).to.equal(undefined)
    expect(forgotten(null, {})).to.equal(undefined)
  })

  it('find a type by its name before an alias, and say who has an alias', () => {
    const types = new OrgTypes(
      [
        { name: 'book', version: 'a', definition: { title: 'Book', aliases: ['Straße', 'film', 'volume'] } },
        { name: 'film', version: 'b', definition: { title: 'Film', aliases: ['VOLUME'] } },
      ],
      false,
    )
    expect(['STRASSE', 'Film', 'volume', 'x', '__proto__'].map((text) => types.find(text)?.name)).to.deep.equal([
      ...['book', 'film', 'book', undefined, undefined],
    ])
    expect(types.aliasProblem('film', 'Volume')).to.equal('"Volume" already stands for the type "book"')
    expect(types.aliasProblem('book', 'strasse')).to.equal(undefined)
  })
})
