/** The same call of a tool, several times at once. */

import { expect } from 'chai'
import { made, makeNode } from '../support/cast.ts'
import { ann, connectHttp, connectStdio, tokenOf, useScene } from './scene.ts'

/** How many at once. */
const calls = 6

const doors = [
  ['HTTP', connectHttp, 2],
  ['standard input', connectStdio, 1],
] as const

describe('the same proposal, six times at once', () => {
  useScene()

  for (const [door, connect, rounds] of doors)
    it(`has one effect, or is refused each time for the same reason, over ${door}`, async () => {
      const org_id = ann.org
      const model = await connect(await tokenOf('write'))
      const all = (call: () => Promise<string>) => Promise.all(Array.from({ length: calls }, call))
      for (let round = 0; round < rounds; round++) {
        const node_id = await makeNode({ org: org_id, owner: ann })
        const at = `/orgs/${org_id}/nodes/${node_id}`
        const propose = (content: string) => ({
          org_id,
          node_id,
          title: 'Air',
          changes: [{ path: 'content.md', content }],
        })
        const opened = await all(() => model.ask('propose_change', propose('Whales breathe air.\n')))
        expect(new Set(opened).size).to.equal(1)
        expect(opened[0]).to.include('Proposal 1 of').and.to.include('can_merge: true')
        const same = await all(() => model.refused('propose_change', propose('Whales are mammals.')))
        for (const refused of same) expect(refused).to.match(/^409 no_changes: /)
        const target = '00000000-0000-4000-8000-000000000000'
        const connected = await all(() => model.refused('connect', { org_id, node_id, target }))
        for (const refused of connected) expect(refused).to.match(/^409 invalid_content: /)
        const { pull_requests } = await made(ann.get(`${at}/pull-requests?status=all`))
        expect(pull_requests.map(({ status }: { status: string }) => status)).to.deep.equal(['open'])
        expect((await made(ann.get(`${at}/branches`))).total, 'main and that of the proposal').to.equal(2)
      }
    })
})
