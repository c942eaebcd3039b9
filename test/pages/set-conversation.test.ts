/** The conversation on the page of a proposal of several pages, without script. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import type { PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { alertIn, ledTo, mainOf, type Visit, visitOf } from './forms.ts'

describe('the conversation of a proposal of several pages', () => {
  const { grove, ann, bob, cy, eve } = useWorld({ ann: 'owner', bob: 'maintainer', cy: 'contributor', eve: 'reader' })
  const visits = new Map<PersonClient, Visit>()
  let at = ''
  let talk = ''
  let sets = ''

  before(async () => {
    for (const person of [ann, bob, cy, eve]) visits.set(person, await visitOf(grove, person))
    sets = `/orgs/${ann.org}/change-sets`
    const body = { title: 'Whales', description: 'From the *atlas*.', nodes: [{ title: 'Krill' }, { title: 'Seals' }] }
    const { number } = (await cy.post(sets, body).then(expecting(201))).body.change_set
    at = `${pageAt(ann.org)}/proposals/${number}`
    talk = `${at}?tab=conversation`
  })

  const visit = (person: PersonClient) => visits.get(person) as Visit // `before` has made it
  const shown = async (person: PersonClient, path = talk) => {
    const answer = await visit(person).open(path)
    expect(answer.status).to.equal(200)
    expect(answer.body).to.not.match(/change set/i)
    return mainOf(answer)
  }
  const send = (person: PersonClient, fields: Readonly<Record<string, string>>) => visit(person).send(talk, fields)
  const words = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

  it('has comments about the whole, with answers, and threads to resolve', async () => {
    expect(await shown(eve, at)).to.match(/href="[^"]*tab=conversation">\s*Conversation <span class="n">0</)
    const first = await send(eve, { act: 'comment', text: 'Why **both**?' })
    expect(ledTo(first)).to.deep.equal([303, `${talk}#c1`])
    expect(ledTo(await send(cy, { act: 'answer', thread: '1', text: 'They belong together.' }))[0]).to.equal(303)
    const main = await shown(bob)
    expect(words(main)).to.include('Cy opened this proposal').and.include('They belong together.')
    expect(main).to.include('<strong>both</strong>').and.include('<em>atlas</em>')
    expect(await shown(bob, at)).to.include('Conversation <span class="n">2</span>')
    await send(eve, { act: 'edit', entry: '1', text: 'Why?' })
    expect(words(await shown(eve)))
      .to.include('Why?')
      .and.not.include('both')
    expect(ledTo(await send(bob, { act: 'resolve', thread: '1', text: '' }))).to.deep.equal([303, `${talk}#t1`])
    expect(words(await shown(bob))).to.include('Resolved')
    const empty = await send(eve, { act: 'comment', text: ' ' })
    expect(empty.status).to.equal(422)
    expect(alertIn(empty)).to.match(/blank/)
  })

  it('has reviews, which are withdrawn or dismissed on all pages', async () => {
    const number = at.split('/').at(-1)
    const approve = async (by: PersonClient) => {
      const { version: expected_version } = (await by.get(`${sets}/${number}`)).body.change_set
      const body = { verdict: 'approve', text: 'Fine.', expected_version }
      return `${(await by.post(`${sets}/${number}/reviews`, body).then(expecting(201))).body.entry}`
    }
    const approvals = async () =>
      (await ann.get(`${sets}/${number}`)).body.change_set.items.map((one: { approvals: number }) => one.approvals)
    const entry = await approve(eve)
    expect(await approvals()).to.deep.equal([1, 1])
    expect(await shown(eve))
      .to.include('value="withdraw"')
      .and.not.include('value="dismiss"')
    expect(await shown(bob))
      .to.include('value="dismiss"')
      .and.not.include('value="withdraw"')
    expect(await shown(cy)).to.not.match(/value="(withdraw|dismiss)"/)
    await send(eve, { act: 'withdraw', entry })
    expect(await approvals()).to.deep.equal([0, 0])
    await send(bob, { act: 'dismiss', entry: await approve(eve), text: 'Too early.' })
    expect(await approvals()).to.deep.equal([0, 0])
    expect(words(await shown(eve))).to.include('dismissed it: Too early.')
  })

  it('names the pages of a review of some', async () => {
    const number = at.split('/').at(-1)
    const { version: expected_version, items } = (await eve.get(`${sets}/${number}`)).body.change_set
    const seals = items.find(({ title }: { title: string }) => title === 'Seals').node_id
    const body = { verdict: 'request_changes', text: 'Which?', expected_version, items: [seals] }
    const { entry } = (await eve.post(`${sets}/${number}/reviews`, body).then(expecting(201))).body
    expect(words(await shown(bob))).to.include('Eve asks for changes of “Seals”,')
    const review = `/orgs/${ann.org}/nodes/${ann.org}/pull-requests/${number}/reviews/${entry}`
    expect((await bob.get(review).then(expecting(200))).body.items).to.deep.equal([seals])
  })

  it('marks what the visitor has read', async () => {
    await send(eve, { act: 'comment', text: 'See this, @Bob.' })
    const waits = async () => (await bob.get(`/orgs/${ann.org}/waiting`).then(expecting(200))).body.total
    expect(await waits()).to.equal(1)
    await shown(bob)
    expect(await waits()).to.equal(0)
  })
})
