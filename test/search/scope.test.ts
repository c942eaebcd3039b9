/** The nodes that a scope admits to a search. */

import { expect } from 'chai'
import fc from 'fast-check'
import {
  aQuery,
  aScope,
  ask,
  child,
  edits,
  finalState,
  IDS,
  indexOf,
  link,
  matchesIn,
  nodesIn,
  note,
  perform,
} from './notes.ts'
import { createSearchIndex, type SearchQuestion } from './rows-in-memory.ts'

describe('search: scope', () => {
  const index = indexOf(
    [
      note('root', { text: 'zebra', tags: ['red'], updatedAt: '2026-01-01T00:00:00.000Z' }),
      note('leaf', { text: 'zebra', tags: ['red', 'blue'], updatedAt: '2026-02-01T00:00:00.000Z' }),
      note('twig', { text: 'zebra', updatedAt: '2026-03-01T00:00:00.000Z' }),
      note('other', { text: 'zebra', tags: ['blue'], updatedAt: '2026-04-01T00:00:00.000Z' }),
    ],
    [child('leaf', 'root'), child('twig', 'leaf'), link('root', 'other'), link('other', 'twig', 'knows')],
  )
  const rules: [string, NonNullable<SearchQuestion['scope']>, string[]][] = [
    ['everything without conditions', {}, ['leaf', 'other', 'root', 'twig']],
    ['the listed nodes', { node_ids: ['leaf', 'other', 'nobody'] }, ['leaf', 'other']],
    ['nothing for an empty list of nodes', { node_ids: [] }, []],
    ['a node and its descendants, not its connections', { under: 'root' }, ['leaf', 'root', 'twig']],
    ['nothing under an unknown node', { under: 'nobody' }, []],
    ['nodes with the tag', { tags: ['red'] }, ['leaf', 'root']],
    ['nodes with all of the tags', { tags: ['red', 'blue'] }, ['leaf']],
    ['everything for an empty list of tags', { tags: [] }, ['leaf', 'other', 'root', 'twig']],
    ['what changed after a time, exclusive', { updated_after: '2026-02-01T00:00:00Z' }, ['other', 'twig']],
    ['what changed before a time, exclusive', { updated_before: '2026-02-01T00:00:00Z' }, ['root']],
    ['times with an offset', { updated_before: '2026-02-01T00:30:00+01:00' }, ['root']],
    ['nodes that meet all conditions', { under: 'root', tags: ['red'], node_ids: ['leaf', 'twig'] }, ['leaf']],
    ['all matches whatever the types of connection', { connection_types: [] }, ['leaf', 'other', 'root', 'twig']],
  ]
  for (const [rule, scope, expected] of rules) {
    it(`admits ${rule}`, () => {
      expect(matchesIn(ask(index, 'zebra', { scope })).sort()).to.deep.equal(expected)
    })
  }

  it('bounds the expansion as it bounds the matches', () => {
    const scope = { node_ids: ['root', 'leaf'] }
    expect(nodesIn(ask(index, 'root', { scope, expansion_depth: 'deep' }))).to.deep.equal(['leaf', 'root'])
  })

  it('does not pass through a node outside the scope', () => {
    const scope = { node_ids: ['root', 'twig'] }
    expect(nodesIn(ask(index, 'root', { scope, expansion_depth: 'deep' }))).to.deep.equal(['root'])
  })

  it('follows connections of the given types only, and children all the same', () => {
    const reach = (connection_types: string[]) =>
      nodesIn(ask(index, 'other', { scope: { connection_types }, expansion_depth: 'deep' }))
    expect(reach(['knows'])).to.deep.equal(['leaf', 'other', 'twig'])
    expect(reach(['cites'])).to.deep.equal(['leaf', 'other', 'root'])
    expect(reach([])).to.deep.equal(['other'])
  })

  it('fills top_k with nodes of the scope, however many better ones lie outside', () => {
    const many = Array.from({ length: 200 }, (_, i) => note(`out${i}`, { title: 'zebra zebra' }))
    const crowded = indexOf([...many, note('in', { text: 'one zebra among many words' })])
    expect(matchesIn(ask(crowded, 'zebra', { top_k: 1, scope: { node_ids: ['in'] } }))).to.deep.equal(['in'])
  })

  it.deep('holds in every answer: no node is outside the scope', () => {
    fc.assert(
      fc.property(edits, aQuery, aScope, (done, query, scope) => {
        const random = perform(createSearchIndex(), done)
        const kept = new Map(
          finalState(done, []).flatMap((edit) => (edit.kind === 'document' ? [[edit.document.id, edit.document]] : [])),
        )
        for (const { id } of ask(random, query, { scope, expansion_depth: 'deep' }).nodes) {
          const { tags, updatedAt } = kept.get(id) ?? expect.fail(`${id} is not there`)
          expect(scope.node_ids ?? IDS).to.include(id)
          expect(tags).to.include.members(scope.tags ?? [])
          expect(updatedAt > (scope.updated_after ?? '') && updatedAt < (scope.updated_before ?? '9')).to.equal(true)
        }
      }),
      { numRuns: 200 },
    )
  })
})
