/** Pages of a contributor: they propose changes, and close what they proposed. An editor merges. */

import { expect } from 'chai'
import { made, prefixOf } from '../support/cast.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { formsOf, sendForm } from './forms.ts'

describe('pages of a contributor', () => {
  const { grove, ann, cy } = useWorld({ ann: 'owner', cy: 'contributor' })
  let node: TestNode
  let page: string

  beforeEach(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales fear the [[Kraken]].\n' })
    page = pageAt(node.org, node.id)
  })

  const headersOfVisit = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-origin' }
  /** The main part of a page as this user sees it. */
  async function see(person: PersonClient, path: string): Promise<{ status: number; main: string }> {
    const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const { status, body } = await readPage(client(grove), path, { cookie, ...headersOfVisit })
    return { status, main: /<main[\s\S]*<\/main>/.exec(body)?.[0] ?? '' }
  }
  const buttons = (main: string) =>
    [...main.matchAll(/<button[^>]*type="submit"[^>]*>([^<]*)<\/button>/g)].map(([, label]) => label)
  /** The buttons of the box that merges a proposal. */
  const actions = (main: string) => buttons(/<section class="merge[^>]*>.*?<\/section>/s.exec(main)?.[0] ?? '')
  const edit = (act: string) => ({
    ...{ head: node.git.head(), title: 'Whales', text: 'Whales sing.\n', message: 'Say that they sing', act },
  })
  /** Proposes an edit as Cy. Returns the path of its page. */
  async function propose(): Promise<string> {
    const send = await formsOf(grove, cy)
    const { status, headers } = await send(`${page}/edit`, edit('propose'))
    expect([status, headers.location]).to.deep.equal([303, `${page}/proposals/1`])
    return `${page}/proposals/1`
  }

  it('offer to propose a change, and nothing that changes a node at once', async () => {
    const { main } = await see(cy, page)
    expect(main).to.include('Propose a change').and.to.include(`${page}/edit`)
    expect(main).to.include('New subpage').and.include('/new?')
    const form = await see(cy, `${page}/edit`)
    expect(buttons(form.main)).to.deep.equal(['Propose changes'])
    expect(form.main).to.include('You propose changes here, and an editor merges them.')
    expect(form.main).to.include(`data-branches="${prefixOf(cy)}"`)
    expect((await see(cy, pageAt(node.org))).main).to.include('New page')
    expect((await see(cy, `${pageAt(node.org)}/proposals`)).main).to.include('Choose a page to change')
    expect(buttons((await see(cy, `${pageAt(node.org)}/new`)).main)).to.deep.equal(['Propose'])
    // Editors have more.
    expect(buttons((await see(ann, `${pageAt(node.org)}/new`)).main)).to.deep.equal(['Save', 'Propose'])
    expect(buttons((await see(ann, `${page}/edit`)).main)).to.deep.equal(['Save', 'Propose changes'])
  })

  it('have no edit of a node without a first version', async () => {
    const empty = await newNode(grove, ann, { initialize: false })
    const path = pageAt(empty.org, empty.id)
    expect((await see(cy, path)).main).to.not.include(`${path}/edit`)
    expect((await see(ann, path)).main).to.include(`${path}/edit`)
    const { status, main } = await see(cy, `${path}/edit`)
    expect([status, main.includes('You need the editor role to save a first version')]).to.deep.equal([403, true])
  })

  it('propose from a branch of their own, and an editor merges', async () => {
    const path = await propose()
    const pr = await node.pull(1)
    expect(pr).to.include({ title: 'Say that they sing', author: 'Cy', target_branch: 'main', can_merge: true })
    expect(pr.source_branch).to.match(new RegExp(`^${prefixOf(cy)}proposals/whales-[a-p]{8}$`))
    expect(actions((await see(cy, path)).main)).to.deep.equal(['Ask', 'Close'])
    expect((await see(cy, path)).main).to.include('You need the editor role to do this.')
    expect(actions((await see(ann, path)).main)).to.deep.equal(['Merge', 'Close'])
    const fields = { act: 'merge', commit: pr.source_commit, target: 'main' }
    expect((await (await formsOf(grove, cy))(path, fields)).status).to.equal(403)
    expect(await node.pull(1)).to.include({ status: 'open' })
    expect((await (await formsOf(grove, ann))(path, fields)).status).to.equal(303)
    expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Ann' })
    expect(node.git.say('show', 'main:content.md')).to.equal('Whales sing.')
  })

  it('keep the text of an edit that is sent to be saved', async () => {
    const { status, body } = await (await formsOf(grove, cy))(`${page}/edit`, edit('save'))
    expect(status).to.equal(403)
    expect(body)
      .to.include('Whales sing.')
      .and.to.include(`Contributors can change only branches below ${prefixOf(cy)}`)
    expect(buttons(body)).to.deep.equal(['Sign out', 'Propose changes'])
    expect(node.git.say('show', 'main:content.md')).to.equal('Whales fear the [[Kraken]].')
  })

  it('update, close and reopen their own proposals, and none of others', async () => {
    const path = await propose()
    const send = await formsOf(grove, cy)
    await node.commit('main', { 'news.md': 'News\n' })
    expect(actions((await see(cy, path)).main)).to.deep.equal(['Update', 'Close'])
    for (const [act, then] of [
      ['update', ['Ask', 'Close']],
      ['close', ['Reopen']],
      ['reopen', ['Ask', 'Close']],
    ] as const) {
      expect((await send(path, { act })).status, act).to.equal(303)
      expect(actions((await see(cy, path)).main), act).to.deep.equal(then)
    }
    await node.proposal('anns')
    const { number } = await node.open('anns', { is_draft: true })
    const other = `${page}/proposals/${number}`
    expect(actions((await see(cy, other)).main)).to.deep.equal([])
    expect(actions((await see(ann, other)).main)).to.deep.equal(['Mark as ready for review', 'Close'])
    expect((await send(other, { act: 'close' })).status).to.equal(403)
    expect(await node.pull(number)).to.include({ status: 'open' })
  })

  it('are given by owners, who read what the role may', async () => {
    const { main } = await see(ann, `${pageAt(ann.org)}/settings/members`)
    const options = [...main.matchAll(/<option value="contributor"[^>]*>([^<]*)</g)].map(([, label]) => label)
    expect(options).to.deep.equal(['Propose (contributor)', 'Propose (contributor)'])
    const answers = main.matchAll(/name="role" value="contributor"[^>]*><span>(.*?)<\/span>/g)
    expect([...answers].map(([, words = '']) => words.replace(/<[^>]*>/g, ''))).to.deep.equal(
      Array(2).fill('Propose (contributor) People review each change before it is published.'),
    )
    const send = await formsOf(grove, ann)
    const bob = await signUp(grove, 'Bob')
    const fields = { act: 'add', email: 'bob@example.org', role: 'contributor' }
    expect((await send(`${pageAt(ann.org)}/settings/members`, fields)).status).to.equal(303)
    expect(await made(bob.get(`/orgs/${ann.org}`))).to.include({ role: 'contributor', branch_prefix: prefixOf(bob) })
  })
})
