/** Conversations of change sets: the operations of pull requests, with the organisation as the node. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { type Answer, type Client, type PersonClient, signUp } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, grove, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('conversations of change sets', () => {
  useScene()

  let path = ''
  let number = 0
  let items: { node_id: string; number: number }[] = []
  let eve: PersonClient
  before(async () => {
    eve = await signUp(grove, 'Eve')
    const old = await aPage('Old')
    const change = { nodes: [{ title: 'Krill' }, { title: 'Whales' }], deletions: [{ node_id: old }] }
    const { change_set: set } = await open(cy, change)
    ;({ number, items } = set)
    path = set.conversation
  })

  const say = async (who: Client, text: string, more: object = {}) =>
    (await who.post(`${path}/comments`, { text, ...more }).then(expecting(201))).body

  it('have the path that the set names, and comments with their threads', async () => {
    expect(path).to.equal(`/orgs/${ann.org}/nodes/${ann.org}/pull-requests/${number}`)
    const { version } = await setOf(number)
    const first = await say(bob, 'Why Krill, @Di?')
    expect(first).to.include({ entry: 1, thread: 1, head_commit: version, text: 'Why Krill, @Di?' })
    expect(first.mentions).to.deep.equal([di.user.id])
    expect(await say(cy, 'Whales eat it.', { thread: 1 })).to.include({ entry: 2, thread: 1 })
    await cy.patch(`${path}/comments/2`, { text: 'They eat it.' }).then(expecting(200))
    const refused = await di.patch(`${path}/comments/2`, { text: 'No.' })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'forbidden'])
    const { threads } = (await di.get(`${path}/threads`).then(expecting(200))).body
    expect(threads.map((one: Answer['body']) => one.comments.map(({ text }: Answer['body']) => text))).to.deep.equal([
      ['Why Krill, @Di?', 'They eat it.'],
    ])
    expect(await setOf(number)).to.include({ comments: 2, open_threads: 1 })
    await say(bob, 'A mistake.')
    await bob.delete(`${path}/comments/3`).then(expecting(204))
    expect((await bob.get(`${path}/comments/3`).then(expecting(200))).body.text).to.equal('')
    await di.patch(`${path}/threads/1`, { resolved: true }).then(expecting(200))
    expect(await setOf(number)).to.include({ open_threads: 0 })
    await cy.patch(`${path}/threads/1`, { resolved: false }).then(expecting(200))
    const { entries } = (await di.get(`${path}/timeline`).then(expecting(200))).body
    expect(entries.map(({ kind }: Answer['body']) => kind)).to.deep.equal(['comment', 'comment', 'comment'])
    await di.put(`${path}/read-mark`, { entry: 2 }).then(expecting(204))
  })

  it('are about the whole: content has its comments at the page', async () => {
    const [item] = items
    const { source_commit: commit } = byPage(await setOf(number))[item?.node_id ?? '']
    for (const more of [{ anchor: { commit, path: 'content.md' } }, { suggestion: 'Krill' }])
      expect((await bob.post(`${path}/comments`, { text: 'Here.', ...more })).status).to.equal(422)
    for (const operation of [path, `${path}/changes`, `${path}/commits`])
      expect((await ann.get(operation)).body.code, operation).to.equal('node_not_found')
    const review = { verdict: 'approve', expected_source_commit: commit }
    expect((await bob.post(`${path}/reviews`, review)).body.code).to.equal('node_not_found')
    const missing = await bob.get(`${path.replace(/\d+$/, '99')}/timeline`)
    expect([missing.status, missing.body.code]).to.deep.equal([404, 'pull_request_not_found'])
  })

  it('are hidden from others', async () => {
    for (const operation of ['timeline', 'threads', 'reviews', 'comments/1'])
      expect((await eve.get(`${path}/${operation}`)).status, operation).to.equal(404)
    expect((await eve.post(`${path}/comments`, { text: 'Hello.' })).status).to.equal(404)
    expect((await eve.put(`${path}/read-mark`, { entry: 1 })).status).to.equal(404)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    expect((await eve.get(`${path}/timeline`)).status).to.equal(403)
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
  })

  it('hold up every page whose rule asks for resolved threads', async () => {
    const rules = [{ branches: ['main'], resolved: true }]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    expect((await setOf(number)).merge_reasons).to.deep.equal(['threads_open'])
    await cy.patch(`${path}/threads/1`, { resolved: true }).then(expecting(200))
    expect(await setOf(number)).to.include({ can_merge: true })
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  /** The states of the verdicts on the pages. */
  const verdicts = () =>
    Promise.all(
      items.map(async (item) => {
        const at = `${pageAt(item.node_id)}/pull-requests/${item.number}/reviews`
        const { reviews } = (await ann.get(at).then(expecting(200))).body
        return reviews.map(({ verdict, state }: Answer['body']) => `${verdict} ${state}`).join()
      }),
    )

  it('withdraw or dismiss a review with its verdicts on all pages', async () => {
    const verdict = async (by: Client, what: string) => {
      const { version: expected_version } = await setOf(number)
      return (await by.post(`${sets}/${number}/reviews`, { verdict: what, text: 'So.', expected_version })).body.entry
    }
    const entry = await verdict(bob, 'approve')
    const own = `${path}/reviews/${entry}`
    expect((await cy.get(own).then(expecting(200))).body).to.include({ state: 'current', text: 'So.' })
    expect(await verdicts()).to.deep.equal(items.map(() => 'approve current'))
    expect((await cy.patch(own, { state: 'withdrawn' })).body.code).to.equal('forbidden')
    expect((await cy.patch(own, { state: 'dismissed', reason: 'No.' })).status).to.equal(403)
    expect(await verdicts(), 'all or none').to.deep.equal(items.map(() => 'approve current'))
    expect((await bob.patch(own, { state: 'withdrawn' }).then(expecting(200))).body.state).to.equal('withdrawn')
    expect(await verdicts()).to.deep.equal(items.map(() => 'approve withdrawn'))
    const other = `${path}/reviews/${await verdict(bob, 'request_changes')}`
    await di.patch(other, { state: 'dismissed', reason: 'Done.' }).then(expecting(200))
    expect(await verdicts()).to.deep.equal(items.map(() => 'approve withdrawn,request_changes dismissed'))
    expect((await cy.get(other).then(expecting(200))).body).to.include({
      dismissed_reason: 'Done.',
      dismissed_by: 'Di',
    })
  })

  it('say that a review is stale as soon as it is on one page', async () => {
    const { version: expected_version } = await setOf(number)
    const body = { verdict: 'approve', expected_version }
    const { entry } = (await bob.post(`${sets}/${number}/reviews`, body).then(expecting(201))).body
    const [page] = Object.values(byPage(await setOf(number))).filter(({ act }) => act === 'create')
    const commits = `${pageAt(page.node_id)}/tree/${encodeURIComponent(page.source_branch)}/commits`
    const changes = [{ action: 'put', path: 'content.md', content: 'More.\n' }]
    await cy.post(commits, { message: 'Say more', changes }).then(expecting(201))
    const { reviews } = (await cy.get(`${path}/reviews`).then(expecting(200))).body
    expect(reviews.map(({ state }: Answer['body']) => state)).to.deep.equal(['withdrawn', 'dismissed', 'stale'])
    await bob.patch(`${path}/reviews/${entry}`, { state: 'withdrawn' }).then(expecting(200))
  })

  it('are told by events, whose subject is the set', async () => {
    const { events } = (
      await ann.get(`/orgs/${ann.org}/events?limit=200&types=comment.*,thread.*`).then(expecting(200))
    ).body
    const subject = `change-sets/${number}`
    expect(events.map(({ type, subject }: Answer['body']) => [type, subject])).to.deep.equal([
      ['comment.created', subject],
      ['comment.created', subject],
      ['comment.edited', subject],
      ['comment.created', subject],
      ['comment.deleted', subject],
      ['thread.resolved', subject],
      ['thread.reopened', subject],
      ['thread.resolved', subject],
    ])
    expect(events[0].data).to.deep.include({ number, entry: 1, mentions: [di.user.id] })
    expect(events[0].data.actor.name).to.equal('Bob')
  })

  it('can be erased, entry by entry', async () => {
    const { entry } = await say(bob, 'The secret is 123.')
    const erased = (await ann.post(`${path}/entries/${entry}/erase`, { reason: 'Private' }).then(expecting(200))).body
    expect(erased.commits_rewritten).to.be.greaterThan(0)
    expect((await cy.get(`${path}/comments/${entry}`).then(expecting(200))).body).to.include({
      text: '',
      erased_by: 'Ann',
    })
    expect((await setOf(number)).status).to.equal('open')
    const again = (await ann.post(`${path}/entries/${entry}/erase`, {}).then(expecting(200))).body
    expect(again.commits_rewritten).to.equal(0)
    await di.post(`${sets}/${number}/merge`).then(expecting(200))
    await say(bob, 'Well done.')
  })
})
