/** `QUOTA_ORGS` counts the organisations of all cells. */
import { expect } from 'chai'
import { here, signIn, there, useCells } from '../cells/scene.ts'
import { expecting } from '../support/node.ts'
import { signUp } from '../support/people.ts'

describe('the quota of organisations in cells', () => {
  useCells({ quotaOrgs: 3 })

  it('counts those of other cells', async () => {
    const ann = await signUp(here, 'Ann')
    const annThere = await signIn(there, ann)
    await ann.post('/orgs', { name: 'Sea' }).then(expecting(201))
    await annThere.post('/orgs', { name: 'Coast' }).then(expecting(201))
    for (const person of [ann, annThere])
      expect((await person.post('/orgs', { name: 'Reef' }).then(expecting(403))).body).to.include({
        used: 3,
        what: 'orgs',
      })
  })
})
