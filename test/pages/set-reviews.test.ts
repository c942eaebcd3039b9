/** The reviews and edits of one page in a proposal of several, without script. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, visitOf } from './forms.ts'

const words = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

describe('one page of a proposal of several', () => {
  const { grove, ann, bob, cy, eve } = useWorld({ ann: 'owner', bob: 'maintainer', cy: 'contributor', eve: 'reader' })
  let at = ''
  let item = { node_id: '', number: 0, source_branch: '', source_commit: '' }

  before(async () => {
    const nodes = [{ title: 'Krill' }, { title: 'Seals' }]
    const { body } = await cy.post(`/orgs/${ann.org}/change-sets`, { title: 'Sea', nodes }).then(expecting(201))
    item = body.change_set.items[0]
    at = `${pageAt(ann.org)}/proposals/${body.change_set.number}?page=${item.node_id}`
  })

  const shown = async (person: PersonClient) => mainOf(await (await visitOf(grove, person)).open(at))
  const consentIn = (main: string) => words(/id="consent"[\s\S]*?<\/section>/.exec(main)?.[0] ?? '')

  it('says whose approval a rule asks for', async () => {
    expect(consentIn(await shown(bob))).to.include('Nobody was asked for a review yet.')
    const rules = [{ branches: ['main'], approvals: 1, by: { role: 'maintainer', people: [cy.user.id] } }]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    expect(consentIn(await shown(bob)))
      .to.include('Waiting for a maintainer or Cy , because a rule asks')
      .and.not.include('Nobody')
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it('shows who asks for changes, and which, but no line of an approval without text', async () => {
    const visit = await visitOf(grove, bob)
    const fields = { act: 'review', node: item.node_id, number: `${item.number}`, commit: item.source_commit, seen: '' }
    expect(ledTo(await visit.send(at, { ...fields, verdict: 'request_changes', text: 'Which *sea*?' }))[0]).to.equal(
      303,
    )
    const main = await shown(cy)
    expect(words(main)).to.match(/New page · 1 comment .*Bob asks for changes /)
    expect(main).to.include('<p>Which <em>sea</em>?</p>')
    await visit.send(at, { ...fields, verdict: 'approve', text: '' })
    expect(words(await shown(cy))).to.not.match(/Bob (asks|approved)|1 comment/)
  })

  it('is edited on its branch by those who may', async () => {
    const link = `/edit?branch=${encodeURIComponent(item.source_branch)}"`
    expect(await shown(cy)).to.include(link)
    expect(await shown(eve)).to.not.include('/edit?')
  })
})
