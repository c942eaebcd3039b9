/** Proposals of a contributor's model: from branches of the contributor's own, with any token. */

import { expect } from 'chai'
import { made, makeNode, prefixOf } from '../support/cast.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { ann, connectHttp, connectStdio, grove, tokenOf, useScene } from './scene.ts'

describe('a model with the token of a contributor', () => {
  useScene()

  let cy: PersonClient

  before(async () => {
    cy = await signUp(grove, 'Cy')
    await made(ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'contributor' }))
  })

  for (const [door, connect] of [
    ['HTTP', connectHttp],
    ['standard input', connectStdio],
  ] as const)
    for (const limited of [false, true])
      it.deep(
        `proposes over ${door}${limited ? ', where it reaches one node,' : ''} and finds that again`,
        async () => {
          const org_id = ann.org
          const node_id = await makeNode({ org: org_id, owner: ann })
          const model = await connect(await tokenOf('write', limited ? { org_id, node_id } : {}, cy))
          const change = {
            org_id,
            node_id,
            title: 'Air',
            changes: [{ path: 'content.md', content: 'They breathe.\n' }],
          }
          const answer = await model.ask('propose_change', change)
          expect(await model.ask('propose_change', change)).to.equal(answer)
          const { pull_requests, total } = await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/pull-requests`))
          expect(total).to.equal(1)
          expect(pull_requests[0]).to.include({ author: 'Cy', can_merge: true })
          expect(pull_requests[0].source_branch).to.match(new RegExp(`^${prefixOf(cy)}agent/[0-9a-f]{12}$`))
          expect(answer).to.include(`Branch ${pull_requests[0].source_branch}, commit `)
        },
      )

  it('is refused a change that cannot be proposed, and leaves no branch', async () => {
    const org_id = ann.org
    const node_id = await makeNode({ org: org_id, owner: ann })
    const model = await connectHttp(await tokenOf('write', {}, cy))
    const same = [{ path: 'content.md', content: 'Whales are mammals.' }]
    const refused = await model.refused('propose_change', { org_id, node_id, title: 'Air', changes: same })
    expect(refused).to.match(/^409 no_changes/)
    expect((await made(ann.get(`/orgs/${org_id}/nodes/${node_id}/branches`))).total).to.equal(1)
    expect(await model.refused('create_node', { org_id, title: 'Krill' })).to.match(/^403 forbidden/)
  })
})
