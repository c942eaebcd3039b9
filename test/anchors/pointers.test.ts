/** JSON pointers, compared with a walk of every value. */

import { expect } from 'chai'
import fc from 'fast-check'
import type { Anchor } from '../../server/domain/format/anchors.ts'
import { parsePointer, rangeOfValue, valueAt } from '../../server/domain/format/json-pointer.ts'
import { newRepository, placeIn, useFolder } from './scene.ts'

/** Every value within, with its pointer. */
function valuesOf(json: unknown, pointer = ''): [pointer: string, value: unknown][] {
  const within = typeof json === 'object' && json !== null ? Object.entries(json) : []
  const inner = within.flatMap(([name, value]) =>
    valuesOf(value, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  )
  return [[pointer, json], ...inner]
}

const name = fc.constantFrom('', 'a', 'b', '0', '1', '/', '~', '~1', 'a"b', '__proto__', 'é')
const jsonArbitrary = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1.5, '', 'a', '{"a": [1]}', ', : \\"'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value
const spaceArbitrary = fc.constantFrom(undefined, 2, '\t', ' \n')

describe('a JSON pointer', () => {
  it('finds every value, and its text', () => {
    fc.assert(
      fc.property(jsonArbitrary, spaceArbitrary, (json, space) => {
        const text = JSON.stringify(json, null, space)
        for (const [pointer, value] of valuesOf(JSON.parse(text))) {
          const steps = parsePointer(pointer) ?? []
          expect(valueAt(JSON.parse(text), steps), pointer).to.deep.equal(value)
          const { from, to } = rangeOfValue(text, steps)
          expect(JSON.parse(text.slice(from, to)), pointer).to.deep.equal(value)
          const around = rangeOfValue(text, [...steps, 'nothing', '0'])
          expect(around, 'the closest value').to.deep.equal({ from, to })
        }
      }),
      { numRuns: 1_000, seed: 8 },
    )
  })

  it('finds the last of two fields with one name', () => {
    const text = '{"a": {"b": 1}, "c": 0, "a": {"d": 2}}'
    const read = (...steps: string[]) => {
      const { from, to } = rangeOfValue(text, steps)
      return text.slice(from, to)
    }
    expect(read('a', 'd')).to.equal('2')
    expect(read('a', 'b')).to.equal('{"d": 2}')
    expect(read('c')).to.equal('0')
  })

  describe('on a later commit', () => {
    useFolder()

    it('is current while the value is the same, and else names the line of the value', async () => {
      const git = newRepository()
      const write = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
      const json = { title: 'A', list: [1, 2], properties: { x: { y: 1, z: 2 }, n: 1 } }
      const other = { list: [1, 3], properties: { n: 1.0, x: { z: 2, y: 1 } }, title: 'B' }
      const first = git.commit({ files: { 'a.json': write(json), 'b.json': write(json), 'c.json': write(json) } })
      const head = git.commit({
        files: { 'a.json': write(other), 'b.json': '{,}\n', 'c.json': null, 'd.json': write({ ...json, title: 'C' }) },
        parents: [first],
      })
      const value = (pointer: string, path = 'a.json'): Anchor => ({ commit: first, path, pointer })
      const near = (first_line: number, path = 'a.json') => ({
        outdated: true,
        near: { commit: head, path, first_line },
      })
      const here = (pointer: string, path = 'a.json') => ({ outdated: false, place: { commit: head, path, pointer } })
      const cases: [Anchor, object][] = [
        [value('/title'), near(13)],
        [value('/list'), near(2)],
        [value('/list/0'), here('/list/0')],
        [value('/list/1'), near(4)],
        [value('/properties'), here('/properties')],
        [value('/properties/x'), here('/properties/x')],
        [value(''), near(1)],
        [value('/title', 'b.json'), near(1, 'b.json')],
        [value('/title', 'c.json'), near(2, 'd.json')],
        [value('/properties/n', 'c.json'), here('/properties/n', 'd.json')],
      ]
      const placed = await placeIn(
        git,
        head,
        cases.map(([anchor]) => anchor),
      )
      for (const [at, [anchor, expected]] of cases.entries())
        expect(placed[at], JSON.stringify(anchor)).to.deep.equal(expected)
    })
  })
})
