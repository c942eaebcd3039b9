/** Definitions and nodes that are made to take long, or to reach what is not theirs. */

import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { parseDefinition, type TypeDefinition } from '../../server/domain/types/definition.ts'
import { OrgTypes } from '../../server/domain/types/org-types.ts'
import { judgeNode } from '../../server/domain/types/rules.ts'

function definitionOf(schema: string): TypeDefinition {
  const read = parseDefinition(`{"title":"A","schema":${schema}}`)
  if ('faults' in read) throw new Error(read.faults.map(({ msg }) => msg).join('\n'))
  return read.definition
}

/** The sentences of the violations of a node with these properties, as JSON. */
function violationsOf(schema: string, properties: string): string[] {
  const types = new OrgTypes([{ name: 'a', version: '1', definition: definitionOf(schema) }], false)
  const node = { properties: { ...JSON.parse(properties), type: 'a' }, parents: [], connections: [] }
  return judgeNode(types, node, () => undefined).violations.map(({ msg }) => msg)
}

/** Returns a function that collects garbage. */
function newCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

const field = (schema: object) => JSON.stringify({ properties: { a: schema } })

describe('hostile types', () => {
  it('have patterns that JavaScript would match in exponential time', () => {
    for (const pattern of [
      '^(a+)+$',
      '^(a|a)*$',
      '^(a*)*$',
      '^(?:a?){80}a{80}$',
      '(.*.*.*)*x',
      '^([a-z]|\\w|a)+!!$',
      '^(?:\\b|\\B|\\p{L}?){15}[xy]$',
    ]) {
      const text = `${'a'.repeat(999)}!`
      expect(violationsOf(field({ pattern }), JSON.stringify({ a: text }))[0], pattern).to.include(
        'must match the pattern',
      )
    }
  })

  it('treat `__proto__` as any other name', () => {
    const schema =
      '{"required":["__proto__"],"properties":{"__proto__":{"properties":{"__proto__":{"type":"integer"}}}}}'
    expect(violationsOf(schema, '{}')).to.deep.equal(['properties.__proto__ is missing'])
    expect(violationsOf(schema, '{"__proto__":{"__proto__":"x"}}')).to.deep.equal([
      'properties.__proto__.__proto__ must be a whole number; it is the text "x"',
    ])
    expect(
      violationsOf('{"additionalProperties":false,"properties":{"a":{}}}', '{"__proto__":1,"constructor":1}'),
    ).to.have.length(2)
    expect(violationsOf('{"properties":{"constructor":{"type":"string"}}}', '{"constructor":1}')).to.have.length(1)
    expect(Object.keys(Object.prototype)).to.deep.equal([])
  })

  it('word texts that cannot be written', () => {
    const [msg = ''] = violationsOf(field({ type: 'integer' }), '{"a":"\\ud800\\u202e\\n"}')
    expect(msg).to.equal('properties.a must be a whole number; it is the text "\\ud800\u202e\\n"')
    const long = violationsOf(field({ type: 'integer' }), JSON.stringify({ a: 'x'.repeat(60_000) }))
    expect(long[0]).to.have.length.below(200)
    const names = violationsOf(
      '{"additionalProperties":false}',
      JSON.stringify({ ['y'.repeat(60_000)]: 1, '\ud800': 1 }),
    )
    expect(names.map(({ length }) => length < 300)).to.deep.equal([true, true])
  })

  it('count what is wide, and read nothing below the schema', () => {
    const wide = JSON.stringify({ a: Array.from({ length: 30_000 }, (_, n) => n) })
    const values = Array.from({ length: 200 }, (_, n) => `v${n}`)
    expect(violationsOf(field({ type: 'array', items: { enum: values } }), wide)).to.have.length(100)
    expect(violationsOf(field({ type: 'array', items: { type: 'integer' }, uniqueItems: true }), wide)).to.deep.equal(
      [],
    )
    const deep = `{"a":${'['.repeat(90)}${']'.repeat(90)}}`
    expect(
      violationsOf(field({ type: 'array', items: { type: 'array', items: { type: 'array' } } }), deep),
    ).to.deep.equal([])
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, n])))
    expect(violationsOf('{"additionalProperties":false}', many)).to.have.length(100)
  })

  it('have a bound for all texts of a node together', () => {
    const schema = field({ type: 'array', items: { type: 'string', pattern: '^(?:.?){120}$' } })
    const long = violationsOf(schema, JSON.stringify({ a: Array.from({ length: 20 }, () => 'x'.repeat(100)) }))
    expect(long).to.deep.equal(
      Array.from(
        { length: 10 },
        (_, n) =>
          `properties.a[${n + 10}] is too long for its pattern: the texts before it took all the time for patterns`,
      ),
    )
    const empty = violationsOf(schema, JSON.stringify({ a: Array.from({ length: 20_000 }, () => '') }))
    expect(empty).to.have.length(100)
  })

  it.deep('keep no memory of the texts that they compare', () => {
    const collect = newCollector()
    const use = (pattern: string) => {
      for (let n = 0; n < 20; n++) {
        const bits = createHash('sha512').update(`${n}`).digest('hex').repeat(7)
        const a = [...bits].map((one) => (one < '8' ? 'a' : 'b')).join('')
        violationsOf(field({ pattern }), JSON.stringify({ a }))
      }
      collect()
      return process.memoryUsage().heapUsed
    }
    // Each character of these texts leads to another set of states.
    const before = use('[ab]*a[ab]{200}[cd]$')
    expect(use('[ab]*a[ab]{199}[cd]$') - before).to.be.below(2_000_000)
  })

  it.deep('have patterns that take little memory, with the largest sets of characters', () => {
    const collect = newCollector()
    const use = (from: number, to: number) => {
      for (let n = from; n < to; n++)
        violationsOf(field({ pattern: `^[^\\p{L}${String.fromCharCode(0x3400 + n)}]{0,47}x$` }), '{"a":"-x"}')
      collect()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = use(0, 10)
    expect(use(10, 110) - before).to.be.below(10_000_000)
  })

  it.deep('leave no memory behind', () => {
    const collect = newCollector()
    const use = (from: number, to: number) => {
      for (let n = from; n < to; n++)
        violationsOf(
          JSON.stringify({ properties: { a: { pattern: `^[a-z${n}]{1,9}x${n}$` }, [`f${n}`]: { enum: [n, 'x'] } } }),
          `{"a":"abc","f${n}":1}`,
        )
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = use(0, 2_000)
    expect(use(2_000, 10_000) - before).to.be.below(4_000_000)
  })
})
