/** The rules that a proposal's page shows, without script, for each role. */

import { expect } from 'chai'
import { ann, aProposal, bob, comment, cy, di, grove, type Proposal, pull, review, useScene } from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { pageAt, plain } from '../support/pages.ts'
import { client, type PersonClient } from '../support/people.ts'
import { alertIn, mainOf, type Visit, valueIn, visitOf } from './forms.ts'

/** The path of a proposal's page. */
const pageOf = ({ node, number }: Proposal) => `${pageAt(node.org, node.id)}/proposals/${number}`
const words = (html: string) => html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

describe('rules on the page of a proposal', () => {
  useScene()
  const visits = new Map<PersonClient, Visit>()

  before(async () => {
    for (const person of [ann, bob, cy, di]) visits.set(person, await visitOf(grove, person))
  })
  afterEach(() => setRules())

  const setRules = (...rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
  const visit = (person: PersonClient) => visits.get(person) as Visit // `before` has made it
  const shown = async (person: PersonClient, proposal: Proposal) => {
    const answer = await visit(person).open(pageOf(proposal))
    expect(answer.status).to.equal(200)
    const main = mainOf(answer)
    const part = (id: string) => new RegExp(`<section[^>]*id="${id}"[\\s\\S]*?</section>`).exec(main)?.[0] ?? ''
    const box = part('merge')
    return {
      box,
      title: words(/<h2>([\s\S]*?)<\/h2>/.exec(box)?.[1] ?? '').trim(),
      needs: [...(/<ul class="needs">([\s\S]*?)<\/ul>/.exec(box)?.[1] ?? '').matchAll(/<bdi>([^<]*)/g)].map(
        ([, need]) => need,
      ),
      mayMerge: box.includes('name="act" value="merge"'),
      mayOverride: box.includes('value="override"'),
      consent: `${words(part('consent'))} ${words(part('checks'))}`,
    }
  }

  it('says beside a request for changes that no rule holds the proposal up', async () => {
    const proposal = await aProposal()
    expect(await shown(ann, proposal)).to.include({ title: 'Ready to merge', mayMerge: true })
    await review(bob, proposal, 'request_changes')
    const after = await shown(ann, proposal)
    expect(after).to.include({ title: 'Changes requested', mayMerge: true })
    expect(words(after.box)).to.include('Bob asks for changes. No rule holds it up')
    expect(after.box).to.include('class="merge not"').and.not.include('btn go')
  })

  it('says beside a failed check that no rule demands it', async () => {
    const proposal = await aProposal()
    await bob.put(`${proposal.node.at}/checks/${proposal.head}/links`, { state: 'failure' }).then(expecting(200))
    const { title, mayMerge, box, consent } = await shown(ann, proposal)
    expect({ title, mayMerge }).to.deep.equal({ title: 'A check has failed', mayMerge: true })
    expect(words(box)).to.include('The check links has failed. No rule holds it up')
    expect(consent).to.include('links failed').and.not.include('required')
  })

  it('lists what is missing, who gave what, and who merges', async () => {
    const proposal = await aProposal('Whales sing.\n', { reviewers: [di.user.id] })
    await setRules(
      { branches: ['main'], approvals: 2, by: { role: 'editor' }, checks: [{ name: 'links' }], resolved: true },
      { branches: ['main'], approvals: 1, by: { people: [cy.user.id] }, merge: 'maintainer' },
    )
    await review(bob, proposal, 'approve')
    await comment(cy, proposal, 'A source?')
    const { title, needs, mayMerge, consent } = await shown(di, proposal)
    expect({ title, mayMerge }).to.deep.equal({ title: 'Needs approval', mayMerge: false })
    expect(needs).to.deep.equal([
      'It needs 1 more approval by an editor.',
      'It needs 1 more approval by Cy.',
      'The check links has not been reported.',
      '1 open thread must be resolved.',
    ])
    for (const said of [
      '1 of 2 approvals',
      'Bob approved',
      'Waiting for Di',
      'Waiting for Cy, because a rule asks',
      'links has not been reported · required',
      '1 open thread , which must be resolved',
      'Can be merged by maintainers and owners',
    ])
      expect(consent.replaceAll(' ,', ','), said).to.include(said.replaceAll(' ,', ','))
    await proposal.node.commit('draft', { 'content.md': 'Whales sing loudly.\n' })
    expect((await shown(di, proposal)).consent)
      .to.include('0 of 2 approvals')
      .and.include('before the last change')
  })

  it('offers to merge only to the roles that may', async () => {
    const proposal = await aProposal()
    await setRules({ branches: ['main'], merge: 'maintainer' })
    for (const [person, may] of [
      [cy, false],
      [bob, false],
      [di, true],
      [ann, true],
    ] as const) {
      const { title, mayMerge, box } = await shown(person, proposal)
      expect({ title, mayMerge }, person.user.name).to.deep.equal({ title: 'Ready to merge', mayMerge: may })
      expect(box.includes('You need the maintainer role to merge this.'), person.user.name).to.equal(!may)
    }
    const fields = { act: 'merge', commit: proposal.head, target: 'main' }
    expect((await visit(bob).send(pageOf(proposal), fields)).status).to.equal(403)
    expect((await visit(di).send(pageOf(proposal), fields)).status).to.equal(303)
  })

  it('says after a merge that failed what is missing now', async () => {
    const proposal = await aProposal()
    const fields = { act: 'merge', commit: proposal.head, target: 'main' }
    await setRules({ branches: ['main'], approvals: 1 })
    const refused = await visit(ann).send(pageOf(proposal), fields)
    expect(refused.status).to.equal(409)
    expect(alertIn(refused)).to.equal('The proposal needs 1 more approval: 1 by editors.')
    await setRules({ branches: ['main'], resolved: true })
    await comment(bob, proposal, 'Why?')
    expect(alertIn(await visit(ann).send(pageOf(proposal), fields))).to.include('1 open thread')
  })

  it('lets an owner merge in spite of rules, with a reason that the page then shows', async () => {
    const proposal = await aProposal()
    await setRules({ branches: ['main'], approvals: 1, resolved: true })
    await comment(bob, proposal, 'Why?')
    for (const person of [cy, bob, di]) expect((await shown(person, proposal)).mayOverride).to.equal(false)
    const before = await shown(ann, proposal)
    expect(before).to.include({ mayOverride: true, mayMerge: false })
    expect(before.box).to.match(/<details class="override">[\s\S]*in spite of: missing approvals and open threads\./)
    const fields = { act: 'override', commit: proposal.head, target: 'main', text: ' \r\n' }
    const blank = await visit(ann).send(pageOf(proposal), fields)
    expect([blank.status, alertIn(blank)]).to.deep.equal([422, 'Say why the rules are overridden. '])
    expect((await pull(proposal)).status).to.equal('open')
    const long = 'Now & here. '.repeat(100)
    const refused = await visit(ann).send(pageOf(proposal), { ...fields, text: long })
    expect([refused.status, alertIn(refused)]).to.deep.equal([
      422,
      'This is too long. Enter at most 1,000 characters. ',
    ])
    expect(refused.body).to.include('Now &amp; here. Now').and.to.include('value="override"')
    const head = await proposal.node.commit('draft', { 'content.md': 'Whales.\nThey sing.\n' })
    const moved = await visit(ann).send(pageOf(proposal), { ...fields, text: 'It is late.' })
    expect([moved.status, valueIn(moved, 'commit'), valueIn(moved, 'target')]).to.deep.equal([409, head, 'main'])
    expect(moved.body).to.include('It is late.')
    const forbidden = await visit(di).send(pageOf(proposal), { ...fields, commit: head, text: 'It is late.' })
    expect(forbidden.status).to.equal(403)
    expect(forbidden.body).to.include('It is late.')
    const done = await visit(ann).send(pageOf(proposal), { ...fields, commit: head, text: 'It is\r\n<b>late</b>.' })
    expect([done.status, done.headers.location]).to.deep.equal([303, `${pageOf(proposal)}#merge`])
    const { box, title } = await shown(bob, proposal)
    expect(title).to.equal('Merged')
    expect(words(box)).to.match(/Merged in spite of: missing approvals and open threads, by Ann , .*: It is &lt;b>late/)
    expect((await pull(proposal)).overridden.reason).to.equal('It is\n<b>late</b>.')
  })

  it('has no such form if a rule lets nobody override', async () => {
    const proposal = await aProposal()
    await setRules({ branches: ['main'], approvals: 1, override: 'nobody' })
    expect((await shown(ann, proposal)).mayOverride).to.equal(false)
    const fields = { act: 'override', commit: proposal.head, target: 'main', text: 'It is late.' }
    const refused = await visit(ann).send(pageOf(proposal), fields)
    expect(refused.status).to.equal(409)
    expect(alertIn(refused)).to.include('A rule lets nobody override it')
    expect(refused.body).to.include('It is late.')
  })
})

describe('pages of nodes under rules', () => {
  useScene()
  let visit: Visit
  before(async () => {
    visit = await visitOf(grove, ann)
  })
  afterEach(() => ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200)))

  const buttons = (html: string) => [...html.matchAll(/name="act" value="(\w+)"/g)].map(([, act]) => act)

  it.deep('offer to save or to propose, as the rules of the part of the tree say', async () => {
    const [{ node: inside }, { node: outside }] = [await aProposal(), await aProposal()]
    for (const node of [inside, outside]) await node.commit('main', { 'content.md': 'More.\n' })
    const rules = [{ branches: ['m*'], under: inside.id, merge: 'owner' }]
    const org = (await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))).body
    expect(org.rules_for_main).to.equal('some')
    for (const [node, isRuled] of [
      [inside, true],
      [outside, false],
    ] as const) {
      expect((await ann.get(node.at)).body.main_needs_pull_request).to.equal(isRuled)
      const page = pageAt(node.org, node.id)
      const edit = mainOf(await visit.open(`${page}/edit`))
      expect(buttons(edit).includes('save')).to.equal(!isRuled)
      expect(buttons(edit)).to.include('propose')
      expect(words(edit).includes('a member whom the rules allow merges them')).to.equal(isRuled)
      const settings = mainOf(await visit.open(`${page}/settings`))
      expect(words(settings).includes('You propose changes here')).to.equal(isRuled)
      const first = node.git.say('rev-list', '--max-parents=0', 'main').trim()
      const restore = mainOf(await visit.open(`${page}/commits/${first}/restore`))
      expect(buttons(restore)).to.deep.equal(isRuled ? ['propose'] : ['restore', 'propose'])
      const under = mainOf(await visit.open(`${pageAt(node.org)}/new?parent=${node.id}`))
      expect(words(under).includes('You propose a new page here')).to.equal(isRuled)
    }
    const top = mainOf(await visit.open(`${pageAt(ann.org)}/new`))
    expect(words(top)).to.not.include('You propose')
  })

  it('follow rules for all nodes, and those for other branches change nothing', async () => {
    const { node } = await aProposal()
    for (const [branches, rules_for_main] of [
      [['release/**'], 'none'],
      [['**'], 'all'],
    ] as const) {
      await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches }] }).then(expecting(200))
      expect((await ann.get(`/orgs/${ann.org}`)).body.rules_for_main).to.equal(rules_for_main)
      const isRuled = rules_for_main === 'all'
      expect((await ann.get(node.at)).body.main_needs_pull_request).to.equal(isRuled)
      const edit = mainOf(await visit.open(`${pageAt(node.org, node.id)}/edit`))
      expect(buttons(edit).includes('save')).to.equal(!isRuled)
      const top = mainOf(await visit.open(`${pageAt(ann.org)}/new`))
      expect(words(top).includes('You propose a new page here')).to.equal(isRuled)
    }
  })

  it('are not told to anonymous callers, nor before the first commit', async () => {
    const { id } = (await ann.post('/orgs', { name: 'Open', published: true, rules: [{ branches: ['main'] }] })).body
    const at = `/orgs/${id}/nodes`
    const refused = await ann.post(at, { title: 'Full' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'pull_request_required'])
    await ann.patch(`/orgs/${id}`, { rules: [{ branches: ['main'], pages: 'existing' }] }).then(expecting(200))
    const empty = (await ann.post(at, { title: 'Empty', initialize: false }).then(expecting(201))).body
    const full = (await ann.post(at, { title: 'Full' }).then(expecting(201))).body
    expect([empty.main_needs_pull_request, full.main_needs_pull_request]).to.deep.equal([false, true])
    const { body } = await client(grove).get(`${at}/${full.id}`)
    expect(body).to.not.have.property('main_needs_pull_request')
    expect((await client(grove).get(`/orgs/${id}`)).body).to.not.have.property('rules_for_main')
  })

  it('list on the page of the rules the open proposals that each holds up', async () => {
    const held = await aProposal('Whales sing.\n', { title: 'Sing <b>' })
    const fine = await aProposal()
    const rules = [
      { branches: ['main'], under: held.node.id, approvals: 1 },
      { branches: ['main'], resolved: true },
      { branches: ['other'], approvals: 1 },
    ]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    await comment(bob, fine, 'Why?')
    const list = async () => {
      const main = mainOf(plain(await visit.open(`${pageAt(ann.org)}/settings/rules`)))
      const items = /<ul class="rows rules">[\s\S]*?<\/ul>/.exec(main)?.[0].split('<li>').slice(2) ?? []
      return items.map((item) =>
        [...item.matchAll(/Holds up now:|href="([^"]*\/proposals\/\d+)"/g)].map(([, to]) => to),
      )
    }
    const link = ({ node, number }: Proposal) => `${pageAt(node.org, node.id)}/proposals/${number}`
    expect(await list()).to.deep.equal([[undefined, link(held)], [undefined, link(fine)], []])
    await review(bob, held, 'approve')
    expect((await list())[0]).to.deep.equal([])
  })
})
