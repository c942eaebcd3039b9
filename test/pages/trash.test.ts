/** The trash where a rule guards pages, without script. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, valueIn, visitOf } from './forms.ts'

describe('the trash of an organisation with a rule', () => {
  const { grove, ann, cy, eve } = useWorld({ ann: 'owner', cy: 'contributor', eve: 'reader' })
  let id = ''
  let trash = ''

  before(async () => {
    id = (await ann.post(`/orgs/${ann.org}/nodes`, { title: 'Old whales' }).then(expecting(201))).body.id
    trash = `${pageAt(ann.org)}/trash`
  })

  it('is for maintainers, as a page says that is deleted', async () => {
    const settingsFor = async (person: PersonClient) =>
      (await (await visitOf(grove, person)).open(`${pageAt(ann.org, id)}/settings`)).body.replaceAll(/\s+/g, ' ')
    expect(await settingsFor(cy)).to.include('Maintainers can restore it from there')
    expect(await settingsFor(ann)).to.include('You can restore it from there')
    await ann.delete(`/orgs/${ann.org}/nodes/${id}`).then(expecting(204))
    const shownTo = async (person: PersonClient) => (await visitOf(grove, person)).open(pageAt(ann.org, id))
    const [gone, other] = [await shownTo(ann), await shownTo(eve)]
    expect([gone.status, other.status]).to.deep.equal([404, 404])
    expect(mainOf(gone)).to.match(/href="[^"]*\/trash"/)
    expect(mainOf(other)).to.not.include('/trash"')
  })

  it('offers to propose what a rule refuses to restore', async () => {
    await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: ['main'], approvals: 1 }] }).then(expecting(200))
    const visit = await visitOf(grove, ann)
    const form = await visit.open(trash)
    const fields = { node: id, deleted_at: valueIn(form, 'deleted_at') ?? '', title: 'Old whales' }
    const refused = await visit.send(trash, { ...fields, act: 'restore' })
    expect(refused.status).to.equal(409)
    expect(mainOf(refused)).to.match(/role="alert">\s*“Old whales” [^<]*proposal/)
    expect(mainOf(refused))
      .to.include('Propose to restore: Old whales')
      .and.not.match(/change set| to POST |pull request/)
    const [status, to = ''] = ledTo(await visit.send(trash, { ...fields, act: 'propose' }))
    expect([status, to]).to.deep.equal([303, `${pageAt(ann.org)}/proposals/1`])
    const main = mainOf(await visit.open(to))
    expect(main).to.include('Restore Old whales').and.include('Restored page')
  })
})
