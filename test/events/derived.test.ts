/** The events that `grove events --derive` finds in Git. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { grove as runGrove } from '../support/command.ts'
import { converse } from '../support/conversation.ts'
import { newNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'
import { readLog } from './log-rows.ts'

describe('derived events', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'editor' }, { sweeps: false })

  before(async () => {
    const node = await newNode(grove, ann)
    await node.proposal('draft')
    const { number } = await node.open('draft')
    await converse(`${node.at}/pull-requests/${number}`, ann, bob)
    await made(bob.put(`${node.at}/checks/${node.git.head('draft')}/links`, { state: 'success' }))
    await made(ann.patch(`/orgs/${ann.org}`, { name: 'Sea' }))
  })

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
