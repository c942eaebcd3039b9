import { expect } from 'chai'
import type { Request } from 'express'
import { note, notesOf, noteWait } from '../../server/http/log/request-notes.ts'
import { forkState, stateOf } from '../../server/http/request-state.ts'

describe('the state of a request', () => {
  it('is one object, which begins empty', () => {
    const req = {} as Request
    expect(stateOf(req)).to.equal(stateOf(req))
    expect(stateOf(req)).to.include({ id: '', context: undefined, isCounted: false, isPacked: false })
    expect(notesOf(req)).to.deep.equal({})
    note(req, { op: 'page' })
    noteWait(req, 2)
    noteWait(req, 3)
    expect(notesOf(req)).to.deep.equal({ op: 'page', wait_ms: 5 })
  })

  it('is not changed by a request that is made from this one', () => {
    const req = {} as Request
    stateOf(req).id = 'first'
    note(req, { op: 'page' })
    const derived: Request = Object.create(req)
    forkState(derived)
    expect(stateOf(derived).id).to.equal('first')
    note(derived, { op: 'getNode', org: 'o' })
    stateOf(derived).isCounted = true
    expect(notesOf(derived)).to.deep.equal({ op: 'getNode', org: 'o' })
    expect(notesOf(req)).to.deep.equal({ op: 'page' })
    expect(stateOf(req).isCounted).to.equal(false)
  })
})
