/** The draft proposal of several pages to which a visitor adds pages, without script. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, type Visit, visitOf } from './forms.ts'

const words = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

describe('the draft proposal of a visitor', () => {
  const { grove, ann, cy } = useWorld({ ann: 'owner', cy: 'contributor' })
  const visits = new Map<PersonClient, Visit>()

  before(async () => {
    for (const person of [ann, cy]) visits.set(person, await visitOf(grove, person))
  })

  const visit = (person: PersonClient) => visits.get(person) as Visit // `before` has made it

  it('is in reach of all pages of the organisation', async () => {
    const body = { title: 'The sea', is_draft: true, nodes: [{ title: 'Krill' }] }
    const { body: opened } = await cy.post(`/orgs/${ann.org}/change-sets`, body).then(expecting(201))
    const at = `${pageAt(ann.org)}/proposals/${opened.change_set.number}`
    const barsOf = (person: PersonClient) =>
      Promise.all(
        [`${pageAt(ann.org)}/proposals`, `${pageAt(ann.org)}/tags`, at].map(
          async (path) => /<aside class="notice basket".*?<\/aside>/s.exec((await visit(person).open(path)).body)?.[0],
        ),
      )
    const [first = '', ...others] = await barsOf(cy)
    expect(words(first)).to.equal('Draft proposal: The sea · 1 page Review and submit')
    expect(first).to.include(`/proposals/${opened.change_set.number}"`)
    expect(others).to.deep.equal([first, undefined])
    expect(await barsOf(ann)).to.deep.equal([undefined, undefined, undefined])
    const { body: org } = await cy.get(`/orgs/${ann.org}`).then(expecting(200))
    expect(org.draft_change_sets).to.deep.equal([{ number: opened.change_set.number, title: 'The sea', num_items: 1 }])
    expect(ledTo(await visit(cy).send(at, { act: 'ready' }))[0]).to.equal(303)
    expect(await barsOf(cy)).to.deep.equal([undefined, undefined, undefined])
  })
})
