/** The events that `grove events --derive` finds in Git. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { grove as runGrove } from '../support/command.ts'
import { converse } from '../support/conversation.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { readLog } from './log-rows.ts'

describe('derived events', () => {
  let grove: Grove
  let ann: PersonClient

  before(async () => {
    grove = await startGrove({ sweeps: false })
    ann = await signUp(grove, 'Ann')
    const bob = await signUp(grove, 'Bob')
    await ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'editor' }).then(expecting(200))
    const node = await newNode(grove, ann)
    await node.proposal('draft')
    const { number } = await node.open('draft')
    await converse(`${node.at}/pull-requests/${number}`, ann, bob)
    await made(bob.put(`${node.at}/checks/${node.git.head('draft')}/links`, { state: 'success' }))
    await made(ann.patch(`/orgs/${ann.org}`, { name: 'Sea' }))
  })
  after(() => grove.close())

  it('are those of the log with the same ids, but for moves of refs', async () => {
    const { code, stdout, stderr } = await runGrove(grove.dataDir, 'events', ann.org, '--derive')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const derived = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const isOfRefs = ({ type }: { readonly type: string }) =>
      /^(log|branch|tag)\./.test(type) || type === 'node.updated' || type === 'pull_request.updated'
    const logged = readLog(grove, ann.org).filter((event) => !isOfRefs(event))
    expect(derived.map(({ id }) => id)).to.have.members(logged.map(({ id }) => id))
    const times = derived.map(({ time }) => time)
    expect(times).to.deep.equal([...times].sort())
    expect(derived.some((event) => 'seq' in event)).to.equal(false)
  })

  it('need the option', async () => {
    const { code, stderr } = await runGrove(grove.dataDir, 'events', ann.org)
    expect({ code, says: stderr.includes('--derive') }).to.deep.equal({ code: 2, says: true })
  })
})
