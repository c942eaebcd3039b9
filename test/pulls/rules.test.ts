/** Rules block a pull request until it has the required approvals, checks and resolved threads. */

import { expect } from 'chai'
import { expecting, type TestNode } from '../support/node.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { aNode, ann, aProposal, bob, grove, useScene } from './scene.ts'

type Rule = Readonly<Record<string, unknown>>

const setRules = (...rules: Rule[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))

/** The reasons and the consent of a pull request. */
const judged = async (path: string, person: PersonClient = ann) => {
  const { pr } = (await person.get(path).then(expecting(200))).body
  const { required, approvals, missing, merge_role, may_override } = pr.consent
  return { reasons: pr.merge_reasons, can: pr.can_merge, required, approvals, missing, merge_role, may_override }
}

const review = (person: PersonClient, path: string, commit: string, verdict: string, text = 'Because') =>
  person.post(`${path}/reviews`, { verdict, text, expected_source_commit: commit }).then(expecting(201))

describe('rules of a branch', () => {
  useScene()
  let cy: PersonClient
  let max: PersonClient
  before(async () => {
    cy = await signUp(grove, 'Cy')
    max = await signUp(grove, 'Max')
    await ann.put(`/orgs/${ann.org}/members/cy@example.org`, { role: 'editor' }).then(expecting(200))
    await ann.put(`/orgs/${ann.org}/members/max@example.org`, { role: 'maintainer' }).then(expecting(200))
  })
  afterEach(() => setRules())

  const merge = (person: PersonClient, path: string, body: object = {}) => person.post(`${path}/merge`, body)

  it('demand approvals by role, and say how many are missing', async () => {
    const { path, source, node, target } = await aProposal()
    await setRules({ branches: ['main'], approvals: 2, by: { role: 'editor' } })
    expect(await judged(path)).to.deep.equal({
      reasons: ['approvals_missing'],
      can: false,
      required: 2,
      approvals: 0,
      missing: [{ rule: 0, needed: 2, of: { role: 'editor' } }],
      merge_role: 'editor',
      may_override: true,
    })
    expect((await judged(path, bob)).may_override).to.equal(false)
    await review(bob, path, source, 'approve')
    const refused = await merge(ann, path)
    expect(refused.status).to.equal(409)
    expect(refused.body).to.include({
      code: 'approvals_missing',
      detail: 'The pull request needs 1 more approval: 2 by editors; approved: Bob',
    })
    expect(refused.body.merge_reasons).to.deep.equal(['approvals_missing'])
    expect(node.git.head()).to.equal(target)
    await review(cy, path, source, 'approve')
    expect(await judged(path)).to.deep.include({ reasons: ['mergeable'], can: true, approvals: 2, missing: [] })
    await merge(bob, path).then(expecting(200))
    expect(node.git.head()).to.equal(source)
  })

  it('count neither the opener nor authors of commits, also by a former address', async () => {
    const { path, node } = await aProposal()
    const dee = await signUp(grove, 'Dee')
    await ann.put(`/orgs/${ann.org}/members/dee@example.org`, { role: 'editor' }).then(expecting(200))
    await dee
      .post(`${node.at}/tree/draft/commits`, {
        message: 'By Dee',
        changes: [{ action: 'put', path: 'd', content: 'd' }],
      })
      .then(expecting(201))
    await dee
      .post('/auth/email', { new_email: 'dee2@example.org', password })
      .then(({ status }) => expect([200, 204]).to.include(status))
    await setRules({ branches: ['main'], approvals: 1 })
    await review(dee, path, (await node.pull(1)).source_commit, 'approve')
    const { verdicts, approvals } = (await node.pull(1)).consent
    expect(approvals).to.equal(0)
    expect(verdicts[0]).to.include({ state: 'current', counts: false, why: 'own_commit' })
    const { body } = await merge(ann, path)
    expect(body.detail).to.equal(
      'The pull request needs 1 more approval: 1 by editors; not counted: Dee (wrote or pushed its commits)',
    )
    await review(bob, path, (await node.pull(1)).source_commit, 'approve')
    await merge(ann, path).then(expecting(200))
  })

  it('wait for people that are named, whatever their role', async () => {
    const { path, source } = await aProposal()
    const eve = await signUp(grove, 'Eve')
    await ann.put(`/orgs/${ann.org}/members/eve@example.org`, { role: 'reader' }).then(expecting(200))
    await setRules({ branches: ['main'], approvals: 1, by: { people: [eve.user.id] } })
    await review(bob, path, source, 'approve')
    expect((await judged(path)).reasons).to.deep.equal(['approvals_missing'])
    await review(eve, path, source, 'approve')
    expect((await judged(path)).can).to.equal(true)
    await ann.delete(`/orgs/${ann.org}/members/eve@example.org`).then(expecting(204))
    expect(await judged(path)).to.deep.include({ can: false, approvals: 0 })
  })

  it('are held up by objections until these are withdrawn or dismissed', async () => {
    const { path, source } = await aProposal()
    await setRules({ branches: ['main'], approvals: 1 })
    await review(bob, path, source, 'request_changes', 'Whales are no fish.\nSee the book.')
    await review(cy, path, source, 'approve')
    expect((await judged(path)).reasons).to.deep.equal(['changes_requested'])
    expect((await merge(ann, path)).body).to.include({
      code: 'changes_requested',
      detail: 'Bob asks for changes. They can approve or withdraw their review, and a maintainer can dismiss it',
    })
    await max.patch(`${path}/reviews/1`, { state: 'dismissed', reason: 'Done' }).then(expecting(200))
    expect((await judged(path)).can).to.equal(true)
  })

  it('are held up by objections to the same head in another pull request', async () => {
    const { path, source, node } = await aProposal()
    await setRules({ branches: ['main'], approvals: 1 })
    await review(bob, path, source, 'request_changes')
    await ann.patch(path, { status: 'closed' }).then(expecting(200))
    const again = await node.open('draft')
    expect(again.consent.objections_elsewhere).to.deep.equal([{ number: 1, author: 'Bob' }])
    await review(cy, `${node.at}/pull-requests/2`, source, 'approve')
    const held = { can_merge: false, merge_reasons: ['changes_requested'] }
    const [listed] = (await ann.get(`${node.at}/pull-requests`).then(expecting(200))).body.pull_requests
    for (const pr of [listed, await node.pull(2)]) {
      expect(pr).to.deep.include(held)
      expect(pr.consent).to.include({ changes_requested: 1, approvals: 1 })
      expect(pr.consent.verdicts).to.have.length(1)
    }
    expect((await merge(ann, `${node.at}/pull-requests/2`)).body).to.include({
      code: 'changes_requested',
      detail:
        'Bob asks for changes of the same change in pull request 1. They can approve or withdraw their review, and a maintainer can dismiss it',
    })
    expect(await node.pull(1)).to.not.have.nested.property('consent.objections_elsewhere')
    await ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
    await ann.patch(path, { status: 'open' }).then(expecting(200))
    await bob.patch(`${path}/reviews/1`, { state: 'withdrawn' }).then(expecting(200))
    await ann.patch(path, { status: 'closed' }).then(expecting(200))
    await ann.patch(`${node.at}/pull-requests/2`, { status: 'open' }).then(expecting(200))
    expect((await node.pull(2)).consent.objections_elsewhere).to.equal(undefined)
  })

  it('demand that threads are resolved', async () => {
    const { path } = await aProposal()
    await setRules({ branches: ['main'], resolved: true })
    await bob.post(`${path}/comments`, { text: 'A source?' }).then(expecting(201))
    expect((await merge(ann, path)).body).to.include({
      code: 'threads_open',
      detail: 'The pull request has 1 open thread; resolve each of them first',
    })
    await bob.patch(`${path}/threads/1`, { resolved: true }).then(expecting(200))
    await merge(ann, path).then(expecting(200))
  })

  it('raise the role that merges, and all hold together', async () => {
    const { path } = await aProposal()
    await setRules(
      { branches: ['main'] },
      { branches: ['m*'], merge: 'maintainer' },
      { branches: ['other'], merge: 'owner' },
    )
    expect(await judged(path)).to.include({ can: true, merge_role: 'maintainer' })
    expect((await merge(bob, path)).body).to.include({ code: 'forbidden' })
    await merge(max, path).then(expecting(200))
  })

  it('hold for a part of the graph', async () => {
    const inside = await aProposal()
    const outside = await aProposal()
    await setRules({ branches: ['main'], under: inside.node.id, approvals: 1 })
    expect((await judged(inside.path)).can).to.equal(false)
    expect((await judged(outside.path)).can).to.equal(true)
    const rulesOf = async (node: TestNode) => (await node.pull(1)).consent.rules
    expect([await rulesOf(inside.node), await rulesOf(outside.node)]).to.deep.equal([[0], []])
    const below = await aProposal()
    await setRules({ branches: ['main'], under: inside.node.id, approvals: 1, pages: 'existing' })
    await ann
      .put(`${below.node.at}/parents/${inside.node.id}`)
      .then(({ status }) => expect([200, 201, 204]).to.include(status))
    expect((await judged(below.path)).reasons).to.include('approvals_missing')
  })

  const commit = { message: 'Direct', changes: [{ action: 'put', path: 'x', content: 'x' }] }
  const direct = (node: TestNode, branch: string) =>
    ann.post(`${node.at}/tree/${encodeURIComponent(branch)}/commits`, commit)

  it('let branches move by merges only, made by the role that merges, and never deleted', async () => {
    const { node } = await aProposal()
    await node.branch('release/1')
    await setRules({ branches: ['release/**'], merge: 'maintainer' })
    expect((await direct(node, 'release/1')).body).to.include({
      code: 'pull_request_required',
      detail: 'In this organisation `release/1` can only be changed by merging a pull request',
    })
    expect((await direct(node, 'main')).status).to.equal(201)
    expect((await ann.delete(`${node.at}/branches/release%2F1`)).body).to.include({
      code: 'branch_protected',
      detail: 'release/1 cannot be deleted',
    })
    const made = (person: PersonClient) => person.post(`${node.at}/branches`, { name: 'release/2', from: 'main' })
    expect((await made(bob)).body).to.include({
      code: 'forbidden',
      detail: 'In this organisation only maintainers make branches named release/**',
    })
    await made(max).then(expecting(201))
    await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))
    await merge(ann, `${node.at}/pull-requests/1`).then(expecting(200))
    const undone = await bob.post(`${node.at}/pull-requests/1/undo`, { source_branch: 'release/3' })
    expect([undone.status, undone.body.code]).to.deep.equal([403, 'forbidden'])
  })

  it('are overridden by owners only, with a reason that is recorded', async () => {
    const { path, source, node } = await aProposal()
    await setRules({ branches: ['main'], approvals: 1, resolved: true })
    await bob.post(`${path}/comments`, { text: 'Hm' }).then(expecting(201))
    const override = { reason: 'The site is down' }
    expect((await merge(max, path, { override })).body).to.include({ code: 'forbidden' })
    const blank = await merge(ann, path, { override: { reason: ' ' } })
    expect(blank.status).to.equal(422)
    await setRules({ branches: ['main'], approvals: 1, override: 'nobody' })
    expect((await merge(ann, path, { override })).body).to.include({ code: 'approvals_missing' })
    expect((await judged(path)).may_override).to.equal(false)
    await setRules({ branches: ['main'], approvals: 1, resolved: true })
    const { pr } = (await merge(ann, path, { override }).then(expecting(200))).body
    expect(pr.overridden).to.deep.include({
      by: { id: ann.user.id, name: 'Ann' },
      reason: 'The site is down',
      reasons: ['approvals_missing', 'threads_open'],
    })
    expect(node.git.head()).to.equal(source)
    const known = node.git.say('show', 'refs/grove/ledger:pulls/0/0/1.json')
    expect(JSON.parse(known).overridden).to.deep.equal(pr.overridden)
  })

  it('keep approvals of a stacked proposal whose target was merged and deleted', async () => {
    const { node, path, source } = await aProposal()
    await node.branch('second', 'draft')
    const head = await node.commit('second', { 'second.txt': 'second\n' })
    const { number } = await node.open('second', { target_branch: 'draft' })
    const stacked = `${node.at}/pull-requests/${number}`
    await review(bob, stacked, head, 'approve')
    await setRules({ branches: ['main'], approvals: 1 })
    await review(bob, path, source, 'approve')
    await merge(ann, path).then(expecting(200))
    await ann.delete(`${node.at}/branches/draft`).then(expecting(204))
    const pr = await node.pull(number)
    expect(pr).to.include({ target_branch: 'main', can_merge: true })
    expect(pr.consent.approvals).to.equal(1)
    await node.branch('side', 'main')
    await ann.patch(stacked, { target_branch: 'side' }).then(expecting(200))
    await ann.patch(stacked, { target_branch: 'main' }).then(expecting(200))
    expect((await node.pull(number)).consent.approvals, 'the target was chosen again').to.equal(0)
  })

  it('count no approval for a branch that was deleted without being merged, unless the same rules held for it', async () => {
    const node = await aNode()
    await node.branch('scratch')
    const head = await node.proposal('second')
    const { number } = await node.open('second', { target_branch: 'scratch' })
    const at = `${node.at}/pull-requests/${number}`
    await setRules({ branches: ['main'], approvals: 1 })
    await review(bob, at, head, 'approve')
    await ann.delete(`${node.at}/branches/scratch`).then(expecting(204))
    const pr = await node.pull(number)
    expect(pr).to.include({ target_branch: 'main', can_merge: false, merge_reason: 'approvals_missing' })
    expect(pr.consent.verdicts[0]).to.include({ counts: false, why: 'stale' })
    expect((await merge(ann, at)).body).to.include({ code: 'approvals_missing' })
    await setRules({ branches: ['main', 'scratch'], approvals: 1 })
    await merge(ann, at).then(expecting(200))
  })
})
