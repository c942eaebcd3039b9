/** The fields of MiniSearch that the search reads exist, and have the expected kind. */

import { expect } from 'chai'
import { addLive, createLive, type MemTable, PROBE, requireMembers } from '../../index/search/segments/live-index.ts'

const members = ['_fieldLength', '_idToShortId', '_documentIds', '_index', '_nextId']

describe('the members of MiniSearch that the search reads', () => {
  it('are as the search expects them', () => {
    expect(() => requireMembers(probed())).to.not.throw()
  })

  for (const member of members) {
    it(`refuse a version that lacks ${member}, or has another kind of it`, () => {
      for (const other of [undefined, 7, [], new Map()]) {
        const mini = Object.assign(probed(), { [member]: other })
        expect(() => requireMembers(mini), String(other))
          .to.throw(member)
          .with.property('message')
          .that.includes('Install minisearch 7.2.0')
      }
    })
  }

  it('are all named where several have changed', () => {
    const mini = Object.assign(probed(), { _index: undefined, _nextId: undefined })
    expect(() => requireMembers(mini))
      .to.throw('_index')
      .with.property('message')
      .that.includes('_nextId')
  })
})

function probed(): MemTable['mini'] {
  const live = createLive(1)
  addLive(live, PROBE)
  return live.mini
}
