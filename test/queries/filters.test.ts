/** Filters, sorts and facets of columns, and the match of one node, against their plainest form. */
import { expect } from 'chai'
import fc from 'fast-check'
import { facetOf } from '../../index/properties/facets.ts'
import { type Filter, FilterError, readFilter, type Subject } from '../../index/properties/filter.ts'
import { columnSubjects, type EdgeRows, maskOf } from '../../index/properties/masks.ts'
import { type EdgeFacts, matchOf } from '../../index/properties/matching.ts'
import { sortedRows } from '../../index/properties/sorting.ts'
import { PropertyTable } from '../../index/properties/table.ts'
import { parseTextFilter } from '../../index/properties/text-filter.ts'
import { runs } from '../support/seed.ts'
import { filtersWith, nodesWith, sorts, subjects } from './arbitraries.ts'
import { facet, matches, type PlainNode, type PlainSort, sorted } from './naive.ts'

const ids = Array.from({ length: 12 }, (_, n) => `node-${String(n).padStart(2, '0')}`)
const nodes = nodesWith(ids)
const filters = filtersWith(ids)

/** A change of one node: new content, or its deletion. */
const edits = fc.array(fc.tuple(fc.nat(ids.length - 1), fc.option(nodes, { freq: 4 })), { maxLength: 30 })

class Scene {
  readonly plain = new Map<string, PlainNode>()
  readonly table = new PropertyTable('epoch')
  version = 0

  apply(index: number, content: Omit<PlainNode, 'id'> | null): void {
    const id = ids[index] ?? ''
    this.version++
    if (content === null) {
      this.plain.delete(id)
      this.table.remove(id)
      return
    }
    // A node keeps the time of its creation.
    const created_at = this.plain.get(id)?.created_at ?? content.created_at
    this.plain.set(id, { ...content, id, created_at })
    this.changed.set(id, this.version)
  }

  readonly changed = new Map<string, number>()

  /** Brings the table and these columns up to date, as the service does. */
  catchUp(wanted: readonly Subject[]): void {
    const columns = this.table.columnsOf(wanted)
    const rows = [...this.plain.values()].sort((a, b) => (this.changed.get(a.id) ?? 0) - (this.changed.get(b.id) ?? 0))
    for (const node of rows) this.table.set(node, this.changed.get(node.id) ?? 0, columns)
  }

  get nodes(): PlainNode[] {
    return [...this.plain.values()]
  }

  readonly edges: EdgeRows & EdgeFacts = {
    childrenOf: (parent) => this.nodes.filter(({ parents }) => parents.includes(parent)).map(({ id }) => id),
    under: (ancestor) =>
      this.nodes
        .filter((node) => matches({ field: 'under', op: 'eq', value: ancestor }, node, this.nodes))
        .map(({ id }) => id),
    connected: (type, target) =>
      this.nodes
        .filter(({ connections }) =>
          connections.some((one) => one.type === type && (target === undefined || one.target === target)),
        )
        .map(({ id }) => id),
    hasParent: (id, parent) => [...this.edges.childrenOf(parent)].includes(id),
    isUnder: (id, ancestor) => [...this.edges.under(ancestor)].includes(id),
    isConnected: (id, type, target) => [...this.edges.connected(type, target)].includes(id),
  }
}

function sceneAfter(
  changes: readonly (readonly [number, Omit<PlainNode, 'id'> | null])[],
  asked: readonly Subject[],
): Scene {
  const scene = new Scene()
  for (const [n, [index, content]] of changes.entries()) {
    scene.apply(index, content)
    // Columns that exist already catch up later; others are made from the start.
    if (n % 7 === 3) scene.catchUp(asked)
    if (n % 11 === 5) for (const column of scene.table.columnsOf(asked)) column.keys(scene.table.size, false)
  }
  return scene
}

describe('filters of nodes', () => {
  it('hold for the nodes of the plain form, by columns and for one node', () => {
    fc.assert(
      fc.property(edits, filters, (changes, filter) => {
        const wanted = columnSubjects(filter)
        const scene = sceneAfter(changes, wanted)
        scene.catchUp(wanted)
        const expected = scene.nodes.filter((node) => matches(filter, node, scene.nodes)).map(({ id }) => id)
        const mask = maskOf(scene.table, filter, scene.edges)
        expect(scene.table.ids.filter((_, row) => mask[row] === 1)).to.have.members(expected)
        const match = matchOf(filter)
        expect(scene.nodes.filter((node) => match(node, scene.edges)).map(({ id }) => id)).to.deep.equal(expected)
        const others = maskOf(scene.table, { not: filter }, scene.edges)
        expect(mask.reduce((sum, one, row) => sum + one + (others[row] ?? 0), 0)).to.equal(scene.plain.size)
      }),
      { numRuns: runs(1_000) },
    )
  })

  it('list in the order of the plain form, at any offset', () => {
    fc.assert(
      fc.property(edits, sorts, fc.nat(12), fc.nat(12), (changes, keys, from, length) => {
        const wanted = keys.map(([subject]) => subject)
        const scene = sceneAfter(changes, wanted)
        scene.catchUp(wanted)
        const sort = keys.map(([by, desc]) => ({ by, desc }) as PlainSort)
        const expected = sorted(scene.nodes, sort).map(({ id }) => id)
        const rows = sortedRows(
          ...[scene.table, scene.table.live()],
          keys.map(([subject, isDescending]) => ({ subject, isDescending })),
          { from, to: from + length },
        )
        expect(rows.map((row) => scene.table.ids[row])).to.deep.equal(expected.slice(from, from + length))
      }),
      { numRuns: 1_000 },
    )
  })

  it('count values as the plain form does', () => {
    fc.assert(
      fc.property(edits, subjects, fc.integer({ min: 1, max: 20 }), (changes, subject, limit) => {
        const scene = sceneAfter(changes, [subject])
        scene.catchUp([subject])
        const { values, missing, more } = facetOf(scene.table, scene.table.live(), { subject, limit })
        const expected = facet(scene.nodes, subject as PlainSort['by'])
        expect(missing).to.equal(expected.missing)
        expect(values.length + more).to.equal(expected.counts.size)
        for (const { value, count } of values) expect(expected.counts.get(value), String(value)).to.equal(count)
        const least = values.at(-1)?.count ?? 0
        for (const [value, count] of expected.counts)
          if (!values.some((one) => Object.is(one.value, value))) expect(count).to.be.at.most(least)
      }),
      { numRuns: 500 },
    )
  })

  it('are the same as JSON that was read', () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const levels = (one: Filter): number =>
          'all' in one
            ? 1 + Math.max(0, ...one.all.map(levels))
            : 'any' in one
              ? 1 + Math.max(0, ...one.any.map(levels))
              : 'not' in one
                ? 1 + levels(one.not)
                : 0
        const read = () => readFilter(JSON.parse(JSON.stringify(filter)))
        if (levels(filter) > 4) expect(read).to.throw(FilterError)
        else expect(read()).to.deep.equal(JSON.parse(JSON.stringify(filter)))
      }),
    )
  })

  it('are never read in another way than a filter or a FilterError, from any JSON and any text', () => {
    const attempt = (read: () => Filter) => {
      try {
        read()
      } catch (error) {
        expect(error).to.be.instanceOf(FilterError)
      }
    }
    fc.assert(fc.property(fc.jsonValue(), (value) => attempt(() => readFilter(value))))
    const words = fc.constantFrom(
      'type',
      ':',
      '=',
      '!=',
      '<',
      '<=',
      '>',
      '>=',
      '~',
      '-',
      '(',
      ')',
      'OR',
      ' ',
      '"',
      ',',
      '*',
      '.',
      '->',
      'a',
      '4',
      'today',
      '2026-12-01',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string({ maxLength: 3 })), { maxLength: 30 }), (parts) =>
        attempt(() => parseTextFilter(parts.join(''), '2026-12-01')),
      ),
      { numRuns: 2_000 },
    )
  })
})
