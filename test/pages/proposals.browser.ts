/** Proposals as pages: what changes in the graph and in words, and the one act that helps each on, by forms. */

import { expect } from 'chai'
import { connectHttp, tokenOf } from '../mcp/scene.ts'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene, type Visitor } from './scene.ts'

const text = `# Whales

Whales are large mammals that live in the sea.

They breathe air.

## Food

They eat krill.
`

describe('pages of proposals', () => {
  useScene()
  let org: string
  let other: string
  let rob: PersonClient
  let visitor: Visitor

  const nodeWith = async (text_content = text) =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content }))).id as string
  const commit = (node: string, branch: string, changes: object[], message = 'Change it') =>
    made(ann.post(`/orgs/${org}/nodes/${node}/tree/${branch}/commits`, { message, changes }))
  const put = (path: string, content: string) => ({ action: 'put', path, content })

  /** A node with a proposal that says one word otherwise and connects it; the path of its page. */
  async function proposed(fields: object = {}): Promise<{ node: string; page: string }> {
    const node = await nodeWith()
    const at = `/orgs/${org}/nodes/${node}`
    await made(ann.post(`${at}/branches`, { name: 'draft' }))
    const edge = put('connections/eats.json', JSON.stringify({ target: other, type: 'feeds_on', label: 'mostly' }))
    await commit(node, 'draft', [put('content.md', text.replace('large', 'huge')), edge], 'Say how large')
    const description = 'Two readers **asked**.'
    await made(ann.post(`${at}/pull-requests`, { source_branch: 'draft', title: 'Huge', description, ...fields }))
    return { node, page: `${pageAt(org, node)}/proposals/1` }
  }

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    other = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill' }))).id
    rob = await signUp(grove, 'Rob')
    await made(ann.put(`/orgs/${org}/members/${rob.user.email}`, { role: 'reader' }))
    visitor = await newVisitor({ javaScriptEnabled: false })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('tell edges and words, and merge what was read', async () => {
    const { page, open, faults } = visitor
    const { node, page: path } = await proposed()
    await open(pageAt(org, node))
    await page.getByRole('link', { name: '1 open proposal' }).click()
    await page.getByRole('link', { name: 'Huge' }).click()
    expect(await page.locator('#graph').textContent())
      .to.include('1 link added')
      .and.include('now feeds on')
      .and.include('Krill gains a backlink')
      .and.include('1 of these links will be public.')
    expect(await page.locator('.diff del').allTextContents()).to.deep.equal(['large'])
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['huge'])
    expect(await page.locator('.prose strong').textContent()).to.equal('asked')
    await page.getByRole('link', { name: 'View as proposed' }).click()
    expect(await page.locator('.prose').textContent()).to.include('huge mammals')
    await open(path)
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
    expect(await page.locator('.merge').textContent()).to.include('Merged by Ann.')
    expect((await made(ann.get(`/orgs/${org}/nodes/${node}`))).text_content).to.include('huge')
    expect(faults).to.deep.equal([])
  })

  it('of a model open at the address that its answer has, where an owner signs in, reads and merges', async () => {
    const node = await nodeWith()
    const model = await connectHttp(await tokenOf('write', { org_id: org }, ann), '2026-07-28', grove)
    const changes = [{ path: 'content.md', content: text.replace('krill', 'krill, not fish') }]
    const answer = await model.ask('propose_change', { org_id: org, node_id: node, title: 'Krill alone', changes })
    const address = /is open: (\S+)/.exec(answer)?.[1] ?? ''
    expect(address).to.equal(`${grove.url}${pageAt(org, node)}/proposals/1`)
    const { page, faults } = await newVisitor()
    await page.goto(address)
    await page.getByLabel('E-mail').fill(ann.user.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Krill alone' }).waitFor()
    expect(page.url()).to.equal(address)
    expect(await page.locator('ins').allTextContents()).to.include(', not fish')
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
    expect(await model.ask('read_node', { org_id: org, node_id: node })).to.include('krill, not fish')
    expect(faults).to.deep.equal([])
  })

  it('do not merge what came after it was read', async () => {
    const { page, open } = visitor
    const { node, page: path } = await proposed()
    await open(path)
    await commit(node, 'draft', [put('content.md', 'Nothing is left.')])
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('alert').waitFor()
    expect((await made(ann.get(`/orgs/${org}/nodes/${node}`))).text_content).to.equal(text)
  })

  it('are updated, and lead to the places that both have changed', async () => {
    const { page, open } = visitor
    const { node, page: path } = await proposed()
    await commit(node, 'main', [put('notes.md', 'A note.')])
    await open(path)
    expect(await page.locator('.merge h2').textContent()).to.equal('The page has changed since')
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    await page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
    await commit(node, 'main', [put('content.md', text.replace('large', 'grey'))])
    await open(path)
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    await page.getByText('The page has changed since this proposal began').waitFor()
    await page.getByLabel('As proposed').check()
    await page.getByRole('button', { name: 'Save to the proposal' }).click()
    await page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
    expect(await page.locator('.diff del').allTextContents()).to.include('grey')
  })

  it('become ready, are closed, and open again', async () => {
    const { page, open } = visitor
    const { page: path } = await proposed({ is_draft: true })
    await open(path)
    await page.getByRole('button', { name: 'Mark as ready for review' }).click()
    await page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('heading', { name: 'Closed' }).waitFor()
    await page.getByRole('button', { name: 'Reopen' }).click()
    await page.getByRole('heading', { name: 'Ready to merge' }).waitFor()
  })

  it('of all nodes are listed by state, in pages, from the page of the organisation', async () => {
    const { page, open, faults } = visitor
    const atlas = (await made(ann.post('/orgs', { name: 'Small atlas', published: true }))).id
    await open(pageAt(atlas))
    await page.getByRole('link', { name: 'Proposals' }).click()
    expect(await page.locator('.nothing').textContent()).to.include('A proposal is a change of one page')
    const nodes = `/orgs/${atlas}/nodes`
    const { id } = await made(ann.post(nodes, { title: 'Whales' }))
    const names = Array.from({ length: 52 }, (_, n) => `draft-${n + 1}`)
    for (const name of names) {
      await made(ann.post(`${nodes}/${id}/branches`, { name }))
      await made(ann.post(`${nodes}/${id}/pull-requests`, { source_branch: name, title: `Change ${name}` }))
    }
    await made(ann.patch(`${nodes}/${id}/pull-requests/1`, { status: 'closed' }))
    await open(pageAt(atlas))
    await page.getByRole('link', { name: 'Proposals 51' }).click()
    const titles = () => page.locator('.lines strong').allTextContents()
    expect(await titles()).to.deep.equal(
      names
        .slice(2)
        .reverse()
        .map((name) => `Change ${name}`),
    )
    await page.getByRole('link', { name: 'Older' }).click()
    expect(await titles()).to.deep.equal(['Change draft-2'])
    await page.getByRole('link', { name: 'Closed' }).click()
    expect(await page.locator('.lines li').allTextContents()).to.have.length(1)
    expect(await page.locator('.lines li').textContent())
      .to.include('Whales')
      .and.include('Ann')
      .and.include('Closed')
    await page.getByRole('link', { name: 'Change draft-1' }).click()
    await page.getByRole('link', { name: 'Proposals' }).click()
    await page.getByRole('link', { name: 'All proposals of Small atlas' }).click()
    expect(await page.locator('.card h2').textContent()).to.equal('51 open proposals')
    expect(faults).to.deep.equal([])
    const anyone = await newVisitor({ javaScriptEnabled: false })
    await anyone.open(pageAt(atlas))
    expect(await anyone.page.getByRole('link', { name: /proposal/i }).count()).to.equal(0)
    expect((await anyone.open(`${pageAt(atlas)}/proposals`)).status).to.equal(401)
    await anyone.context.close()
  })

  it('offer nothing to who may do nothing', async () => {
    const { page: path } = await proposed()
    const reader = await newVisitor()
    await signIn(reader, rob)
    await reader.open(path)
    expect(await reader.page.locator('.merge button').count()).to.equal(0)
    expect(await reader.page.locator('.merge').textContent()).to.include('You need the editor role to do this.')
    await reader.context.close()
    expect((await client(grove).get(path)).status).to.equal(401)
  })

  it('are sound in light and dark, on a telephone and on a desk', async () => {
    const { node, page: path } = await proposed()
    for (const colorScheme of ['light', 'dark'] as const) {
      const reader = await newVisitor({ colorScheme })
      await signIn(reader)
      for (const width of [390, 1440]) {
        await reader.page.setViewportSize({ width, height: 900 })
        for (const shown of [
          path,
          `${pageAt(org, node)}/proposals`,
          `${pageAt(org, node)}?at=draft`,
          `${pageAt(org)}/proposals`,
          '/',
        ]) {
          await reader.open(shown)
          await expectSound(reader.page)
        }
      }
      expect(reader.faults).to.deep.equal([])
      await reader.context.close()
    }
  })
})
