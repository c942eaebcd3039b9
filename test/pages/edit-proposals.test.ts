/** Editing an open proposal by forms: its branch is shown, saved to and returned from, with the rights of REST. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt, plain } from '../support/pages.ts'
import type { Answer, PersonClient } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { ledTo, mainOf, type Visit, valueIn, visitOf } from './forms.ts'

const text = 'Whales sing.\n\nThey swim.\n'

describe('editing a proposal', () => {
  const { grove, ann, cy, eve } = useWorld({ ann: 'owner', cy: 'contributor', eve: 'contributor' })
  let visits: Record<'ann' | 'cy' | 'eve', Visit>
  let node: TestNode
  let page: string
  let branch: string

  before(async () => {
    await made(ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }))
    visits = { ann: await visitOf(grove, ann), cy: await visitOf(grove, cy), eve: await visitOf(grove, eve) }
  })
  beforeEach(async () => {
    node = await newNode(grove, ann, { text_content: text, tags: ['sea'], properties: { depth: 3 } })
    page = pageAt(node.org, node.id)
    const fields = { head: node.git.head(), title: 'Whales', text: text.replace('sing', 'hum'), message: 'Say hum' }
    expect(ledTo(await visits.cy.send(`${page}/edit`, { ...fields, act: 'propose' }))[0]).to.equal(303)
    branch = (await node.pull(1)).source_branch
  })

  const editOf = (name = branch) => `${page}/edit?branch=${encodeURIComponent(name)}`
  const open = async (who: keyof typeof visits, path: string): Promise<Answer> => {
    const answer = await visits[who].open(path)
    return plain(answer.status === 301 ? await visits[who].open(answer.headers.location ?? '') : answer)
  }
  const textIn = (answer: Answer) => /<textarea[^>]*name="text"[^>]*>\n?([^<]*)</.exec(answer.body)?.[1]
  const headOf = () => node.git.say('rev-parse', branch)
  const acts = (answer: Answer) =>
    [...mainOf(answer).matchAll(/name="act" value="(\w+)"[^>]*>([^<]*)</g)].map(([, ...act]) => act)
  const edit = (more: object = {}) => ({
    ...{ head: headOf(), title: 'Whales', text: text.replace('sing', 'whistle'), message: '', act: 'save' },
    ...more,
  })

  it.deep('refuses a text that the page could not open again, and keeps it in the form', async () => {
    const long = 'wörd '.repeat(52_429)
    for (const act of ['save', 'propose']) {
      const refused = plain(await visits.cy.send(editOf(), edit({ text: long, act })))
      expect(refused.status).to.equal(422)
      expect(refused.body).to.include('The text has 262,145 characters, and a page edits at most 262,144.')
      expect(textIn(refused)?.length).to.equal(long.length)
    }
    expect(ledTo(await visits.cy.send(editOf(), edit({ text: long.slice(1) })))[0]).to.equal(303)
    expect((await open('cy', editOf())).status).to.equal(200)
    const created = await visits.ann.send(`/o/${ann.org}/new`, {
      id: randomUUID(),
      title: 'Long',
      text: long,
      act: 'save',
    })
    expect(plain(created).body).to.include('a page edits at most 262,144')
  })

  it('is offered to those who may write its branch, on its page and on the page as proposed', async () => {
    const link = `href="${editOf()}"`
    for (const path of [`${page}/proposals/1`, `${page}?at=${encodeURIComponent(branch)}`]) {
      expect((await open('cy', path)).body, path)
        .to.include(link)
        .and.to.include('Edit this proposal')
      expect((await open('ann', path)).body, path).to.include(link)
      expect((await open('eve', path)).body, path).not.to.include(link)
    }
    expect((await open('eve', `${page}?at=${encodeURIComponent(branch)}`)).body).to.include('>proposal #1<')
    await made(ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' }))
    expect((await open('cy', `${page}/proposals/1`)).body).not.to.include('Edit this proposal')
    expect((await open('cy', `${page}?at=${encodeURIComponent(branch)}`)).body).not.to.include('Edit this proposal')
  })

  it('shows the text, tags and properties of the branch', async () => {
    const json = JSON.stringify({ title: 'Cetacea', tags: ['sea', 'song'], properties: { depth: 4 } })
    await node.commit(branch, { 'node.json': json })
    const form = await open('cy', editOf())
    expect(form.status).to.equal(200)
    expect(textIn(form)).to.equal(text.replace('sing', 'hum'))
    expect([valueIn(form, 'title'), valueIn(form, 'tags')]).to.deep.equal(['Cetacea', 'sea, song'])
    expect(mainOf(form)).to.match(/name="property-value"[^>]*>\s*4</)
    expect(acts(form)).to.deep.equal([['save', 'Save to proposal #1']])
    expect(mainOf(form)).to.include('You are editing the proposal')
  })

  it('saves text, tags and title as one commit on the branch, and returns to the proposal', async () => {
    const [before, main] = [headOf(), node.git.head()]
    const form = await open('cy', editOf())
    const fields = {
      ...edit({ title: 'Singers' }),
      panel: valueIn(form, 'panel') ?? '',
      tags: 'sea, song',
      ...{ 'property-name': 'depth', 'property-kind': 'number', 'property-value': '3' },
      description: '',
    }
    expect(ledTo(await visits.cy.send(editOf(), fields))).to.deep.equal([303, `${page}/proposals/1`])
    expect([node.git.say('rev-parse', `${branch}^`), node.git.head()]).to.deep.equal([before, main])
    expect(node.git.say('show', `${branch}:content.md`)).to.equal(text.replace('sing', 'whistle').trim())
    expect(JSON.parse(node.git.say('show', `${branch}:node.json`))).to.deep.include({
      ...{ title: 'Singers', tags: ['sea', 'song'], properties: { depth: 3 } },
    })
    expect(await node.pull(1)).to.include({ commits_ahead: 2, can_merge: true })
    // Sent twice, it is saved once.
    expect(ledTo(await visits.cy.send(editOf(), fields))).to.deep.equal([303, `${page}/proposals/1`])
    expect((await node.pull(1)).commits_ahead).to.equal(2)
  })

  it('shows both sides if the branch was faster, and saves on top of it', async () => {
    const head = headOf()
    await node.commit(branch, { 'content.md': text.replace('swim', 'dive') })
    const lost = await visits.cy.send(
      editOf(),
      edit({ head, text: text.replace('sing', 'hum').replace('They', 'Whales') }),
    )
    expect(lost.status).to.equal(409)
    expect(mainOf(lost)).to.include('id="ways"').and.to.include('They dive.')
    expect(acts(lost)).to.deep.equal([['save', 'Save to proposal #1']])
    expect(valueIn(lost, 'head')).to.equal(headOf())
    expect(ledTo(await visits.cy.send(editOf(), edit({ head: headOf() })))).to.deep.equal([303, `${page}/proposals/1`])
    expect(node.git.say('show', `${branch}:content.md`)).to.include('whistle')
  })

  it('is refused to contributors who did not make the branch, with their text', async () => {
    expect((await open('eve', editOf())).status).to.equal(403)
    const before = headOf()
    const { status, body } = await visits.eve.send(editOf(), edit())
    expect([status, textIn({ status, body, headers: {} })]).to.deep.equal([403, text.replace('sing', 'whistle')])
    expect(headOf()).to.equal(before)
  })

  it('keeps a text if the proposal was merged since, and says that a branch has no proposal', async () => {
    if (!ann) throw new Error('Nobody has signed up')
    const sent = edit()
    await made(ann.post(`${node.at}/pull-requests/1/merge`, {}))
    const merged = await visits.cy.send(editOf(), sent)
    expect(merged.status).to.equal(409)
    expect(mainOf(merged)).to.include('no open proposal from the branch').and.include('Your text is still here')
    expect(textIn(merged)).to.equal(text.replace('sing', 'whistle'))
    const gone = await open('cy', editOf('users/none'))
    expect([gone.status, mainOf(gone).includes('no open proposal from the branch users/none')]).to.deep.equal([
      409,
      true,
    ])
  })

  it('keeps a text whose session has ended', async () => {
    const anonymous = await visitOf(grove, { user: { email: 'nobody@example.org' } } as PersonClient)
    const { status, body } = await anonymous.send(editOf(), edit())
    expect(status).to.equal(401)
    expect(body).to.include('Save to the proposal').and.to.include('whistle')
    expect(body).to.include(`action="${editOf()}"`)
  })

  it('is named by the editor of the page to the author of an open proposal', async () => {
    const mine = await open('cy', `${page}/edit`)
    expect(mainOf(mine))
      .to.include('You have an open proposal, ')
      .and.to.include(`href="${editOf()}">Edit it instead</a>`)
    expect(mainOf(await open('eve', `${page}/edit`))).not.to.include('You have an open proposal')
    const second = { ...edit({ head: node.git.head() }), act: 'propose' }
    expect((await visits.cy.send(`${page}/edit`, second)).status).to.equal(303)
    expect(mainOf(await open('cy', `${page}/edit`))).to.match(
      /Edit one of them instead: <a[^>]*>#2 Edit Whales<\/a>, <a[^>]*>#1 Say hum<\/a>/,
    )
    await made(ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }))
    await made(ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' }))
    expect(mainOf(await open('cy', `${page}/edit`))).not.to.include('open proposal')
  })

  it.deep('connects and disconnects the links of the branch', async () => {
    if (!ann) throw new Error('Nobody has signed up')
    const { id } = await made(ann.post(`/orgs/${node.org}/nodes`, { title: 'Krill' }))
    const connections = () => node.git.say('ls-tree', '-r', '--name-only', branch, 'connections/')
    const save = async (to: string) => expect((await visits.cy.send(editOf(), edit({ text: to }))).status).to.equal(303)
    await save(`${text}They eat [[Krill]].\n`)
    const made1 = connections()
    expect(made1).to.match(/^connections\/\S+\.json$/)
    expect(JSON.parse(node.git.say('show', `${branch}:${made1}`)).target).to.equal(id)
    await save(text)
    expect(connections()).to.equal('')
    // A link that returns on a branch which has removed its connection from main.
    await save(`${text}They eat [[Krill]].\n`)
    await made(ann.post(`${node.at}/pull-requests/1/merge`, {}))
    const fields = { ...edit({ head: node.git.head(), text }), act: 'propose' }
    expect((await visits.cy.send(`${page}/edit`, fields)).status).to.equal(303)
    branch = (await node.pull(2)).source_branch
    expect(connections()).to.equal('')
    await save(`${text}They eat [[Krill]].\n`)
    expect(connections()).to.equal(made1)
  })

  describe('that conflicts', () => {
    const resolve = () => `${page}/proposals/1/resolve`
    const places = (answer: Answer) =>
      [...mainOf(answer).matchAll(/<legend>([^<]*)/g)].map(([, label = '']) => label.trim())
    /** The changes of main, which only this block makes directly. */
    const onMain = async (files: Readonly<Record<string, string>>) => {
      await made(ann.patch(`/orgs/${ann.org}`, { require_pull_requests: false }))
      await node.commit('main', files)
      await made(ann.patch(`/orgs/${ann.org}`, { require_pull_requests: true }))
    }
    const answersOf = (answer: Answer, more: Readonly<Record<string, string>>) => ({
      source: valueIn(answer, 'source') ?? '',
      target: valueIn(answer, 'target') ?? '',
      ...more,
    })

    it('is resolved in the same proposal, and begins with the words of both', async () => {
      await onMain({ 'content.md': text.replace('sing', 'roar') })
      expect(ledTo(await visits.cy.send(`${page}/proposals/1`, { act: 'update' }))).to.deep.equal([303, resolve()])
      const form = await open('cy', resolve())
      expect(places(form)).to.deep.equal(['The text'])
      expect(mainOf(form)).to.match(/value="both"[^>]*checked/)
      const answers = answersOf(form, { 'choice-0-0': 'both' })
      expect((await visits.eve.send(resolve(), answers)).status).to.equal(403)
      expect(ledTo(await visits.cy.send(resolve(), answers))).to.deep.equal([303, `${page}/proposals/1`])
      expect(await node.pull(1)).to.include({ can_merge: true, commits_ahead: 1 })
      expect(node.git.say('show', `${branch}:content.md`)).to.equal('Whales roar.\nWhales hum.\n\nThey swim.')
      expect((await visits.cy.open(resolve())).status).to.equal(303)
    })

    it('asks for a choice where both sides cannot stand, and leaves everything else merged', async () => {
      await node.commit(branch, {
        'node.json': JSON.stringify({
          title: 'Singers',
          tags: ['sea', 'song'],
          properties: { depth: 4, food: 'krill' },
        }),
        'data.csv': 'proposed',
      })
      await onMain({
        'node.json': JSON.stringify({ title: 'Giants', tags: ['big'], properties: { depth: 5, seen: true } }),
        'data.csv': 'changed',
        'content.md': text.replace('swim', 'dive'),
      })
      const form = await open('cy', resolve())
      expect(places(form)).to.deep.equal(['The file data.csv', 'The title', 'The property depth'])
      const names = [...mainOf(form).matchAll(/name="(choice-\d+-\d+)" value="theirs"/g)].map(([, name = '']) => name)
      const [file = '', title = '', depth = ''] = names
      const open1 = await visits.cy.send(resolve(), answersOf(form, { [file]: 'yours', [title]: 'theirs' }))
      expect([open1.status, mainOf(open1)])
        .to.deep.include(422)
        .and.to.match(/Choose one side at each place/)
      const all = { [file]: 'yours', [title]: 'theirs', [depth]: 'yours', act: 'edit' }
      expect(ledTo(await visits.cy.send(resolve(), answersOf(form, all)))).to.deep.equal([303, editOf()])
      expect(JSON.parse(node.git.say('show', `${branch}:node.json`))).to.deep.equal({
        title: 'Giants',
        tags: ['big', 'song'],
        properties: { depth: 4, seen: true, food: 'krill' },
      })
      expect(node.git.say('show', `${branch}:data.csv`)).to.equal('proposed')
      expect(node.git.say('show', `${branch}:content.md`)).to.equal('Whales hum.\n\nThey dive.')
    })

    it('is asked again if the page changes meanwhile, and names the way with Git for folders', async () => {
      await onMain({ 'content.md': text.replace('sing', 'roar') })
      const form = await open('cy', resolve())
      await onMain({ 'content.md': text.replace('sing', 'call') })
      const stale = await visits.cy.send(resolve(), answersOf(form, { 'choice-0-0': 'theirs' }))
      expect([stale.status, mainOf(stale).includes('has changed again')]).to.deep.equal([409, true])
      expect(mainOf(stale)).to.match(/value="both"[^>]*checked/)
      await node.commit(branch, { 'a/b': 'a folder' })
      await onMain({ a: 'a file' })
      const now = answersOf(await open('cy', resolve()), { 'choice-0-0': 'yours' })
      const refused = await visits.cy.send(resolve(), now)
      expect([refused.status, mainOf(refused).includes(`git switch ${branch}`)]).to.deep.equal([409, true])
    })
  })
})
