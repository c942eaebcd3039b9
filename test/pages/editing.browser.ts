/** Editing by forms alone: saved, proposed, refused, overtaken; no letter is lost. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { ann, grove, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

const text = `Whales are large mammals.

They live in the sea.

They breathe air.
`

describe('editing without script', () => {
  useScene()
  let org: string
  let krill: string
  let rob: PersonClient
  let visitor: Visitor

  const whales = async (text_content = text) =>
    (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content }))).id as string
  const read = (node: string) => made(ann.get(`/orgs/${org}/nodes/${node}`))
  const editOf = (node: string) => `${pageAt(org, node)}/edit`
  const write = (value: string) => visitor.page.getByLabel('Text', { exact: true }).fill(value)
  const press = (name: string) => visitor.page.getByRole('button', { name, exact: true }).click()
  const written = () => visitor.page.getByLabel('Text', { exact: true }).inputValue()

  before(async () => {
    org = (await made(ann.post('/orgs', { name: 'Atlas', published: true }))).id
    krill = (await made(ann.post(`/orgs/${org}/nodes`, { title: 'Krill' }))).id
    rob = await signUp(grove, 'Rob')
    await made(ann.put(`/orgs/${org}/members/${rob.user.email}`, { role: 'reader' }))
    visitor = await newVisitor({ javaScriptEnabled: false })
    await signIn(visitor)
  })
  after(() => visitor.context.close())

  it('saves text and title in one commit, and connects what new links name', async () => {
    const { page, open, faults } = visitor
    const node = await whales()
    await open(pageAt(org, node))
    await page.getByRole('link', { name: 'Edit', exact: true }).click()
    expect(await written()).to.equal(text)
    await page.getByLabel('Title').fill('Great whales')
    await write(`${text}\nThey eat [[krill]].`)
    await page.getByLabel('Summary').fill('Say what they eat')
    await press('Save')
    await reached(page, 'Great whales')
    expect(await page.locator('.prose a.node').getAttribute('href')).to.equal(
      pageAt({ id: org, name: 'Atlas' }, { id: krill, title: 'Krill' }),
    )
    const after = await read(node)
    expect(after.text_content).to.equal(`${text}\nThey eat [[krill]].`)
    const { history, total } = await made(ann.get(`/orgs/${org}/nodes/${node}/tree/main/commits`))
    expect([total, history[0].message]).to.deep.equal([2, 'Say what they eat'])
    expect(faults).to.deep.equal([])
  })

  it('keeps the ends of lines, tags and all that the form does not show', async () => {
    const { open, page } = visitor
    const fields = { title: 'Dos', text_content: '\r\nOne\r\nTwo\r\n', tags: ['old'], properties: { depth: 3 } }
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, fields))
    await open(editOf(id))
    await page.getByLabel('Title').fill('DOS')
    await press('Save')
    await reached(page, 'DOS')
    const after = await read(id)
    expect(after).to.deep.include({ tags: ['old'], properties: { depth: 3 }, text_content: fields.text_content })
    await open(editOf(id))
    await write(`${await written()}Three`)
    await press('Save')
    await reached(page, 'DOS')
    expect((await read(id)).text_content).to.equal('\r\nOne\r\nTwo\r\nThree')
  })

  it('proposes on a branch of its own, and leaves nothing if nothing differs', async () => {
    const { page, open } = visitor
    const node = await whales()
    await open(editOf(node))
    await press('Propose changes')
    expect(await page.getByRole('alert').textContent()).to.include('You have not changed anything.')
    expect((await made(ann.get(`/orgs/${org}/nodes/${node}/branches`))).total).to.equal(1)
    await write(text.replace('large', 'huge'))
    await page.getByLabel('Summary').fill('Say how large')
    await press('Propose changes')
    await page.getByRole('heading', { name: 'Say how large #1' }).waitFor()
    expect(await page.locator('.git-details .ref').first().textContent()).to.match(/^proposals\/whales-[a-p]{8}$/)
    expect(await page.locator('.diff ins').allTextContents()).to.deep.equal(['huge'])
    await press('Merge')
    await page.getByRole('heading', { name: 'Merged' }).waitFor()
    expect((await read(node)).text_content).to.include('huge')
  })

  it('shows both sides where others were faster, with what both wrote', async () => {
    const { page, open } = visitor
    const node = await whales()
    await open(editOf(node))
    await made(
      ann.patch(`/orgs/${org}/nodes/${node}`, { text_content: text.replace('breathe', 'need'), title: 'Cetacea' }),
    )
    await write(text.replace('large', 'huge'))
    await press('Save')
    await page.getByRole('heading', { name: 'This page has changed since you opened it' }).waitFor()
    expect(await page.locator('.ways-sides ins').allTextContents()).to.deep.equal(['need', 'huge'])
    expect(await page.locator('.whole pre').allTextContents()).to.deep.equal([
      text.replace('breathe', 'need'),
      text.replace('large', 'huge'),
      text,
    ])
    expect(await written()).to.equal(text.replace('breathe', 'need').replace('large', 'huge'))
    await press('Save')
    await reached(page, 'Cetacea')
    expect((await read(node)).text_content).to.equal(text.replace('breathe', 'need').replace('large', 'huge'))
  })

  it('keeps every letter if both changed the same line', async () => {
    const { page, open } = visitor
    const node = await whales()
    await open(editOf(node))
    await made(
      ann.patch(`/orgs/${org}/nodes/${node}`, {
        text_content: text.replace('large', 'vast'),
        title: 'Cetacea',
      }),
    )
    await write(text.replace('large', 'huge'))
    await press('Save')
    await page.getByText('The changes overlap').waitFor()
    expect(await written()).to.equal(text.replace('large', 'huge'))
    await press('Save')
    // A title that they changed alone stays.
    await reached(page, 'Cetacea')
    expect((await read(node)).text_content).to.include('huge')
  })

  it('keeps every letter of a user whose session has ended', async () => {
    const { page, open, context } = visitor
    const node = await whales()
    await open(editOf(node))
    await context.clearCookies()
    await write('Written while the session ended.')
    await press('Save')
    await page.getByText('Your session has ended').waitFor()
    expect(await written()).to.equal('Written while the session ended.')
    const other = await context.newPage()
    await signIn({
      ...visitor,
      page: other,
      open: async (path) => ({ status: (await other.goto(grove.url + path))?.status() ?? 0 }),
    })
    await other.close()
    await press('Save')
    await page.locator('.prose').getByText('Written while the session ended.').waitFor()
  })

  it('makes a node below another, and one that a link names, once', async () => {
    const { page, open } = visitor
    const node = await whales('They fear [[Kraken]].')
    await open(pageAt(org, node))
    await page.locator('.prose a.missing').click()
    expect(await page.getByLabel('Title').inputValue()).to.equal('Kraken')
    await write('A legend.')
    await press('Save')
    await reached(page, 'Kraken')
    await page.goBack()
    await write('A very old legend.')
    await press('Save')
    await reached(page, 'Kraken')
    expect(await page.locator('.prose').textContent()).to.equal('A very old legend.\n')
    expect((await made(ann.get(`/orgs/${org}/suggest?q=kraken`))).suggestions).to.have.length(1)
    await open(`${pageAt(org)}/new?title=kraken`)
    await page.locator('.notice').getByRole('link', { name: 'kraken' }).waitFor()
    await open(pageAt(org, node))
    expect(await page.locator('.prose a.node').textContent()).to.equal('Kraken')
    await page.getByRole('link', { name: 'New subpage' }).click()
    await page.getByLabel('Title').fill('Blue whale')
    await press('Save')
    await reached(page, 'Blue whale')
    expect((await read(node)).children.map(({ title }: { title: string }) => title)).to.deep.equal(['Blue whale'])
  })

  it('says in a sentence what is wrong, and keeps the form', async () => {
    const { page, open } = visitor
    const node = await whales()
    await open(editOf(node))
    await page.getByLabel('Title').fill(' ')
    await write('Kept.')
    await press('Save')
    expect(await page.getByRole('alert').textContent()).to.match(/title/i)
    expect(await written()).to.equal('Kept.')
  })

  it('only proposes if main moves by proposals', async () => {
    const { page, open } = visitor
    const { id } = await made(ann.post('/orgs', { name: 'Strict', require_pull_requests: true }))
    const node = (await made(ann.post(`/orgs/${id}/nodes`, { title: 'Rule', text_content: 'One.' }))).id
    await open(`${pageAt(id, node)}/edit`)
    expect(await page.locator('.editor-acts button').allTextContents()).to.deep.equal(['Propose changes'])
    await write('Two.')
    await press('Propose changes')
    await page.getByRole('heading', { name: 'Edit Rule #1' }).waitFor()
  })

  it('is nothing for readers, and asks others to sign in', async () => {
    const node = await whales('They fear [[Kraken of the deep]].')
    const reader = await newVisitor({ javaScriptEnabled: false })
    expect((await reader.open(editOf(node))).status).to.equal(401)
    await signIn(reader, rob)
    await reader.open(pageAt(org, node))
    expect(await reader.page.getByRole('link', { name: 'Edit', exact: true }).count()).to.equal(0)
    expect(await reader.page.locator('.prose a.missing').count()).to.equal(0)
    expect((await reader.open(editOf(node))).status).to.equal(403)
    expect(await reader.page.locator('main').textContent()).to.include('You can read this page')
    expect((await reader.open(`${pageAt(org)}/new`)).status).to.equal(403)
    await reader.context.close()
    const { status } = await client(grove).get(`${pageAt(org)}/new`)
    expect(status).to.equal(401)
  })
})
