/** Change sets among what waits for a user, in place of their pages. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import type { Answer, Client } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('change sets that wait', () => {
  useScene()

  const waitingFor = async (by: Client): Promise<Answer['body']> => {
    const here = (await by.get(`/orgs/${ann.org}/waiting?limit=200`).then(expecting(200))).body
    const { waiting } = (await by.get('/waiting?limit=200').then(expecting(200))).body
    expect(waiting.filter((one: Answer['body']) => one.org_id === ann.org)).to.deep.equal(here.waiting)
    expect(here.total).to.equal(here.waiting.length)
    return here.waiting
  }
  /** The reasons why a set waits; undefined if it does not. */
  const reasonsFor = async (by: Client, number: number): Promise<string[] | undefined> => {
    const found = (await waitingFor(by)).filter((one: Answer['body']) => one.node_id === ann.org)
    return found.find((one: Answer['body']) => one.number === number)?.reasons
  }
  const review = async (by: Client, number: number, verdict: string, items?: string[]) => {
    const { version: expected_version } = await setOf(number)
    const body = { verdict, text: 'Read.', expected_version, ...(items && { items }) }
    return (await by.post(`${sets}/${number}/reviews`, body).then(expecting(201))).body
  }
  const change = { nodes: [{ title: 'Krill' }, { title: 'Whales' }, { title: 'Seals' }] }
  const openFor = async (by: Client, ...reviewers: { user: { id: string } }[]) =>
    (await open(by, { ...change, reviewers: reviewers.map(({ user }) => user.id) })).change_set

  it('are a review that is asked, until each page has a verdict on its current change', async () => {
    const { number, items } = await openFor(cy, bob)
    const [waiting, ...others] = await waitingFor(bob)
    expect(others).to.deep.equal([])
    expect(waiting).to.include({
      node_id: ann.org,
      node_title: '',
      num_items: 3,
      number,
      title: 'Whales',
      author: 'Cy',
    })
    expect(waiting.reasons).to.deep.equal(['review_requested'])
    expect(await reasonsFor(di, number)).to.equal(undefined)
    const [first, ...rest] = items.map(({ node_id }: Answer['body']) => node_id)
    await review(bob, number, 'approve', [first])
    expect(await reasonsFor(bob, number)).to.deep.equal(['review_requested'])
    await review(bob, number, 'approve', rest)
    expect(await reasonsFor(bob, number)).to.equal(undefined)
    const { source_branch: branch } = byPage(await setOf(number))[first]
    const changes = [{ action: 'put', path: 'content.md', content: 'More.\n' }]
    const commits = `${pageAt(first)}/tree/${encodeURIComponent(branch)}/commits`
    await cy.post(commits, { message: 'Say more', changes }).then(expecting(201))
    expect(await reasonsFor(bob, number)).to.deep.equal(['review_requested'])
    await cy.patch(`${sets}/${number}`, { is_draft: true }).then(expecting(200))
    expect(await reasonsFor(bob, number)).to.equal(undefined)
  })

  it('are own ones with what holds them up, as one', async () => {
    const { number, items, conversation } = await openFor(di)
    expect(await waitingFor(di)).to.deep.equal([])
    await review(bob, number, 'approve', [items[0].node_id])
    expect(await reasonsFor(di, number), 'a page is not approved').to.equal(undefined)
    await review(bob, number, 'approve')
    expect(await reasonsFor(di, number)).to.deep.equal(['ready_to_merge'])
    const [{ node_id, number: pull }] = items
    await bob.post(`${pageAt(node_id)}/pull-requests/${pull}/comments`, { text: 'Why?' }).then(expecting(201))
    expect(await reasonsFor(di, number)).to.deep.equal(['open_threads'])
    await bob.post(`${conversation}/comments`, { text: 'And all of it?' }).then(expecting(201))
    await review(bob, number, 'request_changes', [items[1].node_id])
    expect(await reasonsFor(di, number)).to.deep.equal(['changes_requested', 'open_threads'])
    expect(await waitingFor(di)).to.have.length(1)
    await di.patch(`${sets}/${number}`, { status: 'closed' }).then(expecting(200))
    expect(await waitingFor(di)).to.deep.equal([])
  })

  it('are mentions and answers, about the whole or at a page', async () => {
    const { number, items, conversation } = await openFor(cy)
    await bob.post(`${conversation}/comments`, { text: 'See this, @Di.' }).then(expecting(201))
    expect(await reasonsFor(di, number)).to.deep.equal(['mentioned'])
    await di.put(`${conversation}/read-mark`, { entry: 1 }).then(expecting(204))
    expect(await reasonsFor(di, number)).to.equal(undefined)
    const [{ node_id, number: pull }] = items
    const page = `${pageAt(node_id)}/pull-requests/${pull}`
    await bob.post(`${page}/comments`, { text: 'And this, @Di.' }).then(expecting(201))
    expect(await reasonsFor(di, number)).to.deep.equal(['mentioned'])
    await cy.post(`${conversation}/comments`, { text: 'Seen.', thread: 1 }).then(expecting(201))
    expect(await reasonsFor(bob, number)).to.deep.equal(['answered'])
    await di.put(`${page}/read-mark`, { entry: 1 }).then(expecting(204))
    expect(await reasonsFor(di, number)).to.equal(undefined)
    await cy.patch(`${sets}/${number}`, { status: 'closed' }).then(expecting(200))
  })

  it('are approvals that a rule asks for by name', async () => {
    const area = await aPage('Area')
    const rule = { branches: ['main'], approvals: 1, by: { people: [di.user.id] }, under: area }
    await ann.patch(`/orgs/${ann.org}`, { rules: [rule] }).then(expecting(200))
    const { change_set: set } = await open(cy, { nodes: [{ title: 'Below', parents: [area] }, { title: 'Free' }] })
    expect(await reasonsFor(di, set.number)).to.deep.equal(['review_requested'])
    expect(await reasonsFor(bob, set.number)).to.equal(undefined)
    await review(di, set.number, 'approve')
    expect(await reasonsFor(di, set.number)).to.equal(undefined)
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it.deep('are folded before the newest are read, and counted exactly', async () => {
    const nodes = Array.from({ length: 20 }, (_, at) => ({ title: `Page ${at}` }))
    const numbers: number[] = []
    for (const title of ['One', 'Two', 'Three']) {
      const { change_set: set } = await open(bob, { title, nodes })
      await review(di, set.number, 'request_changes')
      numbers.push(set.number)
    }
    const waiting = await waitingFor(bob)
    const own = waiting.filter((one: Answer['body']) => one.reasons.includes('changes_requested'))
    expect(own.map((one: Answer['body']) => one.number)).to.deep.equal(numbers.reverse())
    expect((await bob.get(`/orgs/${ann.org}/waiting?limit=1`).then(expecting(200))).body.total).to.equal(waiting.length)
  })
})
