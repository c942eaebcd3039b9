/** A process that has no room for another stream. Thousands would be needed over HTTP. */
import { expect } from 'chai'
import { admitStream } from '../../server/domain/events/open-streams.ts'

type Services = Parameters<typeof admitStream>[0]

describe('a process full of streams', () => {
  /** Addresses of the open streams, oldest first, of a process that has room for eight. */
  function newProcess() {
    const open: string[] = []
    const deps = {
      ...{ events: {}, draining: new AbortController().signal },
      ...{ metrics: { eventStreams: { set: () => {} } }, rounds: { add: () => {} } },
    } as unknown as Services // only what it reads
    let people = 0
    const enter = (from: string) => {
      const name = `${from}${++people}`
      const leave = admitStream(deps, {
        ...{ personId: name, orgId: name, from, files: 8, isWaiting: () => true },
        end: () => {
          open.splice(open.indexOf(name), 1)
          leave()
        },
      })
      open.push(name)
    }
    return { open, enter }
  }

  it('ends the oldest one of the address that has the most, for another address', () => {
    const { open, enter } = newProcess()
    for (const from of 'baaaaaaa') enter(from)
    expect(() => enter('a')).to.throw('too many open streams')
    for (const from of 'cbc') enter(from)
    expect(open).to.deep.equal(['b1', 'a5', 'a6', 'a7', 'a8', 'c10', 'b11', 'c12'])
  })

  it('refuses an address that would have as many as any other', () => {
    const { open, enter } = newProcess()
    for (const from of 'aaabbbcc') enter(from)
    for (const from of 'abc') expect(() => enter(from)).to.throw('too many open streams')
    enter('d')
    expect(open).to.deep.equal(['a2', 'a3', 'b4', 'b5', 'b6', 'c7', 'c8', 'd12'])
  })
})
