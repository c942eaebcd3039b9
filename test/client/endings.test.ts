/** When a pull request ended and who ended it, as generated clients read it: absent until then, and never null. */

import { expect } from 'chai'
import type { Schemas } from '../../spec/client/client.ts'
import type { components } from '../../spec/types.ts'
import { useWorld } from '../support/world.ts'

const names = ['merged_by', 'merged_by_email', 'merged_at', 'closed_by', 'closed_by_email', 'closed_at'] as const

/** The fields in each type that is generated for a pull request. */
type Ending =
  | Pick<Schemas['PullRequest'], (typeof names)[number]>
  | Pick<Schemas['OrgPull'], (typeof names)[number]>
  | Pick<components['schemas']['PullRequest'], (typeof names)[number]>

const absent: Ending = {}
// @ts-expect-error no generated type lets null in
const withNull: Ending = { merged_at: null }

describe('the end of a pull request', () => {
  const { ann } = useWorld({ ann: 'owner' })

  it('is absent while it is open, and has one form in every answer', async () => {
    const node = await ann.node()
    const path = { org_id: node.org, node_id: node.id, number: 1 }
    await node.proposal('draft')
    const { pr } = await ann.api.openPull({ path, body: { source_branch: 'draft', title: 'Life' } })
    const said = async () => {
      const all = [
        (await ann.api.getPull({ path })).pr,
        ...(await ann.api.listPulls({ path, query: { status: 'all' } })).pull_requests,
        ...(await ann.api.listOrgPulls({ path, query: { status: 'all' } })).pull_requests,
      ]
      expect(all).to.have.length(3)
      const forms = all.map((one) => Object.keys(one).filter((name) => names.includes(name as 'merged_by')))
      for (const one of all) expect(Object.values(one)).to.not.include(null)
      expect(forms.map((form) => form.sort())).to.deep.equal(forms.map(() => forms[0]))
      return forms[0]
    }
    expect(Object.keys(absent)).to.deep.equal(Object.keys(pr).filter((name) => name in withNull))
    expect(await said()).to.deep.equal([])
    await ann.api.updatePull({ path, body: { status: 'closed' } })
    expect(await said()).to.deep.equal(['closed_at', 'closed_by', 'closed_by_email'])
    await ann.api.updatePull({ path, body: { status: 'open' } })
    expect(await said()).to.deep.equal([])
    await ann.api.mergePull({ path, body: {} })
    expect(await said()).to.deep.equal(['merged_at', 'merged_by', 'merged_by_email'])
  })
})
