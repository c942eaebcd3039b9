/** The activity of an organisation and of a page: a sentence for each act, filters, and pages that lead back and forth. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { forgetNames } from '../../server/features/audit/forget-names.ts'
import { anEvent, append } from '../events/scene.ts'
import { made } from '../support/cast.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { linesOf, pageAt, readPage } from '../support/pages.ts'
import { type Client, client, type PersonClient, password, signUp } from '../support/people.ts'
import { chance } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'

describe('the activity', () => {
  const { grove, ann: owner, bo, cy } = useWorld({ ann: 'owner', bo: 'stranger', cy: 'stranger' }, { sweeps: false })
  /** Owns the organisation of each test, `ann.org`. */
  let ann: PersonClient
  let org: string
  let node: TestNode

  beforeEach(async () => {
    org = (await made(owner.post('/orgs', { name: 'Atlas' }))).id
    ann = { ...owner, org }
    await made(ann.put(`/orgs/${org}/members/bo@example.org`, { role: 'editor' }))
    await made(ann.put(`/orgs/${org}/members/cy@example.org`, { role: 'reader' }))
    node = await newNode(grove, ann, { title: 'Whales' })
  })

  const see = async (query = '', { by = cy as Client, of = pageAt(org) } = {}) => {
    const answer = await readPage(by, `${of}/activity${query}`)
    return { ...answer, main: /<main[\s\S]*<\/main>/.exec(answer.body)?.[0] ?? '' }
  }
  const wordsOf = (html: string) =>
    html
      .replace(/<[^>]*>/g, '')
      .replace(/&lt;/g, '<')
      .replace(/&amp;/g, '&')
      .replace(/\s+/g, ' ')
      .trim()
  /** The sentences, newest first, without the lists below them. */
  const linesIn = (html: string) => linesOf(html).map(wordsOf)
  const lines = async (query = '', options = {}) => linesIn((await see(query, options)).main)
  /** The sentences of what has happened since the page of the organisation was created. */
  const news = async (query = '') => {
    const all = await lines(query)
    return all.slice(0, all.indexOf('Ann created Whales'))
  }
  const hrefOf = (html: string, words: string) => {
    const [, href] = [...html.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g)].find(
      ([, , text = '']) => wordsOf(text) === words,
    ) ?? ['', undefined]
    return href?.replace(/&amp;/g, '&')
  }
  const propose = async (title = 'Reword', fields = {}) => {
    await node.proposal('draft')
    return `${node.at}/pull-requests/${(await made(bo.post(`${node.at}/pull-requests`, { source_branch: 'draft', title, ...fields }))).pr.number}`
  }

  it('begins with the organisation, its members and its first page', async () => {
    expect(await lines()).to.deep.equal([
      'Ann created Whales',
      'Ann added Cy as a reader',
      'Ann added Bo as an editor',
      'Ann created the organisation',
      'The activity begins here. Earlier changes are in the history of each page.',
    ])
    const { main } = await see()
    expect(hrefOf(main, 'Whales')).to.equal(pageAt(org, node.id))
    expect(main).to.match(/<time datetime="[^"]+Z"/)
  })

  it('has the changes of pages, and says which part of a page changed', async () => {
    await made(ann.patch(node.at, { text_content: 'Large.' }))
    await made(bo.patch(node.at, { title: 'Blue whales' }))
    await made(ann.patch(node.at, { tags: ['sea'] }))
    await made(bo.patch(node.at, { properties: { size: 30 } }))
    await node.commit('main', { 'a.txt': 'a' })
    const sea = await newNode(grove, ann, { title: 'Sea' })
    await made(bo.put(`${node.at}/parents/${sea.id}`, {}))
    expect(await lines()).to.include.members([
      'Bo changed the links of Blue whales',
      'Ann created Sea',
      'Ann changed the files of Blue whales',
      'Bo changed the properties of Blue whales',
      'Ann changed the tags of Blue whales',
      'Bo renamed Blue whales',
      'Ann edited Blue whales',
      'Ann created Blue whales',
    ])
  })

  it('counts edits of one user in a row, and begins again after those of another', async () => {
    for (const text_content of ['1', '2', '3']) await made(ann.patch(node.at, { text_content }))
    await made(bo.patch(node.at, { text_content: '4' }))
    for (const tags of [['a'], ['b']]) await made(ann.patch(node.at, { tags }))
    expect(await news()).to.deep.equal([
      'Ann changed the tags of Whales 2 times',
      'Bo edited Whales',
      'Ann edited Whales 3 times',
    ])
  })

  it('has new pages of one user in a row as a list', async () => {
    const nodes = Array.from({ length: 13 }, (_, at) => ({ title: `Page ${at}` }))
    await made(bo.post(`/orgs/${org}/nodes/batch`, { nodes }))
    const { main } = await see()
    expect(linesIn(main).slice(0, 2)).to.deep.equal(['Bo created 13 pages', 'Ann created Whales'])
    expect([...main.matchAll(/<a href="[^"]*">Page \d+<\/a>/g)]).to.have.length(10)
    expect(main).to.include('and 3 more')
  })

  it('has a proposal from its opening to its merge, which is one line', async () => {
    const at = await propose('Reword the whales', { reviewers: [cy.user.id, ann.user.id] })
    await node.commit('draft', { 'b.txt': 'b' })
    await made(bo.patch(at, { description: 'Better.' }))
    await made(bo.patch(at, { status: 'closed' }))
    await made(bo.patch(at, { status: 'open' }))
    await made(ann.post(`${at}/merge`, {}))
    const said = (await news()).map((line) => line.replace('Ann and Cy', 'Cy and Ann'))
    expect(said).to.deep.equal([
      'Ann merged proposal #1 Reword the whales into Whales',
      'Bo reopened proposal #1 Reword the whales for Whales',
      'Bo closed proposal #1 Reword the whales for Whales',
      'Bo changed the description of proposal #1 Reword the whales for Whales',
      'Ann added commits to proposal #1 Reword the whales for Whales',
      'Bo opened proposal #1 Reword the whales for Whales and asked Cy and Ann to review it',
    ])
    expect(hrefOf((await see()).main, '#1 Reword the whales')).to.equal(`${pageAt(org, node.id)}/proposals/1`)
  })

  it('has drafts, and merges into another branch', async () => {
    await node.branch('next')
    const at = await propose('Draft it', { is_draft: true, target_branch: 'next' })
    await made(bo.patch(at, { is_draft: false }))
    await made(ann.post(`${at}/merge`, {}))
    const said = await news()
    expect(said).to.include('Ann merged proposal #1 Draft it into the branch next of Whales')
    expect(said.at(-1)).to.equal('Bo opened a draft: proposal #1 Draft it for Whales')
  })

  it('has merges in spite of rules', async () => {
    await made(ann.patch(`/orgs/${org}`, { rules: [{ branches: ['main'], approvals: 2 }] }))
    const at = await propose()
    await made(ann.post(`${at}/merge`, { override: { reason: 'It is late.' } }))
    expect((await news()).slice(0, 1)).to.deep.equal([
      'Ann merged proposal #1 Reword into Whales in spite of the rules',
    ])
  })

  it('has comments, threads and reviews, each review with its comments as one line', async () => {
    const at = await propose()
    await made(cy.post(`${at}/comments`, { text: 'One' }))
    const { entry } = await made(cy.post(`${at}/comments`, { text: 'Two' }))
    await made(bo.patch(`${at}/threads/${entry}`, { resolved: true }))
    await made(bo.patch(`${at}/threads/${entry}`, { resolved: false }))
    await made(bo.patch(at, { reviewers: [cy.user.id] }))
    const review = { expected_source_commit: (await node.pull(1)).source_commit, text: 'Read.' }
    await made(
      cy.post(`${at}/reviews`, { ...review, verdict: 'request_changes', comments: [{ text: 'a' }, { text: 'b' }] }),
    )
    const { entry: second } = (await made(ann.post(`${at}/reviews`, { ...review, verdict: 'approve' }))).review ?? {}
    await made(cy.post(`${at}/reviews`, { ...review, verdict: 'comment' }))
    const { reviews } = await made(ann.get(`${at}/reviews`))
    const approval = second ?? reviews.find(({ verdict }: { verdict: string }) => verdict === 'approve').entry
    await made(ann.patch(`${at}/reviews/${approval}`, { state: 'withdrawn' }))
    for (const erased of [1, entry]) await made(ann.post(`${at}/entries/${erased}/erase`, {}))
    const said = await news()
    expect(said).to.deep.equal([
      'Ann erased 2 texts of proposal #1 Reword for Whales',
      'Ann withdrew a review of proposal #1 Reword for Whales',
      'Cy commented on proposal #1 Reword for Whales',
      'Ann approved proposal #1 Reword for Whales',
      'Cy asked for changes in proposal #1 Reword for Whales',
      'Bo asked Cy to review proposal #1 Reword for Whales',
      'A thread of proposal #1 Reword for Whales was reopened',
      'Bo resolved a thread of proposal #1 Reword for Whales',
      'Cy wrote 2 comments on proposal #1 Reword for Whales',
      'Bo opened proposal #1 Reword for Whales',
    ])
    expect((await see()).main).to.include(`/proposals/1?tab=conversation#c${entry}`)
  })

  it('has suggestions that are applied, without the commit that they make', async () => {
    const at = await propose()
    const { source_commit } = await node.pull(1)
    const anchor = { commit: source_commit, path: 'draft.txt', quote: { exact: 'draft' } }
    const { entry } = await made(cy.post(`${at}/comments`, { text: 'So?', suggestion: 'sketch', anchor }))
    await made(bo.post(`${at}/suggestions`, { comments: [entry], expected_source_commit: source_commit }))
    expect((await news()).slice(0, 2)).to.deep.equal([
      'Bo applied a suggestion to proposal #1 Reword for Whales',
      'Cy commented on proposal #1 Reword for Whales',
    ])
  })

  it('has checks of one commit as one line', async () => {
    const head = node.git.head()
    const report = (name: string, state: string) => made(bo.put(`${node.at}/checks/${head}/${name}`, { state }))
    await report('links', 'pending')
    await report('spelling', 'success')
    await report('links', 'failure')
    expect(await news()).to.deep.equal(['Bo reported links: failure and spelling: success on a commit of Whales'])
    expect(hrefOf((await see()).main, 'a commit')).to.equal(`${pageAt(org, node.id)}/commits/${head}`)
    expect(wordsOf((await see()).main)).to.not.include(head.slice(0, 7))
  })

  it('has what was moved in the data folder, and Git tags', async () => {
    const git = (...args: readonly string[]) => promisify(execFile)('git', args, { cwd: node.git.dir })
    const oid = node.git.commit({ files: { 'b.txt': 'b' }, parents: [node.git.head()] })
    await node.branch('side')
    await git('update-ref', 'refs/heads/side', oid)
    await made(ann.get(node.at))
    await git('tag', 'v1', oid)
    await git('update-ref', 'refs/heads/main', oid)
    await made(ann.get(node.at))
    expect(await news()).to.deep.equal([
      'Whales was changed in the data folder',
      'The Git tag v1 of Whales was created in the data folder',
      'The branch side of Whales was moved in the data folder',
    ])
  })

  it('has proposals that were replaced in the data folder', async () => {
    const [root = ''] = node.git.lines('rev-list', '--max-parents=0', 'refs/grove/ledger')
    await propose()
    await promisify(execFile)('git', ['update-ref', 'refs/grove/ledger', root], { cwd: node.git.dir })
    await made(ann.get(node.at))
    expect((await news())[0]).to.equal('The proposals of Whales were replaced by another version in the data folder')
  })

  it('has commits on branches without a proposal', async () => {
    await node.branch('side')
    await node.commit('side', { 'a.txt': 'a' })
    await node.commit('side', { 'b.txt': 'b' })
    expect(await news()).to.deep.equal(['Ann added 2 commits to the branch side of Whales'])
  })

  it.deep('has types by their names', async () => {
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: { title: 'Recipe' } }))
    await made(ann.put(`/orgs/${org}/types/recipe`, { definition: { title: 'Dish' } }))
    await ann.delete(`/orgs/${org}/types/recipe`).then(expecting(204))
    expect(await news()).to.deep.equal([
      'Ann deleted the type recipe',
      'Ann changed the type recipe',
      'Ann defined the type recipe',
    ])
  })

  it('has members and settings', async () => {
    const di = `di-${org.slice(-6)}`
    const person = await signUp(grove, di)
    const member = `/orgs/${org}/members/${person.user.email}`
    await made(ann.put(member, { role: 'reader' }))
    await made(ann.put(member, { role: 'owner' }))
    await ann.delete(member).then(expecting(204))
    await made(ann.patch(`/orgs/${org}`, { name: 'Ocean', published: true }))
    const all = [
      'Ann changed the settings: name and publication',
      `Ann removed ${di}`,
      `Ann made ${di} an owner`,
      `Ann added ${di} as a reader`,
    ]
    expect(await news()).to.deep.equal(all)
    expect((await lines('?show=people')).slice(0, 3)).to.deep.equal(all.slice(1))
    await cy.delete(`/orgs/${org}/members/cy@example.org`).then(expecting(204))
    expect((await lines('', { by: ann })).slice(0, 1)).to.deep.equal(['Cy left'])
  })

  it('names a deleted page without a link, and links it again once it is restored', async () => {
    await made(bo.patch(node.at, { tags: ['sea'] }))
    const other = await newNode(grove, ann, { title: 'Short' })
    await made(bo.patch(other.at, { text_content: 'More.' }))
    await ann.delete(other.at).then(expecting(204))
    const { main } = await see()
    expect(linesIn(main).slice(0, 3)).to.deep.equal(['Ann deleted Short', 'Bo edited Short', 'Ann created Short'])
    expect(hrefOf(main, 'Short')).to.equal(undefined)
    expect((await see('', { of: pageAt(org, other.id) })).status).to.equal(404)
    await made(ann.post(`/orgs/${org}/trash/${other.id}/restore`, {}))
    const again = (await see()).main
    expect(linesIn(again)[0]).to.equal('Ann restored Short')
    expect(hrefOf(again, 'Short')).to.equal(pageAt(org, other.id))
  })

  it('does not name a user whose account was deleted', async () => {
    const zoe = await signUp(grove, `Zoe ${org.slice(-6)}`)
    await made(ann.put(`/orgs/${org}/members/${zoe.user.email}`, { role: 'editor' }))
    await made(zoe.patch(node.at, { text_content: 'By Zoe.' }))
    await made(zoe.delete('/auth/me', {}, { password }))
    await forgetNames(grove.deps)
    const { body } = await see()
    expect(linesIn(body))
      .to.include('A deleted user edited Whales')
      .and.include('Ann added a deleted user as an editor')
    expect(body).to.not.include('Zoe')
  })

  it('escapes names and titles', async () => {
    await made(ann.patch(node.at, { title: '<b>Whales</b> & co' }))
    const { main } = await see()
    expect(linesIn(main)[0]).to.equal('Ann renamed <b>Whales</b> & co')
    expect(main).to.not.include('<b>Whales')
  })

  describe('its filters', () => {
    it('show proposals, edits or members, and a merge as both', async () => {
      const at = await propose()
      await made(cy.post(`${at}/comments`, { text: 'Hm' }))
      await made(ann.post(`${at}/merge`, {}))
      await made(bo.patch(node.at, { text_content: 'More.' }))
      const merged = 'Ann merged proposal #1 Reword into Whales'
      expect(await lines('?show=edits')).to.deep.equal(['Bo edited Whales', merged, 'Ann created Whales'])
      expect(await lines('?show=proposals')).to.deep.equal([
        merged,
        'Cy commented on proposal #1 Reword for Whales',
        'Bo opened proposal #1 Reword for Whales',
      ])
      expect(await lines('?show=nonsense')).to.deep.equal(await lines())
      const { main } = await see('?show=edits')
      expect(/aria-current="page">([^<]*)/.exec(main)?.[1]).to.equal('Edits')
    })

    it('say when there is nothing', async () => {
      expect(wordsOf((await see('?show=proposals')).main)).to.include('Each act is listed here')
    })
  })

  it('of a page has only its events, a link in the menu of the page, and no filter of people', async () => {
    await newNode(grove, ann, { title: 'Sea' })
    await made(bo.patch(node.at, { text_content: 'More.' }))
    const of = pageAt(org, node.id)
    const { main } = await see('', { of })
    expect(linesIn(main)).to.deep.equal(['Bo edited Whales', 'Ann created Whales'])
    expect(main).to.include('?show=edits').and.not.include('?show=people')
    expect((await readPage(cy, of)).body).to.include(`${of}/activity"`)
  })

  it('is for members: others see neither a tab nor a link', async () => {
    await made(ann.patch(`/orgs/${org}`, { published: true }))
    const eve = await signUp(grove, `Eve ${org.slice(-6)}`)
    for (const of of [pageAt(org), pageAt(org, node.id)]) {
      expect((await see('', { by: client(grove), of })).status).to.equal(401)
      const { status, body } = await see('', { by: eve, of })
      expect([status, body.includes('Ann created')]).to.deep.equal([403, false])
      for (const by of [eve, client(grove)]) expect((await readPage(by, of)).body).to.not.include('/activity"')
    }
    await made(ann.patch(`/orgs/${org}`, { published: false }))
    expect((await see('', { by: eve })).status).to.equal(404)
  })

  describe('in pages', () => {
    /** Appends events whose lines are one each. */
    const addMany = async (count: number) => {
      const pages = await Promise.all([node, await newNode(grove, ann, { title: 'Sea' })])
      for (let at = 0; at < count; at++)
        await made((at % 2 ? ann : bo).patch(pages[at % 2]?.at ?? '', { text_content: `${at} ${chance()}` }))
    }
    const follow = async (html: string, words: string) => {
      const href = hrefOf(html, words)
      return href === undefined ? undefined : (await readPage(cy, href)).body
    }

    it.deep('leads back to the first event and forth again, each line once, while new ones come', async () => {
      await addMany(120)
      const edits = Array.from({ length: 120 }, (_, at) => (at % 2 ? 'Ann edited Sea' : 'Bo edited Whales'))
      const back: string[] = []
      for (let page: string | undefined = (await see()).main; page !== undefined; ) {
        back.push(page)
        await made(bo.patch(node.at, { text_content: `New ${back.length}` }))
        page = await follow(page, 'Older')
      }
      expect(back.flatMap(linesIn)).to.deep.equal([
        ...edits.reverse(),
        'Ann created 2 pages',
        'Ann added Cy as a reader',
        'Ann added Bo as an editor',
        'Ann created the organisation',
        'The activity begins here. Earlier changes are in the history of each page.',
      ])
      expect(back).to.have.length(3)
      let forth = back.at(-1) ?? ''
      for (const wanted of [back[1], back[0]]) {
        forth = (await follow(forth, 'Newer')) ?? ''
        expect(linesIn(forth)).to.deep.equal(linesIn(wanted ?? ''))
      }
      const newest = (await follow(forth, 'Newer')) ?? ''
      expect(linesIn(newest)).to.deep.equal(['Bo edited Whales 3 times'])
      expect(await follow(newest, 'Newer')).to.equal(undefined)
      expect(linesIn((await follow(newest, 'Newest')) ?? '')).to.deep.equal(await lines())
    })

    it.deep('keeps an act on one page, in both directions', async () => {
      const at = await propose()
      await made(ann.post(`${at}/merge`, {}))
      const merged = 'Ann merged proposal #1 Reword into Whales'
      // The merge is the last event but one of a page of 100, the last, and the first of the next page.
      for (let edits = 1; edits <= 100; edits++) {
        await made((edits % 2 ? bo : ann).patch(node.at, { text_content: `Edit ${edits}` }))
        if (edits < 98) continue
        const first = (await see('?show=edits')).main
        const second = (await follow(first, 'Older')) ?? ''
        const both = [...linesIn(first), ...linesIn(second)]
        expect(both.slice(-3), `${edits} edits`).to.deep.equal(['Bo edited Whales', merged, 'Ann created Whales'])
        expect(linesIn((await follow(second, 'Newer')) ?? '').at(-1)).to.equal(linesIn(first).at(-1))
      }
    })

    it('says when a part is no longer kept, and when a cursor is none', async () => {
      for (const query of ['?before=1-0000000000000000', '?after=nonsense', '?before=']) {
        const { main } = await see(query)
        expect(wordsOf(main)).to.include('This part of the activity is no longer kept.')
        expect(linesIn((await follow(main, 'Newest')) ?? '')).to.deep.equal(await lines())
      }
    })

    it.deep('reaches what many events of other kinds hide', async () => {
      await append(
        grove.deps.events,
        org,
        Array.from({ length: 56_000 }, () => anEvent(org)),
      )
      const first = (await see('?show=edits')).main
      expect(wordsOf(first)).to.include('Nothing of this kind lately.')
      expect(linesIn((await follow(first, 'Older')) ?? '')).to.deep.equal(['Ann created Whales'])
    })
  })
})
